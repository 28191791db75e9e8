// Two runs of one model with chunks of different size tell what an op takes whatever its layers.

#include "study/calibrate/chunk_constant.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/io/json/file.hpp"
#include "study/calibrate/calibrate.hpp"
#include "study/calibrate/costs_file.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace pipeloom::study::calibrate::chunk_constant_test {
namespace {

constexpr Ticks kMs = 1'000'000'000;

std::shared_ptr<const Schedule> made(std::string_view name, int chunks) {
  return std::make_shared<const Schedule>(
      schedules::make(*schedules::find(name).generator, {.ranks = 4, .microbatches = 8, .chunks = chunks}));
}

/// What costs with this text make of the schedule.
Run run_with(const std::shared_ptr<const Schedule>& schedule, const std::string& costs) {
  const std::string text = "{\"costs\": " + costs + "}";
  return evaluate_schedule(
      schedule, "",
      io::read_run_config(io::Document::parse(text, "costs.json").root(), io::Needs::CostsOnly));
}

/// A model of 24 layers: F takes 0.8 ms a layer and B 1.6, each op `constant` besides, embedding 0.5 in F, head 2 in F and 4 in B.
Timeline model_on(const std::shared_ptr<const Schedule>& schedule, double constant) {
  const int stages = schedule->stages();
  const int layers = 24 / stages;
  std::vector<double> forward(static_cast<std::size_t>(stages), constant + 0.8 * layers);
  std::vector<double> backward(static_cast<std::size_t>(stages), constant + 1.6 * layers);
  forward.front() += 0.5;
  forward.back() += 2;
  backward.back() += 4;
  return run_with(
             schedule,
             fmt::format(
                 R"({{"time_unit": "ms", "forward": [{}], "backward": [{}], "transfer": {{"latency": 0.2}}}})",
                 fmt::join(forward, ", "), fmt::join(backward, ", ")))
      .timeline;
}

std::vector<std::int32_t> equal_layers(int stages) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(stages), 24 / stages);
}

std::string file_of(const Calibration& found) {
  std::ostringstream out;
  write_made_costs(out, found.measured, found.costs);
  return out.str();
}

/// Costs of the run with chunks of three layers, as a file.
std::string chunks_of_three(const test::Folder& folder, double constant) {
  const auto schedule = made("interleaved-1f1b", 2);
  const std::string file = folder / "interleaved.json";
  io::write_file(file, io::Overwrite::Yes, [&](std::ostream& out) {
    out << file_of(calibrate(model_on(schedule, constant), {.layers = equal_layers(8)}));
  });
  return file;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a constant of every op is told by chunks of six and of three layers", "[calibrate]") {
  const test::Folder folder("chunks");
  const auto other = read_other_run(chunks_of_three(folder, 0.3));
  const auto schedule = made("1f1b", 1);
  const Timeline timeline = model_on(schedule, 0.3);
  const Calibration found = calibrate(timeline, {.layers = equal_layers(4)}, other);
  // F of the middle stages: 0.3 + 6 x 0.8 = 5.1 and 0.3 + 3 x 0.8 = 2.7, so (6 x 2.7 - 3 x 5.1) / (6 - 3) = 0.3, on ranks 1 and 2, for F and for B.
  REQUIRE(found.constant);
  CHECK(found.constant->count == 4);
  CHECK(found.constant->median == 3 * kMs / 10);
  CHECK(found.constant->spread == 0);
  CHECK(found.costs.entry == 3 * kMs / 10);
  REQUIRE(found.replay);
  CHECK(found.replay->simulated == found.replay->measured);
  for (const Residual& one : found.replay->residuals) CHECK(one.rest.median == 0);
  // The file gives its own run again, and dealt out to the other chunks that one.
  CHECK(run_with(schedule, file_of(found)).timeline.end == timeline.end);
  const auto interleaved = made("interleaved-1f1b", 2);
  CHECK(run_with(interleaved, file_of(found)).timeline.end == model_on(interleaved, 0.3).end);
  // Without it, each of the twice as many ops has half of the constant.
  CHECK(run_with(interleaved, file_of(calibrate(timeline, {.layers = equal_layers(4)}))).timeline.end !=
        model_on(interleaved, 0.3).end);
}

TEST_CASE("ops that take time by their layers alone have no constant", "[calibrate]") {
  const test::Folder folder("chunks");
  const auto other = read_other_run(chunks_of_three(folder, 0));
  const Calibration found = calibrate(model_on(made("1f1b", 1), 0), {.layers = equal_layers(4)}, other);
  CHECK(found.costs.entry == 0);
  CHECK(found.warnings.size() == 1);
  CHECK(found.warnings.front().find("by their layers alone") != std::string::npos);
}

TEST_CASE("runs that do not tell a constant are refused", "[calibrate]") {
  const test::Folder folder("chunks");
  const std::string file = chunks_of_three(folder, 0.3);
  const auto refused = [&](const OtherRun& other, std::string_view schedule, int chunks,
                           std::vector<std::int32_t> layers) {
    const Timeline timeline = model_on(made(schedule, chunks), 0.3);
    return error_of([&] { (void)calibrate(timeline, {.layers = layers}, other); });
  };
  const OtherRun other = read_other_run(file);
  CHECK(refused(other, "1f1b", 1, {6, 6, 6, 5}).find("a model of 24 layers, and this run of one of 23") !=
        std::string::npos);
  CHECK(refused(other, "interleaved-1f1b", 2, equal_layers(8)).find("no rank has stages of different size") !=
        std::string::npos);
  OtherRun unitless = other;
  unitless.costs.unit = TimeUnit::Unit;
  CHECK(refused(unitless, "1f1b", 1, equal_layers(4)).find("a time unit") != std::string::npos);
  const std::string bare = folder / "bare.json";
  io::write_file(bare, io::Overwrite::Yes, [](std::ostream& out) { out << R"({"forward": 1})"; });
  CHECK(error_of([&] { (void)read_other_run(bare); }).find("how many layers") != std::string::npos);
  CHECK(error_of([&] { (void)read_other_run(folder / "none.json"); }) != "");
}

}  // namespace pipeloom::study::calibrate::chunk_constant_test
