// Messages of traces: sends that find their receives, and clocks that are set by them.

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/analysis/clocks.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "support/catch.hpp"
#include "support/trace_files.hpp"

namespace trace_messages_test {

using namespace pipeloom;
using test::kTraceLatency;
using test::TraceFolder;

namespace {

constexpr Ticks kMicrosecond = 1'000'000;
/// 1F1B of 3 ranks, 4 microbatches.
const std::string kThree =
    "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 | 1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3 | 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3";

io::TraceRun read(const std::string& format, const Timeline& times, const test::TraceStyle& style) {
  const TraceFolder folder("trace_messages_test");
  test::write_trace(format, folder, times, style);
  return io::assemble(io::read_trace({folder.path()}));
}

std::string line_with(const std::vector<std::string>& lines, std::string_view word) {
  const auto found = std::find_if(lines.begin(), lines.end(), [word](const std::string& line) {
    return line.find(word) != std::string::npos;
  });
  return found == lines.end() ? "" : *found;
}

}  // namespace

TEST_CASE("every send of a trace has its receive", "[traces]") {
  const std::string format = GENERATE(as<std::string>(), "kineto", "straggler");
  const Timeline times = test::simulated_times(kThree, 2);
  const io::TraceRun run = read(format, times, {.has_messages = true});
  // Two steps, two links, four microbatches, there and back.
  REQUIRE(run.messages.size() == 2 * 2 * 4 * 2);
  for (const io::TracedMessage& message : run.messages) {
    const Op producer = run.timeline.schedule->ops()[message.producer];
    const Op consumer = run.timeline.schedule->ops()[message.consumer];
    CHECK(producer.microbatch() == consumer.microbatch());
    CHECK(message.is_gradient == (consumer.kind() != OpKind::Forward));
    // A message leaves when its producer ends, and its receiver has waited for it up to its start.
    CHECK(message.send.start == run.timeline.end_of(message.producer, message.step));
    CHECK(message.receive.end == run.timeline.start_of(message.consumer, message.step));
    CHECK(message.under_way().end == message.receive.end);
    CHECK(message.under_way().start >= message.send.start);
  }
  CHECK(line_with(run.warnings, "messages").empty());
}

TEST_CASE("messages without their other side are counted and left out", "[traces]") {
  const Timeline times = test::simulated_times("0F0 0B0 | 1F0 1B0", 1);
  const TraceFolder folder("trace_messages_test");
  test::write_trace("kineto", folder, times, {.has_messages = true});
  const io::Trace whole = io::read_trace({folder.path()});
  io::Trace trace = whole;
  trace.ranks[1].messages.clear();
  const io::TraceRun run = io::assemble(trace);
  CHECK(run.messages.empty());
  CHECK(line_with(run.warnings, "alone").starts_with("2 messages have a send or a receive alone"));
}

TEST_CASE("a stage that messages go to is missing if no file has it", "[traces]") {
  const Timeline times = test::simulated_times(kThree, 1);
  const TraceFolder folder("trace_messages_test");
  test::write_trace("kineto", folder, times, {.has_messages = true});
  const auto read_two = [&folder]() -> std::string {
    try {
      (void)io::assemble(io::read_trace({folder.file("rank0.json"), folder.file("rank1.json")}));
    } catch (const InputError& error) {
      return error.line();
    }
    return "no error";
  };
  CHECK(read_two().find("stage 2 is missing") != std::string::npos);
  // Without messages the ranks that the run had are all there is to go by.
  test::write_trace("kineto", folder, times);
  const io::TraceRun run =
      io::assemble(io::read_trace({folder.file("rank0.json"), folder.file("rank1.json")}));
  CHECK(line_with(run.warnings, "of 3 ranks, 2 has no file here") != "");
}

TEST_CASE("clocks that stand apart are set by messages", "[traces]") {
  const Timeline times = test::simulated_times(kThree, 2);
  const bool has_messages = GENERATE(false, true);
  const std::vector<Ticks> ahead = {0, 40 * kMicrosecond, -15 * kMicrosecond};
  const io::TraceRun run = read("kineto", times, {.has_messages = has_messages, .ahead = ahead});
  // Latencies are the same both ways, and somewhere a rank waits for a message in either direction: half the difference is exact.
  CHECK(run.timeline.start == times.start);
  CHECK(run.timeline.end == times.end);
  const std::string line = line_with(run.warnings, "clocks were set");
  INFO(line);
  // What goes from rank 1, 40 us ahead, to rank 2, 15 us behind, arrives 55 us - 0.25 us before it leaves.
  CHECK(line.find("up to 0.05475 ms before they leave") != std::string::npos);
  CHECK(line.find("rank 1 is 0.04 ms ahead, rank 2 is 0.015 ms behind") != std::string::npos);
  // Latencies of 0.25 us leave as much room on each of the two links.
  CHECK(line.find("to within 0.0005 ms") != std::string::npos);
  for (const io::TracedMessage& message : run.messages)
    CHECK(message.receive.end - message.send.start >= kTraceLatency);
}

TEST_CASE("clocks that messages agree with stay as they are", "[traces]") {
  const Timeline times = test::simulated_times(kThree, 1);
  // Less than a message takes: none arrives before it leaves.
  const io::TraceRun run = read("kineto", times, {.ahead = {0, kTraceLatency / 2, 0}});
  CHECK(line_with(run.warnings, "clocks").empty());
  const std::size_t first = run.timeline.schedule->queue_begin(Rank(1));
  CHECK(run.timeline.start_of(first) == times.start_of(first) + kTraceLatency / 2);
}

TEST_CASE("times that no clocks explain are left alone and said", "[traces]") {
  // Rank 1 ends its backward before it has its input, whatever its clock: 1F0 starts with 0F0, and 0B0 with 1B0.
  Timeline times = test::regular_times("0F0 0B0 | 1F0 1B0", 1);
  times.start = {0, 10 * kMicrosecond, 0, 10 * kMicrosecond};
  times.end = {9 * kMicrosecond, 19 * kMicrosecond, 9 * kMicrosecond, 19 * kMicrosecond};
  const io::TraceRun run = read("kineto", times, {});
  CHECK(run.timeline.start == times.start);
  CHECK(line_with(run.warnings, "no offsets of the ranks' clocks explain") != "");
}

TEST_CASE("a step far longer than the others is kept and named", "[traces]") {
  Timeline times = test::simulated_times("0F0 0B0 | 1F0 1B0", 5);
  // The last backward of step 2 takes 40 us instead of 20: its step 80.5 us instead of 60.5.
  const std::size_t last = times.schedule->queue_end(Rank(0)) - 1;
  times.end[times.index(2, last)] += 20 * kMicrosecond;
  const io::TraceRun run = read("kineto", times, {});
  CHECK(run.timeline.end == times.end);
  CHECK(run.outliers == std::vector<int>{2});
  // What is measured of the others is not moved.
  const Timeline usual = usual_steps(run);
  REQUIRE(usual.steps == run.timeline.steps - 1);
  for (int step = 0; step < usual.steps; ++step) {
    CHECK(span_of(usual, step) == span_of(run.timeline, step < 2 ? step : step + 1));
    CHECK(usual.start_of(0, step) == run.timeline.start_of(0, step < 2 ? step : step + 1));
  }
  CHECK(line_with(run.warnings, "longer than the median step of 0.0605 ms: step 7 by 33.1 %") != "");
}

TEST_CASE("offsets leave no message early where offsets exist", "[clocks]") {
  const auto gap = [](int from, int to, Ticks least) { return ClockGap{Rank(from), Rank(to), least}; };
  // Rank 1 is 100 ahead of rank 0: messages of 3 look like 103 and -97. Half their difference is 100.
  const AlignedClocks two = align_clocks(2, std::vector{gap(0, 1, 103), gap(1, 0, -97)});
  CHECK(two.clocks.offset == std::vector<Ticks>{0, 100});
  CHECK(two.clocks.slack == 6);
  CHECK(two.early == 97);
  CHECK(two.left == 0);
  // The tree follows 0-1 and 1-2 (slack 2 each), offsets 1 and 2; what goes straight from 0 to 2 wants rank 2 at 0 at most, and then what
  // goes from 2 to 1 wants rank 1 there too.
  const AlignedClocks three =
      align_clocks(3, std::vector{gap(0, 1, 2), gap(1, 0, 0), gap(1, 2, 2), gap(2, 1, 0), gap(0, 2, 0)});
  CHECK(three.clocks.offset == std::vector<Ticks>{0, 0, 0});
  CHECK(three.left == 0);
  // There and back in less than nothing: half is left on either side.
  const AlignedClocks none = align_clocks(2, std::vector{gap(0, 1, -10), gap(1, 0, -30)});
  CHECK(none.clocks.offset == std::vector<Ticks>{0, 10});
  CHECK(none.left == 20);
  // One way only says a bound, and as little as it asks for is done.
  CHECK(align_clocks(2, std::vector{gap(0, 1, -5)}).clocks.offset == std::vector<Ticks>{0, -5});
  CHECK(align_clocks(2, std::vector{gap(0, 1, 5)}).clocks.offset == std::vector<Ticks>{0, 0});
}

TEST_CASE("messages that ranks waited for say more than those that came early", "[clocks]") {
  // Rank 1 is 100 ahead, messages take 3. Rank 0 waited for its own (-97); those to rank 1 were there 50 before it asked (153), so that half the
  // difference would be 125. Messages that were waited for took no time that is known: 97, which is wrong by the 3.
  const std::vector<ClockGap> one_way = {{Rank(0), Rank(1), 153, 1}, {Rank(1), Rank(0), -97, 2}};
  REQUIRE(pairs_of(one_way).size() == 1);
  CHECK(pairs_of(one_way).front().ahead == 97);
  CHECK(pairs_of(one_way).front().slack == 56);
  // Waited for both ways, or neither way: half the difference.
  const std::vector<ClockGap> both = {{Rank(0), Rank(1), 103, 2}, {Rank(1), Rank(0), -97, 2}};
  CHECK(pairs_of(both).front().ahead == 100);
}

TEST_CASE("clocks of ranks of which one never waits are set by the messages of the other", "[traces]") {
  // Rank 0 takes 10 and 20 for F and B, rank 1 takes 20 and 19, begins at 40 and is busy from there on. Messages to rank 0 take 1, and it waits for
  // each. Those to rank 1 are there 8 before it asks for them at the least (0F2 ends at 110, 1F2 begins at 118).
  Timeline times;
  times.schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3 | 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"));
  times.unit = TimeUnit::Microsecond;
  times.start = {0, 10, 80, 100, 119, 139, 158, 197, 40, 60, 79, 99, 118, 138, 157, 177};
  times.end = {10, 20, 100, 110, 139, 149, 178, 217, 60, 79, 99, 118, 138, 157, 177, 196};
  for (Ticks& start : times.start) start *= kMicrosecond;
  for (Ticks& end : times.end) end *= kMicrosecond;
  const io::TraceRun run = read("kineto", times, {.ahead = {0, 100 * kMicrosecond}});
  // Gaps of 108 there and -99 back: half their difference is 103.5, and messages that were waited for say 99.
  REQUIRE(run.verdicts.size() == 2);
  CHECK(run.verdicts[1].ahead == 99 * kMicrosecond);
}

TEST_CASE("clocks are moved by one rule", "[clocks]") {
  const auto gap = [](int from, int to, Ticks least) { return ClockGap{Rank(from), Rank(to), least}; };
  // 100 ahead, messages of 3: 103 there and -97 back, so that 97 to 103 is allowed.
  const std::vector apart = {gap(0, 1, 103), gap(1, 0, -97)};
  const SettledClocks moved = settle_clocks(2, apart, 10);
  CHECK(moved.moved);
  CHECK(moved.offset == std::vector<Ticks>{0, 100});
  CHECK(moved.uncertain == 3);
  CHECK(moved.left == 0);
  // Early by no more than is bearable, or by what no offsets explain: nothing moves.
  CHECK_FALSE(settle_clocks(2, apart, 97).moved);
  const SettledClocks none = settle_clocks(2, std::vector{gap(0, 1, -90), gap(1, 0, -100)}, 10);
  CHECK_FALSE(none.moved);
  CHECK(none.offset == std::vector<Ticks>{0, 0});
  CHECK(none.left == 100);
  // Along a chain what messages allow adds up: 3 for rank 1, 3 + 4 for rank 2; no message ties rank 3.
  const std::vector chain = {gap(0, 1, 3), gap(1, 0, 3), gap(1, 2, 4), gap(2, 1, 4)};
  CHECK(spread_of_offsets(4, chain, std::vector<Ticks>{0, 0, 0, 0}) == 7);
}

}  // namespace trace_messages_test
