// Models on devices whose output layer all stages share: what S and T take, and what ranks hold.

#include <fstream>
#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/model/parameters.hpp"
#include "study/estimate/terms.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace shared_head_test {

using namespace pipeloom;
using estimate::Category;
using study::EstimatedRun;

namespace {

/// 100 TFLOP/s for every product that is long enough, and nothing for launches or passes.
constexpr const char* kPlainDevice =
    R"({"name": "plain", "memory": {"capacity": "80GB", "bandwidth": "1000GB/s"},
  "matrix": {"bf16_tflops": 100}, "gemm": {"efficiency": 1}, "nvlink": {"rate": "300GB/s"}, "network": {"rate": "50GB/s"}})";

/// llama3-8b, 32 layers, h = 4096, V = 128256, on 4 ranks; a file of the device lives as long as the test.
struct PlainDevice {
  std::filesystem::path path = test::temporary_path("plain_device.json");
  PlainDevice() { std::ofstream(path) << kPlainDevice; }
  ~PlainDevice() { std::filesystem::remove(path); }
  PlainDevice(const PlainDevice&) = delete;
  PlainDevice& operator=(const PlainDevice&) = delete;

  [[nodiscard]] EstimatedRun run(const std::string& schedule, const std::string& rest = "") const {
    const std::string text = R"({"schedule": ")" + schedule +
                             R"(", "ranks": 4, "microbatches": 8, "costs": {"model": "llama3-8b", "seq": 4096,
                               "hardware": ")" +
                             path.string() + '"' + rest + "}}";
    return study::estimate_run(io::read_run_config(io::Document::parse(text, "c").root()), Limits());
  }
};

const estimate::Stage& stage_of(const EstimatedRun& run, std::size_t stage) {
  return run.costs().estimate.stages[stage];
}

}  // namespace

TEST_CASE("a shared head: S and T of all stages take what the head takes on the last stage") {
  const PlainDevice device;
  // One product of the head: 2 x 4096 tokens x 4096 x 128256 FLOPs at 100 TFLOP/s, a quarter on each stage.
  const double product = 2.0 * 4096 * 4096 * 128256 / 1e14;
  // Cross entropy: 5 bytes a logit, forward and backward, at eM = 0.264 of 1000 GB/s.
  const double loss = 5.0 * 4096 * 128256 / 0.264e12;
  for (const std::string schedule : {"vocab-1", "vocab-interlaced"}) {
    CAPTURE(schedule);
    const EstimatedRun run = device.run(schedule);
    for (std::size_t s = 0; s < 4; ++s) {
      CHECK(stage_of(run, s).output.seconds() == Approx((product + loss) / 4).epsilon(1e-6));
      CHECK(stage_of(run, s).output_weight.seconds() == Approx((2 * product + loss) / 4).epsilon(1e-6));
    }
  }
  // vocab-2 makes the gradient of the input in S.
  const EstimatedRun two = device.run("vocab-2");
  CHECK(stage_of(two, 0).output.seconds() == Approx((2 * product + 2 * loss) / 4).epsilon(1e-6));
  CHECK(stage_of(two, 0).output_weight.seconds() == Approx(product / 4).epsilon(1e-6));

  // All of 1F1B's work and that of all stages here are the same.
  const auto work = [](const EstimatedRun& run) {
    double sum = 0;
    for (const estimate::Stage& stage : run.costs().estimate.stages) {
      for (const estimate::PassTime& pass : stage.pass) sum += pass.seconds();
      sum += stage.output.seconds() + stage.output_weight.seconds();
    }
    return sum;
  };
  CHECK(work(two) == Approx(work(device.run("1f1b"))).epsilon(1e-9));
}

TEST_CASE("a shared head: parameters of all ranks are the model's, and logits are held in equal parts") {
  const PlainDevice device;
  for (const std::string schedule : {"1f1b", "vocab-1", "vocab-2", "vocab-interlaced"}) {
    CAPTURE(schedule);
    const EstimatedRun run = device.run(schedule);
    std::int64_t sum = 0;
    for (const estimate::Stage& stage : run.costs().estimate.stages) sum += stage.dense + stage.experts;
    CHECK(sum == model::parameters_of(*run.costs().setting.model));
  }
  const EstimatedRun run = device.run("vocab-interlaced");
  // 128256 / 4 rows of 4096 of the embedding and of the head; the norm's 4096 weights stay on the last stage.
  CHECK(stage_of(run, 0).dense == stage_of(run, 2).dense);
  CHECK(stage_of(run, 3).dense - stage_of(run, 2).dense == 4096);
  CHECK(stage_of(run, 2).dense - stage_of(device.run("1f1b"), 2).dense == 2 * 128256 / 4 * 4096);
  // A rank is at its fullest while an S runs: 2 bytes x 4096 tokens x 128256 / 4.
  for (const study::RankBytes& rank : run.ranks)
    CHECK(rank.categories.of(Category::Logits) == 2LL * 4096 * 128256 / 4);
}

TEST_CASE("a shared head: S and T are the estimate's unless they are stated, and both say so") {
  const PlainDevice device;
  const auto origin = [](const EstimatedRun& run, const std::string& key) {
    for (const auto& [name, text] : study::origins_of(run))
      if (name == key) return text;
    return std::string();
  };
  const EstimatedRun open = device.run("vocab-1");
  CHECK(origin(open, "costs.output") == "estimate: llama3-8b on plain");
  CHECK(origin(open, "costs.output_weight") == "estimate: llama3-8b on plain");
  CHECK(study::pass_ticks(open, 1, OpKind::Output) == stage_of(open, 1).output_ticks);
  const EstimatedRun stated = device.run("vocab-1", R"(, "output": 3)");
  CHECK(origin(stated, "costs.output").empty());
  CHECK(study::pass_ticks(stated, 1, OpKind::Output) == 3 * ticks_per(TimeUnit::Millisecond));
  CHECK(study::pass_ticks(stated, 1, OpKind::OutputWeight) == stage_of(open, 1).output_weight_ticks);
  // Schedules that do not share it have neither.
  CHECK(origin(device.run("1f1b"), "costs.output").empty());
}

}  // namespace shared_head_test
