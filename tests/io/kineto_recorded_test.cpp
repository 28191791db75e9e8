// Traces that PyTorch 2.15's profiler wrote of real training steps over gloo (tests/torch/real/record_trace.py), cut down.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "support/catch.hpp"

namespace kineto_recorded_test {

using namespace pipeloom;

namespace {

io::TraceRun read(const std::string& name) {
  return io::assemble(io::read_trace({std::string(PIPELOOM_GOLDEN_DIR) + "/kineto/" + name}));
}

Ticks length_of(const Timeline& times, const std::string& op, int step) {
  for (std::size_t i = 0; i < times.schedule->num_ops(); ++i)
    if (to_text(times.schedule->ops()[i]) == op) return times.end_of(i, step) - times.start_of(i, step);
  FAIL("no op " << op);
  return 0;
}

}  // namespace

TEST_CASE("a trace of a real torch is the schedule that ran", "[traces]") {
  struct Case {
    std::string name;
    std::vector<std::string> queues;  // [rank], of the file that torch had loaded
  };
  const Case ran =
      GENERATE(Case{"zb-h1", {"0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2", "1F0 1I0 1F1 1I1 1W0 1F2 1I2 1W1 1W2"}},
               Case{"interleaved-1f1b",
                    {"0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
                     "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3"}});
  CAPTURE(ran.name);
  const io::TraceRun run = read(ran.name);
  REQUIRE(run.timeline.schedule->ranks() == 2);
  for (const Rank rank : {Rank(0), Rank(1)})
    CHECK(queue_text(*run.timeline.schedule, rank) == ran.queues[rank.at()]);
  // One step warms the profiler up, three are recorded.
  CHECK(run.steps == std::vector<std::int32_t>{1, 2, 3});
}

TEST_CASE("times of a real trace are those of its ranges", "[traces]") {
  const io::TraceRun run = read("zb-h1");
  // "name": "PP:0F0", ... "dur": 187.54 in rank0.json, in microseconds; a tick is a picosecond.
  CHECK(length_of(run.timeline, "0F0", 0) == 187'540'000);
}

TEST_CASE("a trace without a device says whose times these are", "[traces]") {
  const io::TraceRun run = read("zb-h1");
  CHECK(std::ranges::any_of(run.warnings, [](const std::string& line) {
    return line.find("times are the host's") != std::string::npos;
  }));
}

}  // namespace kineto_recorded_test
