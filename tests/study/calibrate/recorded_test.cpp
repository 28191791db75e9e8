// Costs of recordings of a busy machine: PyTorch 2.15.0 over gloo (tests/torch/real/record_truth.py), cut down.

#include <cmath>
#include <string>

#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "study/calibrate/calibrate.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::calibrate::recorded_test {

TEST_CASE("uneven pauses of a busy machine are in the step, whether it is too short or too long without",
          "[calibrate]") {
  // Three ranks of GPipe whose entries all send or receive: no gap tells what lies between any two, and the step was 4.4 % short. Two ranks of linear
  // layers that stop for whole ops while the other waits: what messages take came out at 1.1 ms, and the step 24 % long.
  const std::string name = GENERATE(as<std::string>(), "busy-gpipe", "busy-linear");
  CAPTURE(name);
  const io::TraceRun run =
      io::assemble(io::read_trace({std::string(PIPELOOM_GOLDEN_DIR) + "/kineto/" + name}));
  const Calibration found =
      calibrate(io::usual_steps(run), {.held = run.held, .is_of_torch = run.is_of_torch});
  REQUIRE(found.replay);
  const auto& steps = found.measured.waits.step_times;
  double mean = 0;
  for (const Ticks step : steps) mean += static_cast<double>(step) / static_cast<double>(steps.size());
  CHECK(std::abs(static_cast<double>(found.replay->simulated) / mean - 1) < 0.001);
}

}  // namespace pipeloom::study::calibrate::recorded_test
