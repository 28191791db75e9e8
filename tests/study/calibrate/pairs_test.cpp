// Pairs that PyTorch's runtime runs one op after the other: what their messages take, and what is lost before them.

#include "study/calibrate/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "study/calibrate/calibrate.hpp"
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::study::calibrate::pairs_test {
namespace {

constexpr Ticks kMs = 1'000'000'000;

/// Of a recording of PyTorch 2.15.0 over gloo (tests/torch/real/record_truth.py), with layers that sleep.
Calibration calibrated(const std::string& name) {
  const io::TraceRun run =
      io::assemble(io::read_trace({std::string(PIPELOOM_GOLDEN_DIR) + "/kineto/" + name}));
  return calibrate(run.timeline, {.held = run.held, .is_of_torch = run.is_of_torch});
}

double in_ms(Ticks ticks) {
  return static_cast<double>(ticks) / static_cast<double>(kMs);
}

}  // namespace

TEST_CASE("messages of a pair leave when its last op has ended", "[calibrate]") {
  const auto schedule = test::scene("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  // F 10 and B 20 ms, messages of no time. 0F1 runs while 0B0 waits for 1B0, and 1F1 begins when 0B0 has ended: 40 ms after 0F1.
  const std::vector<Ticks> start = {0, 10, 40, 90, 10, 20, 60, 70};
  const std::vector<Ticks> end = {10, 20, 60, 110, 20, 40, 70, 90};
  Timeline timeline{.schedule = schedule, .steps = 4, .unit = TimeUnit::Millisecond, .start = {}, .end = {}};
  for (int step = 0; step < timeline.steps; ++step)
    for (std::size_t i = 0; i < start.size(); ++i) {
      timeline.start.push_back((start[i] + 200 * step) * kMs);
      timeline.end.push_back((end[i] + 200 * step) * kMs);
    }
  const Waits waits = find_waits(timeline, false);
  CHECK(usual_latency(waits.links) == Ticks{0});
  for (const LinkLatency& link : waits.links) CHECK(link.latency.median == 0);
  CHECK(waits.rank_time == 0);
  CHECK(waits.lost.empty());
}

TEST_CASE("pairs of a real run are simulated as they ran", "[calibrate]") {
  // Three ranks of DualPipeV, rank 1 slowed by 30 %; time.perf_counter around the same calls, medians in ms.
  const Calibration found = calibrated("pairs-dualpipe-v");
  const std::vector<double> forward = {10.44, 13.40, 10.45, 10.41, 13.44, 10.71};
  const std::vector<double> backward = {8.47, 26.87, 20.66, 20.81, 26.79, 20.81};
  for (std::size_t stage = 0; stage < forward.size(); ++stage) {
    CAPTURE(stage);
    const auto of = [&](OpKind kind) { return in_ms(cost::estimate_of(found.measured, kind, stage).time); };
    CHECK(std::abs(of(OpKind::Forward) - forward[stage]) < 0.05 * forward[stage]);
    CHECK(std::abs(of(OpKind::Backward) - backward[stage]) < 0.05 * backward[stage]);
  }
  // A send keeps its rank for 0.2 to 0.3 ms, a receive for less than 0.1.
  CHECK(in_ms(found.costs.transfer.rank_time) > 0.1);
  CHECK(in_ms(found.costs.transfer.rank_time) < 0.3);
  REQUIRE(found.replay);
  CHECK(std::abs(in_ms(found.replay->simulated) / in_ms(found.replay->measured) - 1) < 0.01);
}

TEST_CASE("time that is lost before a pair whose ops run in turn is its first op's", "[calibrate]") {
  // Two ranks: pairs of rank 1 between its own stages are seen as one range, and one of them begins late in every step.
  const Calibration found = calibrated("pairs-of-one-rank");
  REQUIRE(found.costs.exceptions);
  CHECK(std::ranges::none_of(*found.costs.exceptions, &cost::CostRow::of_group));
  REQUIRE(found.replay);
  CHECK(std::abs(in_ms(found.replay->simulated) / in_ms(found.replay->measured) - 1) < 0.01);
}

}  // namespace pipeloom::study::calibrate::pairs_test
