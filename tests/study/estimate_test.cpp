// Runs whose times and bytes follow from a model on a device.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/base/number_text.hpp"
#include "sim/estimate/recomputed.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/model/tensors.hpp"
#include "sim/options.hpp"
#include "study/estimate/balance.hpp"
#include "study/estimate/estimate_shown.hpp"
#include "study/estimate/terms.hpp"
#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"
#include "study/sweep/run/evaluator.hpp"
#include "support/catch.hpp"
#include "support/run_config.hpp"
#include "support/temporary.hpp"

namespace estimate_test {

using namespace pipeloom;
using estimate::Category;
using study::EstimatedRun;
using test::config_of;
using test::evaluation_error;
using Json = nlohmann::json;

namespace {

/// llama3-8b on H100: `rest` are further keys of costs, `options` of options.
std::string llama(const std::string& schedule, const std::string& rest = "",
                  const std::string& options = "") {
  return R"({"schedule": ")" + schedule + R"(", "ranks": 4, "microbatches": 8, "options": {)" + options +
         R"(}, "costs": {"model": "llama3-8b", "hardware": "h100", "seq": 4096)" + rest + "}}";
}

EstimatedRun estimated(const std::string& text) {
  return study::estimate_run(config_of(text), Limits());
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string origin_of(const EstimatedRun& run, const std::string& key) {
  for (const auto& [name, text] : study::origins_of(run))
    if (name == key) return text;
  return "";
}

/// A measured profile of 6 layers, in ms: M 4, 4, 2; A 6, 7, 3; embedding 0.5; head 2, 3, 1.
constexpr const char* kProfile = R"({"name": "toy", "layers": "EMAMMAML", "time_unit": "ms",
  "ticks": {"E": [0.5, 0, 0], "M": [4, 4, 2], "A": [6, 7, 3], "L": [2, 3, 1]}})";

/// A file that lives as long as the test.
struct ProfileFile {
  std::filesystem::path path = test::temporary_path("toy_profile.json");
  ProfileFile() { std::ofstream(path) << kProfile; }
  ~ProfileFile() { std::filesystem::remove(path); }
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;
  [[nodiscard]] std::string config(const std::string& schedule, int ranks) const {
    return R"({"schedule": ")" + schedule + R"(", "ranks": )" + std::to_string(ranks) +
           R"(, "microbatches": 4, "costs": {"model": ")" + path.string() + R"("}})";
  }
};

}  // namespace

TEST_CASE("estimate: what is stated stays, the rest is the model's, and both say so") {
  const EstimatedRun run = estimated(llama("zb-h1", R"(, "forward": 3)"));
  const auto& duration = run.run.effective->costs.duration;
  CHECK(duration[index_of(OpKind::Forward)]->array ==
        std::vector<std::int64_t>(4, 3 * ticks_per(TimeUnit::Millisecond)));
  CHECK(duration[index_of(OpKind::BackwardInput)]->array[1] == run.costs().estimate.stages[1].ticks[1]);
  CHECK(origin_of(run, "costs.forward").empty());
  CHECK(origin_of(run, "costs.backward_input") == "estimate: llama3-8b on h100");
  CHECK(origin_of(run, "memory.limit_bytes") == "estimate: llama3-8b on h100");
}

TEST_CASE("estimate: the effective configuration, read back, gives the same run") {
  const EstimatedRun run = estimated(llama("zbv"));
  const std::string text = io::effective_config_text(*run.run.effective);
  const Run again = study::evaluate(config_of(text));
  CHECK(again.metrics->step_time == run.run.metrics->step_time);
  for (std::size_t r = 0; r < 4; ++r)
    CHECK(again.metrics->ranks[r].memory.peak_bytes == run.run.metrics->ranks[r].memory.peak_bytes);
}

TEST_CASE("estimate: a rank's categories add up to its peak, whatever the schedule and what is recomputed") {
  for (const std::string schedule : {"1f1b", "zbv", "interleaved-1f1b", "dualpipe-v", "zb-h2", "gpipe"})
    for (const std::string options :
         {"", R"("recompute": "selective")", R"("recompute": "full")", R"("recompute": "mlp,layernorm")"}) {
      CAPTURE(schedule, options);
      const EstimatedRun run = estimated(llama(schedule, "", options));
      REQUIRE(run.ranks.size() == 4);
      for (const study::RankBytes& rank : run.ranks)
        CHECK(std::accumulate(rank.categories.bytes.begin(), rank.categories.bytes.end(), Bytes{0}) ==
              rank.peak);
    }
}

TEST_CASE("estimate: 1F1B holds p - r microbatches of every layer's tensors on rank r") {
  const EstimatedRun run = estimated(llama("1f1b"));
  const estimate::Setting& setting = run.costs().setting;
  double layer = 0;
  for (const model::KeptTensor& tensor : model::kept_tensors(*setting.model, setting.model->kinds[0],
                                                             setting.split, model::Recomputation::None))
    layer += tensor.bytes;
  for (int r = 0; r < 4; ++r) {
    const auto& categories = run.ranks[static_cast<std::size_t>(r)].categories;
    const double held = 8 * (4 - r) * layer;
    CHECK(static_cast<double>(categories.of(Category::UntilInput) + categories.of(Category::UntilWeight)) ==
          Approx(held).epsilon(1e-9));
  }
}

TEST_CASE("estimate: terms of the busiest rank, the step's end and idle time add up to the step") {
  for (const std::string rest :
       {R"(, "tp": 2, "dp": 4)", R"(, "tp": 4, "zero": 0)", R"(, "cp": 2, "dp": 2, "zero": 3)"}) {
    CAPTURE(rest);
    const EstimatedRun run = estimated(llama("1f1b", rest));
    double sum = 0;
    for (const study::StepTerm& term : study::step_terms(run)) sum += term.seconds;
    CHECK(sum == Approx(static_cast<double>(run.run.metrics->step_time) / 1e12).epsilon(1e-9));
  }
}

TEST_CASE("estimate: hidden collectives take no time, a reduction behind the backward takes less") {
  const auto collectives = [](const EstimatedRun& run) {
    for (const study::StepTerm& term : study::step_terms(run))
      if (term.name == "collectives") return term.seconds;
    return 0.0;
  };
  CHECK(collectives(estimated(llama("1f1b", R"(, "tp": 4)"))) > 0);
  CHECK(collectives(estimated(llama("1f1b", R"(, "tp": 4, "hidden_collectives": 1)"))) == 0);
  const EstimatedRun exposed = estimated(llama("1f1b", R"(, "dp": 8)"));
  const EstimatedRun overlapped = estimated(llama("1f1b", R"(, "dp": 8, "reduction": "overlapped")"));
  CHECK(overlapped.costs().step_end.reduction < exposed.costs().step_end.reduction);
  CHECK(overlapped.costs().step_end.reduction > 0);
  CHECK(overlapped.costs().step_end.optimizer == exposed.costs().step_end.optimizer);
}

TEST_CASE("estimate: gradients and states of fewer bytes take less memory and time") {
  const auto bytes = [](const EstimatedRun& run, Category category) {
    return static_cast<double>(run.ranks[0].categories.of(category));
  };
  const EstimatedRun adam = estimated(llama("1f1b", ""));
  const EstimatedRun small = estimated(llama("1f1b", R"(, "gradient_bytes": 2, "optimizer_bytes": 8)"));
  CHECK(bytes(small, Category::Weights) == bytes(adam, Category::Weights));
  CHECK(bytes(small, Category::Gradients) == bytes(adam, Category::Gradients) * 2 / 4);
  CHECK(bytes(small, Category::Optimizer) == bytes(adam, Category::Optimizer) * 8 / 12);
  // Without replicas every parameter is updated here: 2 * 12 + 2 * 4 + 2 bytes of traffic and 2 * 4 more, against 2 * 8 + 2 * 2 + 2 and 2 * 2.
  CHECK(small.costs().step_end.optimizer == Approx(adam.costs().step_end.optimizer * 26 / 42));
  const auto reduction = [](const std::string& rest) {
    return estimated(llama("1f1b", R"(, "dp": 8)" + rest)).costs().step_end.reduction;
  };
  CHECK(reduction(R"(, "gradient_bytes": 2)") < reduction(""));
  CHECK(reduction(R"(, "optimizer_bytes": 8)") == reduction(""));
}

TEST_CASE(
    "estimate: under ZeRO 3 the optimizer's copy of a weight is its shard, or 16 bits are where it has "
    "none, and gradients are whole") {
  // Bytes of a parameter: a rank that holds all gradients holds 4 for each.
  const auto shares = [](const std::string& rest) {
    const EstimatedRun run = estimated(llama("1f1b", R"(, "dp": 8, "zero": 3)" + rest));
    const auto& all = run.ranks[0].categories;
    const double parameters = static_cast<double>(all.of(Category::Gradients)) / 4;
    const auto each = [&](Category one) { return static_cast<double>(all.of(one)) / parameters; };
    return std::array{each(Category::Weights), each(Category::Optimizer), each(Category::Gathered)};
  };
  CHECK(shares("") == std::array{4.0 / 8, 8.0 / 8, 2.0});
  CHECK(shares(R"(, "optimizer_bytes": 6)") == std::array{4.0 / 8, 2.0 / 8, 2.0});
  CHECK(shares(R"(, "optimizer_bytes": 2)") == std::array{2.0 / 8, 2.0 / 8, 2.0});
  CHECK(has(evaluation_error(llama("1f1b", R"(, "optimizer_bytes": 17)")), "optimizer_bytes"));
  CHECK(has(evaluation_error(llama("1f1b", R"(, "gradient_bytes": 0)")), "gradient_bytes"));
}

TEST_CASE("estimate: with one replica there is nothing to share out, at any level of ZeRO") {
  // 2 + 4 + 12 bytes a parameter, or a shard of 4 that products need in 16 bits, 4 and 8. A stage that has no 32-bit copy is its own shard.
  const auto held = [](const std::string& rest) {
    const EstimatedRun run = estimated(llama("1f1b", rest));
    Bytes sum = 0;
    for (const Category one :
         {Category::Weights, Category::Gradients, Category::Optimizer, Category::Gathered})
      sum += run.ranks[0].categories.of(one);
    return sum;
  };
  for (const std::string& states : {std::string(), std::string(R"(, "optimizer_bytes": 2)")})
    for (const std::string& zero : {std::string("1"), std::string("2"), std::string("3")}) {
      INFO(zero << states);
      CHECK(held(R"(, "zero": )" + zero + states) == held(R"(, "zero": 0)" + states));
    }
}

TEST_CASE("estimate: fully sharded experts of plain PyTorch, against two ranks that were measured") {
  // Qwen3-30B-A3B, DualPipeV on 4 ranks, experts over 8, one sample of 4096 tokens (pith-train 18). Its authors measured 1.18 times the even load on a
  // layer's fullest rank, and 5.84 GiB outside of PyTorch's allocator, which no tensor accounts for.
  const auto gibibytes = [](const std::string& rest) {
    const EstimatedRun run = estimated(
        R"({"schedule": "dualpipe-v", "ranks": 4, "costs": {"model": "qwen3-30b-a3b", "hardware": "h100", "ep": 8,
            "dp": 8, "zero": 3, "seq": 4096, "global_batch": 1024, "fused_experts": false)" +
        rest + "}}");
    std::vector<double> out;
    for (const study::RankBytes& rank : run.ranks) out.push_back(static_cast<double>(rank.peak) / (1 << 30));
    return out;
  };
  const double outside = 5.84;
  const std::vector<double> found = gibibytes(R"(, "expert_load": 1.18)");
  CHECK(found[0] + outside == Approx(62.3).epsilon(0.02));
  CHECK(found[1] + outside == Approx(58.0).epsilon(0.02));
  // 8 passes of 6 layers are under way on the first rank's first stage and one on its second: each layer keeps SiLU's output, 2 * 8 * 4096 * 768
  // bytes at even load, and what comes back from the experts, 2 * 8 * 4096 * 2048.
  const auto kept = [](const std::string& rest) {
    Bytes sum = 0;
    const EstimatedRun run = estimated(
        R"({"schedule": "dualpipe-v", "ranks": 4, "microbatches": 16, "costs": {"model": "qwen3-30b-a3b", "hardware": "h100", "ep": 8,
            "dp": 8, "seq": 4096)" +
        rest + "}}");
    for (const Category one : {Category::UntilInput, Category::UntilWeight})
      sum += run.ranks[0].categories.of(one);
    return sum;
  };
  CHECK(kept(R"(, "fused_experts": false)") - kept("") == 9 * 6 * Bytes{2 * 8 * 4096} * (768 + 2048));
}

TEST_CASE("estimate: gathers and reductions of shards are the reduction of the step's end, stage by stage") {
  // Each rank has one stage: the reduce-scatter and the all-gather of its parameters are at the end of the step what they are one by one.
  const EstimatedRun run = estimated(llama("1f1b", R"(, "dp": 8, "zero": 3)"));
  double longest = 0;
  for (const estimate::Stage& stage : run.costs().estimate.stages) {
    const estimate::ShardTimes times = estimate::shard_times(run.costs().setting, stage);
    CHECK(times.gather > 0);
    longest = std::max(longest, times.gather + times.reduction);
  }
  CHECK(longest == Approx(run.costs().step_end.reduction));
  const auto stages = Json::parse(study::estimate_json(run)).at("stages");
  CHECK(stages.at(1).at("unshard_ms").get<double>() ==
        Approx(estimate::shard_times(run.costs().setting, run.costs().estimate.stages[1]).gather * 1e3)
            .epsilon(1e-5));
  // What every replica holds whole is not gathered.
  const EstimatedRun whole = estimated(llama("1f1b", R"(, "dp": 8, "zero": 2)"));
  CHECK(estimate::shard_times(whole.costs().setting, whole.costs().estimate.stages[0]).gather == 0);
  CHECK_FALSE(Json::parse(study::estimate_json(whole)).at("stages").at(0).contains("unshard_ms"));
}

/// llama3-8b on one rank and `dp` replicas.
EstimatedRun replicated(int dp, int zero, const std::string& rest = "") {
  return estimated(
      R"({"schedule": "1f1b", "ranks": 1, "microbatches": 2, "costs": {"model": "llama3-8b", "hardware": "h100",
                       "seq": 4096, "dp": )" +
      std::to_string(dp) + R"(, "zero": )" + std::to_string(zero) + rest + "}}");
}

TEST_CASE("estimate: without a pipeline FSDP holds two layers, the ends, and the gradients of one layer") {
  // A layer of Llama-3 8B: q and o of 4096 x 4096, k and v of 4096 x 1024, three of 4096 x 14336, two norms.
  constexpr Bytes kLayer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096;
  constexpr Bytes kEnds = 2 * Bytes{128256} * 4096 + 4096;  // embedding, head, final norm
  const EstimatedRun run = replicated(8, 3);
  const estimate::CategoryBytes& bytes = run.costs().estimate.stages.front().bytes;
  CHECK(bytes.of(Category::Gathered) == 2 * (2 * kLayer + kEnds) + (2 + 4) * kLayer);
  CHECK(bytes.of(Category::Weights) == 4 * (32 * kLayer + kEnds) / 8);
  CHECK(bytes.of(Category::Gradients) == 4 * (32 * kLayer + kEnds) / 8);
  CHECK(bytes.of(Category::Optimizer) == 8 * (32 * kLayer + kEnds) / 8);
  // With more replicas less is held, which it was not while gradients stayed whole.
  CHECK(replicated(64, 3).run.metrics->ranks[0].memory.peak_bytes <
        run.run.metrics->ranks[0].memory.peak_bytes);
}

TEST_CASE(
    "estimate: without a pipeline FSDP shows the first gather, the last reduction, and what passes do not "
    "hide") {
  const EstimatedRun whole = replicated(8, 1);
  const EstimatedRun sharded = replicated(8, 3);
  const estimate::Stage& before = whole.costs().estimate.stages.front();
  const estimate::Stage& stage = sharded.costs().estimate.stages.front();
  const estimate::ShardTimes times = estimate::shard_times(sharded.costs().setting, stage, 32);
  REQUIRE(times.gather < before.pass[0].seconds());
  CHECK(stage.pass[0].seconds() - before.pass[0].seconds() == Approx(times.gather / 32));
  CHECK(stage.pass[1].seconds() - before.pass[1].seconds() == Approx(times.reduction / 32));
  CHECK(sharded.costs().step_end.reduction == 0);
  CHECK(whole.costs().step_end.reduction > 0);
  // On 256 devices and short samples the network is the longer: all of it shows, but for the time of the passes.
  const EstimatedRun slow = replicated(256, 3, R"(, "tp": 1, "micro_batch": 1, "documents": [4096])");
  const estimate::Stage& exposed = slow.costs().estimate.stages.front();
  const estimate::ShardTimes ring = estimate::shard_times(slow.costs().setting, exposed, 32);
  const double forward = before.pass[0].seconds();
  CHECK(exposed.pass[0].seconds() == Approx(std::max(forward, ring.gather) + ring.gather / 32).epsilon(1e-6));
  // What is said to be hidden is.
  const EstimatedRun hidden = replicated(8, 3, R"(, "hidden": {"dp": 1})");
  CHECK(hidden.costs().estimate.stages.front().ticks == before.ticks);
}

TEST_CASE("estimate: without a pipeline ZeRO 2 reduces each microbatch's gradients at once") {
  // 32 layers. The last one's reduction shows in each backward, the others are beside it; at the end of the step the new weights are gathered, and nothing
  // is reduced any more.
  const EstimatedRun states = replicated(8, 1);
  const EstimatedRun gradients = replicated(8, 2);
  const estimate::Stage& before = states.costs().estimate.stages.front();
  const estimate::Stage& stage = gradients.costs().estimate.stages.front();
  const estimate::Setting& setting = gradients.costs().setting;
  const double hidden_by = before.pass[1].seconds() + before.pass[2].seconds();
  REQUIRE(estimate::shard_times(setting, stage).reduction < hidden_by);
  CHECK(stage.pass[0].seconds() == before.pass[0].seconds());
  CHECK(stage.pass[1].seconds() - before.pass[1].seconds() ==
        Approx(estimate::shard_times(setting, stage, 32).reduction / 32));
  const double gather = hardware::time_of(*setting.hardware, model::CollectiveKind::AllGather,
                                          2.0 * static_cast<double>(stage.dense), 8, 8)
                            .seconds;
  CHECK(gradients.costs().step_end.reduction == Approx(gather));
  CHECK(stage.bytes.of(Category::Gradients) == before.bytes.of(Category::Gradients) / 8);
}

TEST_CASE("estimate: in a pipeline ZeRO 2 reduces once a step") {
  const EstimatedRun states = estimated(llama("1f1b", R"(, "dp": 8, "zero": 1)"));
  const EstimatedRun gradients = estimated(llama("1f1b", R"(, "dp": 8, "zero": 2)"));
  CHECK(gradients.run.metrics->step_time == states.run.metrics->step_time);
}

TEST_CASE("estimate: hybrid sharding gathers within a group and sums over the groups") {
  const EstimatedRun one = replicated(8, 3);
  const EstimatedRun all = replicated(64, 3);
  const EstimatedRun hybrid = replicated(64, 3, R"(, "shards": 8)");
  const auto& of_one = one.costs().estimate.stages.front();
  const auto& of_hybrid = hybrid.costs().estimate.stages.front();
  // Bytes and gathers are those of eight replicas.
  CHECK(of_hybrid.bytes.bytes == of_one.bytes.bytes);
  const auto times = [](const EstimatedRun& run) {
    return estimate::shard_times(run.costs().setting, run.costs().estimate.stages.front());
  };
  CHECK(times(hybrid).gather == times(one).gather);
  // Reductions are those, and the sum of an eighth of the gradients, 4 bytes each, over eight groups whose ranks are in different nodes.
  const auto& hardware = *hybrid.costs().setting.hardware;
  const double shard = 4.0 * static_cast<double>(of_hybrid.dense) / 8;
  const double sum = hardware::time_of(hardware, model::CollectiveKind::AllReduce, shard, 8, 1).seconds;
  CHECK(times(hybrid).reduction == Approx(times(one).reduction + sum));
  // Groups of all data ranks are no groups.
  CHECK(replicated(64, 3, R"(, "shards": 64)").costs().estimate.stages.front().ticks ==
        all.costs().estimate.stages.front().ticks);
}

TEST_CASE("estimate: groups that cannot share out are refused") {
  CHECK(has(evaluation_error(llama("1f1b", R"(, "dp": 8, "zero": 3, "shards": 3)")),
            "shards is 3; it must divide the data ranks (dp), 8"));
  CHECK(has(evaluation_error(llama("1f1b", R"(, "dp": 8, "zero": 0, "shards": 4)")),
            "shards is 4, and ZeRO 0 shares nothing out; leave one of them out"));
}

TEST_CASE("estimate: costs.order says which groups are within a node") {
  // 4 stages of tp 4 and dp 2 on nodes of 8. A pipeline's ranks are tp x dp = 8, tp = 4 or 1 devices apart, a layer's 1, 1 or 4, replicas 4, 16 or 16.
  const auto under = [](const std::string& order) {
    return estimated(llama("1f1b", R"(, "tp": 4, "dp": 2, "order": ")" + order + "\""));
  };
  const EstimatedRun usual = under("tp-cp-ep-dp-pp");
  const EstimatedRun data_last = under("tp-cp-ep-pp-dp");
  const EstimatedRun first = under("pp-tp-cp-ep-dp");
  CHECK(usual.costs().estimate.ranks_per_node == 1);
  CHECK(data_last.costs().estimate.ranks_per_node == 2);
  CHECK(first.costs().estimate.ranks_per_node == 8);
  const auto exchange = [](const EstimatedRun& run) {
    return run.costs().estimate.stages.front().exchanged[static_cast<std::size_t>(model::Group::Tensor)];
  };
  CHECK(exchange(usual) == exchange(data_last));
  CHECK(exchange(first) > exchange(usual));
  CHECK(data_last.costs().step_end.reduction > usual.costs().step_end.reduction);
  CHECK(first.costs().step_end.reduction == data_last.costs().step_end.reduction);
  CHECK(evaluation_error(
            R"({"schedule": "1f1b", "ranks": 2, "microbatches": 8, "costs": {"model": "mixtral-8x7b",
                             "hardware": "h100", "tp": 2, "dp": 4, "ep": 8, "order": "tp-cp-ep-pp-dp"}})")
            .find("must divide tp x cp, 2") != std::string::npos);
}

TEST_CASE("estimate: stages send all streams of hyper-connections") {
  const EstimatedRun run = estimated(
      R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"model": "deepseek-v4-flash", )"
      R"("hardware": "h200", "seq": 4096, "dp": 8, "ep": 8}})");
  // 4 streams of 4,096 tokens x 4,096 channels in 16 bits.
  for (const study::RankBytes& rank : run.ranks)
    CHECK(rank.categories.of(estimate::Category::Buffers) == 4 * 4096 * 4096 * 2);
}

TEST_CASE(
    "estimate: four messages in one group of Megatron-LM take a rank three quarters of their time alone") {
  const auto rank_time = [](const EstimatedRun& run) { return run.costs().config.costs.transfer.rank_time; };
  const std::string interleaved = llama("interleaved-1f1b");
  const Ticks alone = rank_time(estimated(llama("1f1b")));
  // 4 of them in the time of 1.5 instead of 2, each to a nanosecond: 3/8 of a message instead of 1/2.
  CHECK(std::abs(4 * rank_time(estimated(interleaved)) - 3 * alone) <= 4000);
  CHECK(has(origin_of(estimated(interleaved), "costs.transfer.rank_time"), "of which four go together"));
  CHECK(has(origin_of(estimated(llama("1f1b")), "costs.transfer.rank_time"), "half of a message"));
  // An order that is given as it is has no framework, whatever the configuration calls it.
  const io::Config named = config_of(interleaved);
  const Run run = study::evaluate_schedule(study::evaluate(named).schedule, "orders", named, {});
  CHECK(run.model->costs.config.costs.transfer.rank_time == alone);
  // Who says how messages behave has them alone; and nine microbatches, 4 + 4 + 1, are none that Megatron-LM takes on four ranks.
  CHECK(rank_time(estimated(llama("interleaved-1f1b", R"(, "transfer": {"model": "latency"})"))) == alone);
  std::string odd = interleaved;
  odd.replace(odd.find(R"("microbatches": 8)"), 17, R"("microbatches": 9)");
  CHECK(rank_time(estimated(odd)) == alone);
}

TEST_CASE("estimate: what is recomputed costs time and saves bytes") {
  const EstimatedRun none = estimated(llama("1f1b"));
  const EstimatedRun selective = estimated(llama("1f1b", "", R"("recompute": "selective")"));
  const EstimatedRun full = estimated(llama("1f1b", "", R"("recompute": "full")"));
  CHECK(none.run.metrics->step_time < selective.run.metrics->step_time);
  CHECK(selective.run.metrics->step_time < full.run.metrics->step_time);
  CHECK(none.ranks[0].peak > selective.ranks[0].peak);
  CHECK(selective.ranks[0].peak > full.ranks[0].peak);
  CHECK(*none.rates->mfu == Approx(*none.rates->hfu));
  CHECK(*full.rates->hfu > *full.rates->mfu);
  CHECK(full.rates->terms.flops_per_token == none.rates->terms.flops_per_token);
}

TEST_CASE("estimate: attention of packed documents stays inside them") {
  const auto total = [](const EstimatedRun& run) {
    double sum = 0;
    for (const estimate::Stage& stage : run.costs().estimate.stages)
      for (const model::Pass pass :
           {model::Pass::Forward, model::Pass::BackwardInput, model::Pass::BackwardWeight})
        sum += static_cast<double>(stage.ticks[static_cast<std::size_t>(pass)]);
    return sum;
  };
  const EstimatedRun whole = estimated(llama("1f1b"));
  const EstimatedRun one = estimated(llama("1f1b", R"(, "documents": [4096])"));
  const EstimatedRun halves = estimated(llama("1f1b", R"(, "documents": [2048, 2048])"));
  CHECK(one.run.metrics->step_time == whole.run.metrics->step_time);
  CHECK(halves.run.metrics->step_time < whole.run.metrics->step_time);
  // A token of a half sees what a token of a sequence half as long sees.
  const model::Model& model = *whole.costs().setting.model;
  CHECK(halves.rates->terms.flops_per_token == Approx(model::flops_per_token(model, 2048)).epsilon(1e-12));

  // Of eight microbatches the odd ones hold two documents.
  const EstimatedRun mixed = estimated(
      llama("1f1b", R"(, "documents": [[4096], [2048, 2048], [4096], [2048, 2048], [4096], [2048, 2048], )"
                    R"([4096], [2048, 2048]])"));
  const auto& scale = mixed.run.effective->costs.microbatch_scale.array;
  REQUIRE(scale.size() == 8);
  CHECK(scale[0] == kUnitScale);
  CHECK(static_cast<double>(scale[1]) / kUnitScale == Approx(total(halves) / total(whole)).epsilon(1e-8));
  CHECK(scale[6] == kUnitScale);
  CHECK(scale[7] == scale[1]);
  CHECK(origin_of(mixed, "costs.microbatch_scale").starts_with("estimate"));
  CHECK(mixed.run.metrics->step_time < whole.run.metrics->step_time);
  CHECK(mixed.run.metrics->step_time > halves.run.metrics->step_time);
  CHECK(mixed.rates->terms.flops_per_token ==
        Approx((whole.rates->terms.flops_per_token + halves.rates->terms.flops_per_token) / 2));

  CHECK(has(evaluation_error(llama("1f1b", R"(, "documents": [2048, 2047])")), "4095 tokens together"));
  CHECK(has(evaluation_error(llama("1f1b", R"(, "documents": [[4096], [4096]])")),
            "2 lists, but there are 8 microbatches"));
  CHECK(has(evaluation_error(llama("1f1b", R"(, "documents": [])")), "costs.documents"));
}

TEST_CASE("estimate: rates follow from the step") {
  const study::EstimatedRun run = study::estimate_run(
      config_of(llama("1f1b", R"(, "tp": 2, "dp": 2, "micro_batch": 3)")), Limits(), 1e12);
  CHECK(run.rates->terms.devices == 4 * 2 * 2);
  CHECK(run.rates->terms.tokens == 8.0 * 3 * 4096 * 2);
  const double seconds = static_cast<double>(run.run.metrics->step_time) / 1e12;
  CHECK(run.rates->tokens_per_s == Approx(run.rates->terms.tokens / seconds));
  CHECK(*run.rates->mfu == Approx(run.rates->terms.flops_per_token * run.rates->terms.tokens / seconds / 16 /
                                  run.costs().setting.hardware->matrix_rate[0]));
  CHECK(*run.rates->gpu_hours == Approx(1e12 / run.rates->tokens_per_s * 16 / 3600));
}

TEST_CASE("metrics of a model's run are those of its estimate, and sweeps find the same") {
  const std::vector<std::string> names = {"step_time", "tokens_per_s", "tokens_per_s_per_gpu", "mfu",
                                          "headroom_bytes"};
  for (const char* schedule : {"1f1b", "zb-h1", "dualpipe", "pipedream-2bw", "seq-1f1b"}) {
    INFO(schedule);
    const EstimatedRun run = estimated(llama(schedule, R"(, "tp": 2, "dp": 2)"));
    const auto text = [&](const char* name) { return study::text_of(study::find_metric(name), run.run); };
    CHECK(std::stod(text("tokens_per_s")) == run.rates->tokens_per_s);
    CHECK(std::stod(text("tokens_per_s_per_gpu")) == run.rates->tokens_per_s / 16);
    CHECK(std::stod(text("mfu")) == *run.rates->mfu);
    Bytes least = *run.ranks[0].headroom;
    for (const study::RankBytes& rank : run.ranks) least = std::min(least, *rank.headroom);
    CHECK(std::stoll(text("headroom_bytes")) == least);

    sweep::Evaluator evaluator(names, {}, sweep::Evaluator::make_cache());
    sweep::Outcome found;
    evaluator.evaluate(config_of(llama(schedule, R"(, "tp": 2, "dp": 2)")), found);
    REQUIRE(found.metrics.size() == names.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(found.metrics[i] == text(names[i].c_str()));
  }
}

TEST_CASE("what trains nothing, names no model or has no limit knows no rates and no headroom") {
  const auto text = [](const std::string& config, const char* name) {
    return study::text_of(study::find_metric(name), study::evaluate(config_of(config)));
  };
  const std::string plain = R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})";
  for (const char* name : {"tokens_per_s", "tokens_per_s_per_gpu", "mfu", "headroom_bytes"})
    CHECK(text(plain, name) == study::kNoValue);
  CHECK(text(llama("1f1b", "", R"("forward_only": true)"), "tokens_per_s") == study::kNoValue);
  const ProfileFile profile;
  CHECK(text(profile.config("1f1b", 2), "mfu") == study::kNoValue);
  // One activation of 10 bytes is held on the last rank, 4 on the first: 45 - 40.
  CHECK(text(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8,
                 "memory": {"activation_bytes": 10, "limit_bytes": 45}})",
             "headroom_bytes") == "5");
  sweep::Evaluator evaluator({"mfu", "makespan"}, {}, sweep::Evaluator::make_cache());
  sweep::Outcome found;
  evaluator.evaluate(config_of(plain), found);
  CHECK(found.metrics == std::vector<std::string>{"null", "33.0"});
}

TEST_CASE("estimate: the fullest expert rank's tokens count, and no model FLOPs more") {
  const auto qwen = [](const std::string& rest) {
    return R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"model": "qwen3-30b-a3b", "hardware": "h100",
             "ep": 8, "dp": 8)" +
           rest + "}}";
  };
  const auto permuted = [](const EstimatedRun& run) {
    const estimate::Setting& setting = run.costs().setting;
    for (const model::KeptTensor& tensor : model::kept_tensors(*setting.model, setting.model->kinds[0],
                                                               setting.split, model::Recomputation::None))
      if (tensor.name == "permuted input") return tensor.bytes;
    return 0.0;
  };
  const EstimatedRun even = estimated(qwen(""));
  const EstimatedRun uneven = estimated(qwen(R"(, "expert_load": 1.25)"));
  // An expert gets 8 x 4,096 / 128 = 256 tokens of each of its 8 ranks, 2,048; the rank's 16 experts 2 bytes x 2,048 widths of each.
  CHECK(permuted(even) == 2.0 * 16 * 2048 * 2048);
  CHECK(permuted(uneven) == 2.0 * 16 * 2560 * 2048);
  CHECK(uneven.run.metrics->step_time > even.run.metrics->step_time);
  CHECK(uneven.ranks[0].peak > even.ranks[0].peak);
  CHECK(uneven.rates->terms.flops_per_token == even.rates->terms.flops_per_token);
  CHECK_THAT(evaluation_error(qwen(R"(, "expert_load": 9)")),
             Catch::Matchers::EndsWith(
                 "expert_load is 9; the fullest of the ranks that share experts (ep = 8) has from 1 to "
                 "8 times the mean"));
  // A rank that has all experts has all tokens: there is nobody with fewer.
  CHECK(has(evaluation_error(llama("1f1b", R"(, "expert_load": 1.5)")), "(ep = 1) has 1 times the mean"));
}

TEST_CASE("estimate: more stages than layers, and experts of a model without any, are refused with why") {
  // 32 layers: 33 stages cannot be; 34 can, with embedding and head alone at the ends.
  const auto with = [](int ranks, const std::string& rest) {
    return evaluation_error(R"({"schedule": "1f1b", "ranks": )" + std::to_string(ranks) +
                            R"(, "microbatches": 40, "costs": {"model": "llama3-8b", "hardware": "h100")" +
                            rest + "}}");
  };
  CHECK(
      with(33, "") ==
      "c:1:31: error: 33 stages (ranks x chunks) are more than the 32 layers of llama3-8b, and a stage needs "
      "one; take fewer ranks or chunks, and give devices to tp, cp or dp");
  CHECK(with(34, "") == "accepted");
  CHECK_THAT(
      with(4, R"(, "dp": 4, "ep": 4)"),
      Catch::Matchers::Contains("expert parallelism (ep) is 4, but llama3-8b has no experts to share"));
}

TEST_CASE("estimate: Megatron's arguments say the model, and one line which of them are not taken") {
  const std::filesystem::path path = test::temporary_path("arguments.sh");
  std::ofstream(path) << "--hidden-size 1024 --num-layers 8 --num-attention-heads 8 --vocab-size 32000 "
                         "--seq-length 2048 --tensor-model-parallel-size 2 --context-parallel-size 1 "
                         "--pipeline-model-parallel-size 4\n";
  const Run run = study::evaluate(config_of(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8,
    "costs": {"hardware": "h100", "model": ")" +
                                            path.string() + "\"}}"));
  REQUIRE(run.warnings.size() == 1);
  CHECK_THAT(run.warnings[0],
             Catch::Matchers::Contains(
                 "--tensor-model-parallel-size 2, --pipeline-model-parallel-size 4; say that by ranks"));
  std::filesystem::remove(path);
}

TEST_CASE("estimate: samples of a step say how many microbatches there are") {
  const std::string base =
      R"("schedule": "1f1b", "ranks": 4, "costs": {"model": "llama3-8b", "hardware": "h100", "dp": 2, "micro_batch": 2, )";
  CHECK(config_of("{" + base + R"("global_batch": 64}})").microbatches == 16);
  CHECK(evaluation_error("{" + base + R"("global_batch": 66}})") ==
        "c:1:129: error: costs.global_batch = 66 is no multiple of micro_batch * dp = 4; take 64");
  CHECK(evaluation_error(R"({"microbatches": 8, )" + base + R"("global_batch": 64}})") ==
        "c:1:148: error: costs.global_batch = 64 gives 16 microbatches of 4 samples, but microbatches = 8; "
        "leave one of them out");
}

TEST_CASE("estimate: what does not go together is refused in one line") {
  CHECK(evaluation_error(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"tp": 2}})") ==
        "c:1:69: error: costs.tp is for costs.model, which is not given; give that too, or leave it out");
  CHECK(
      evaluation_error(
          R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "options": {"recompute": "selective"}})") ==
      "c:1:78: error: recomputing core_attn needs costs.model, which says what it takes and keeps; name a "
      "model, or take none or full");
  CHECK(evaluation_error(
            R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"model": "llama3-8b"}})") ==
        "c:1:72: error: costs.model llama3-8b needs costs.hardware, the device that it runs on; add it: "
        "--hardware NAME, one of a100, b200, gb200, gb300, h100, h200, h800, mi300x, mi355x, or a file of "
        "your own");
  CHECK(evaluation_error(llama("1f1b", R"(, "layers": [8, 8, 8])")) ==
        "c:1:143: error: costs.layers has 3 entries, but the run has 4 stages; give one per stage");
  CHECK(evaluation_error(llama("1f1b", R"(, "layers": [8, 8, 8, 9])")) ==
        "c:1:143: error: costs.layers add up to 33, but llama3-8b has 32 layers; make them equal");
  CHECK(evaluation_error(llama("1f1b", R"(, "per": "rank")")) ==
        "c:1:140: error: costs.per is \"rank\", but costs.model gives numbers per stage; leave it out");
}

TEST_CASE("estimate: layers are dealt out evenly, else with lighter ends, else from the first stage on") {
  model::Model model;
  const auto layers = [&](int count, int stages) {
    model.layers.assign(static_cast<std::size_t>(count), 'T');
    return estimate::default_layers(model, stages);
  };
  CHECK(layers(32, 4) == std::vector<int>{8, 8, 8, 8});
  CHECK(layers(126, 16) == std::vector<int>{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7});
  CHECK(layers(7, 4) == std::vector<int>{2, 2, 2, 1});
}

TEST_CASE("estimate: a profile's times are taken as they are, and nothing is known of bytes") {
  const ProfileFile profile;
  const EstimatedRun run = estimated(profile.config("1f1b", 2));
  // Stages M A M and M A M: F 0.5 + 14 and 14 + 2, I 15 and 18, W 7 and 8.
  const auto& stages = run.costs().estimate.stages;
  const Ticks ms = ticks_per(TimeUnit::Millisecond);
  CHECK(stages[0].ticks == std::array<Ticks, 3>{29 * ms / 2, 15 * ms, 7 * ms});
  CHECK(stages[1].ticks == std::array<Ticks, 3>{16 * ms, 18 * ms, 8 * ms});
  CHECK_FALSE(run.rates);
  CHECK(run.ranks.empty());
  // 1F1B of two ranks with four microbatches: F of both, then the second rank's work to the end, then B of the first: 14.5 + 4 (16 + 26) + 22.
  CHECK(run.run.metrics->step_time == (29 * ms) / 2 + 4 * 42 * ms + 22 * ms);
}

TEST_CASE("balance: no split is worse than what it started from, and the limit is kept where that can be") {
  const ProfileFile profile;
  const io::Config config = config_of(profile.config("zbv", 2));
  const study::Balanced found = study::balance_layers(config, Limits(), study::Balance::Time);
  CHECK(found.best.step_time <= found.before.step_time);
  CHECK(std::accumulate(found.best.layers.begin(), found.best.layers.end(), 0) == 6);
  // All splits of 6 layers over 4 stages, inner ones not empty, by hand: none is shorter.
  for (int a = 0; a <= 4; ++a)
    for (int b = 1; a + b <= 5; ++b)
      for (int c = 1; a + b + c <= 6; ++c) {
        io::Config other = config;
        other.costs.layers.counts = {a, b, c, 6 - a - b - c};
        CHECK(study::evaluate(other).metrics->step_time >= found.best.step_time);
      }
  for (const study::Balance balance : {study::Balance::Time, study::Balance::Memory, study::Balance::Both}) {
    const study::Balanced llama_found =
        study::balance_layers(config_of(llama("1f1b", R"(, "tp": 2)")), Limits(), balance);
    CAPTURE(study::name_of(balance));
    CHECK(llama_found.best.over == 0);
    if (balance == study::Balance::Memory) CHECK(llama_found.best.peak < llama_found.before.peak);
    if (balance == study::Balance::Time) CHECK(llama_found.best.step_time <= llama_found.before.step_time);
  }
}

TEST_CASE("estimate: tokens of all updates count where a schedule makes several before it ends") {
  const EstimatedRun one = estimated(llama("pipedream-2bw", "", R"("updates": 1)"));
  const EstimatedRun four = estimated(llama("pipedream-2bw", "", R"("updates": 4)"));
  CHECK(four.rates->terms.tokens == 4 * one.rates->terms.tokens);
  CHECK(*four.rates->mfu > *one.rates->mfu);
}

TEST_CASE("estimate: modules that run again count once, and only where a layer has them") {
  const auto step = [](const std::string& modules) {
    return estimated(
               R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "options": {"recompute": ")" + modules +
               R"("}, "costs": {"model": "mixtral-8x7b", "hardware": "h200", "ep": 8, "dp": 8, "seq": 4096}})")
        .run.metrics->step_time;
  };
  CHECK(step("moe") == step("moe,moe_act"));
  CHECK(step("moe") > step("moe_act"));
  CHECK(evaluation_error(llama("1f1b", "", R"("recompute": "mlp,moe")"))
            .find("no layer of llama3-8b has the module moe") != std::string::npos);
}

TEST_CASE("estimate: every module that a configuration may name is of some layer") {
  model::Layer layer;
  layer.latent_attention = model::LatentAttention{};
  layer.mlp = model::Mlp{};
  layer.experts = model::Experts{.shared_ffn = 1};
  for (const std::string_view module : kRecomputeModules) {
    CAPTURE(module);
    CHECK(estimate::has_module(layer, module));
  }
}

TEST_CASE("estimate: what I leaves for W stays until W") {
  const EstimatedRun run = estimated(llama("zb-h1"));
  const estimate::Setting& setting = run.costs().setting;
  const model::Layer& layer = setting.model->kinds[0];
  double kept = 0;
  double early = 0;
  for (const model::KeptTensor& tensor :
       model::kept_tensors(*setting.model, layer, setting.split, model::Recomputation::None)) {
    kept += tensor.bytes;
    if (!tensor.until_weight) early += tensor.bytes;
  }
  double left = 0;
  for (const model::KeptTensor& tensor : model::gradients_for_weight(*setting.model, layer, setting.split))
    left += tensor.bytes;
  // Eight layers; the gradients of the products' outputs come into being as the input pass frees what it needed.
  const estimate::CategoryBytes& bytes = run.costs().estimate.stages[1].bytes;
  CHECK(static_cast<double>(bytes.of(Category::UntilInput)) ==
        Approx(8 * std::max(0.0, early - left)).margin(1));
  CHECK(static_cast<double>(bytes.of(Category::UntilInput) + bytes.of(Category::UntilWeight)) ==
        Approx(8 * kept).epsilon(1e-9));
}

TEST_CASE("estimate: two copies of a stage sum their gradients") {
  const EstimatedRun run = estimated(llama("dualpipe"));
  CHECK(run.costs().setting.copies == 2);
  CHECK(run.costs().step_end.reduction > 0);
  CHECK(estimated(llama("1f1b")).costs().step_end.reduction == 0);
}

TEST_CASE("estimate: stated passes stand in the tables, and stated activations beside the model's weights") {
  const EstimatedRun stated = estimated(llama("1f1b", R"(, "forward": 5)"));
  CHECK(study::pass_ticks(stated, 0, OpKind::Forward) == 5 * ticks_per(TimeUnit::Millisecond));
  CHECK(study::step_terms(stated).front().name == "stated");
  const EstimatedRun bytes = estimated(
      R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "memory": {"activation_bytes": "100GB"},
                                          "costs": {"model": "llama3-8b", "hardware": "h100"}})");
  // Four microbatches of 100 GB on the first rank, and its weights.
  CHECK(bytes.ranks[0].peak == 400'000'000'000 + bytes.costs().estimate.stages[0].bytes.fixed());
  CHECK(bytes.run.over_limit);
}

TEST_CASE("estimate: the rank that passes its limit by most is named, and by how much") {
  const EstimatedRun run = estimated(
      R"({"schedule": "1f1b", "ranks": 2, "microbatches": 8, "costs": {"model": "llama3-70b", "hardware": "h100"}})");
  Bytes most = 0;
  for (const study::RankBytes& rank : run.ranks) most = std::max(most, -*rank.headroom);
  CHECK(study::over_limit_text(run).find(bytes_text(most) + " more than its 84.9 GB") != std::string::npos);
  CHECK(study::over_limit_text(estimated(llama("1f1b"))).empty());
}

TEST_CASE("estimate: a profile refuses what it cannot answer") {
  const ProfileFile profile;
  io::Config config = config_of(profile.config("1f1b", 2));
  CHECK_THROWS_AS(study::estimate_run(config, Limits(), 1e12), InputError);
  const std::string text =
      R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": {"tp": 2, "model": ")" +
      profile.path.string() + R"("}})";
  CHECK(evaluation_error(text).find("so that costs.tp changes nothing; leave it out") != std::string::npos);
}

TEST_CASE("estimate: a long run from two short ones is estimated as the whole one") {
  for (const char* options : {"", R"("recompute": "full")"}) {
    std::string text = llama("1f1b", R"(, "tp": 2, "dp": 4)", options);
    text.replace(text.find(R"("microbatches": 8)"), 17, R"("microbatches": 30000)");
    const io::Config config = config_of(text);
    const EstimatedRun told = study::estimate_run(config, Limits());
    if (*options == '\0') CHECK(told.run.repeated);
    EstimatedRun whole{.run = study::evaluate(config)};
    whole.rates = study::training_rates(whole.run, std::nullopt);
    whole.ranks = study::bytes_by_rank(whole.run);
    CHECK(study::estimate_json(told) == study::estimate_json(whole));
  }
}

TEST_CASE("estimate: JSON has every key, and equal inputs give equal bytes") {
  const std::string text = study::estimate_json(estimated(llama("zbv", R"(, "tp": 2)")));
  CHECK(text == study::estimate_json(estimated(llama("zbv", R"(, "tp": 2)"))));
  const Json json = Json::parse(text);
  for (const char* key : {"schema_version", "parameters", "flops_per_token", "step_time_ms", "tokens_per_s",
                          "tokens_per_s_per_gpu", "mfu", "hfu", "gpu_hours", "stages", "ranks", "origins"})
    CHECK(json.contains(key));
  CHECK(json["parameters"] == 8030261248);
  CHECK(json["gpu_hours"].is_null());
  CHECK(json["stages"].size() == 8);
  CHECK(json["ranks"][0]["categories"].size() == estimate::kCategories);
}

}  // namespace estimate_test
