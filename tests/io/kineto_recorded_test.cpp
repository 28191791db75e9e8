// Traces that PyTorch 2.15's profiler wrote of real training steps over gloo (tests/torch/real/record_trace.py), cut down.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/byte_source.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

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

// Recordings of PyTorch 2.15.0 over gloo on one machine, with layers that sleep; times in brackets are those of time.perf_counter around
// forward_one_chunk, backward_one_chunk and backward_weight_one_chunk in the same run, medians in milliseconds.

namespace {

constexpr double kMillisecond = 1e9;

/// Median over steps and microbatches, in milliseconds.
double median_of(const Timeline& times, OpKind kind, int stage) {
  std::vector<Ticks> found;
  for (int step = 0; step < times.steps; ++step)
    for (std::size_t i = 0; i < times.schedule->num_ops(); ++i)
      if (times.schedule->ops()[i].kind() == kind && times.schedule->ops()[i].stage() == Stage(stage))
        found.push_back(times.end_of(i, step) - times.start_of(i, step));
  REQUIRE_FALSE(found.empty());
  std::sort(found.begin(), found.end());
  return static_cast<double>(found[(found.size() - 1) / 2]) / kMillisecond;
}

/// What of one kind was measured, by stage.
struct Truth {
  OpKind kind;
  std::vector<double> by_stage;
};

/// A range of PyTorch costs up to a tenth of a millisecond of its own, which is much of an op that does next to nothing.
void require_near(const Timeline& times, const std::vector<Truth>& truth, double around = 0.1) {
  for (const Truth& one : truth)
    for (std::size_t stage = 0; stage < one.by_stage.size(); ++stage) {
      CAPTURE(letter_of(one.kind), stage);
      const double expected = one.by_stage[stage];
      CHECK(std::abs(median_of(times, one.kind, static_cast<int>(stage)) - expected) <
            std::max(0.05 * expected, around));
    }
}

bool any_has(const std::vector<std::string>& lines, std::string_view word) {
  return std::ranges::any_of(
      lines, [word](const std::string& line) { return line.find(word) != std::string::npos; });
}

/// Each rank's clock ahead by so many milliseconds.
io::TraceRun read_shifted(const std::string& name, const std::vector<double>& ahead) {
  io::Trace trace = io::read_trace({std::string(PIPELOOM_GOLDEN_DIR) + "/kineto/" + name});
  for (std::size_t r = 0; r < ahead.size(); ++r) {
    const auto by = static_cast<Ticks>(ahead[r] * kMillisecond);
    for (io::TraceOp& op : trace.ranks[r].ops) {
      op.start += by;
      op.end += by;
    }
    for (io::TraceMessage& message : trace.ranks[r].messages) {
      message.start += by;
      message.end += by;
    }
  }
  return io::assemble(std::move(trace));
}

}  // namespace

TEST_CASE("an op of a real trace begins when its message was there", "[traces]") {
  // Rank 2 was slowed by 30 %. B of stage 0 has 40 ms as its range has it: the runtime waits inside.
  const io::TraceRun run = read("waits-1f1b");
  REQUIRE(run.timeline.steps == 2);
  require_near(run.timeline, {{OpKind::Forward, {10.557, 10.65, 13.582, 10.537}},
                              {OpKind::Backward, {20.828, 20.931, 26.795, 20.956}}});
  CHECK(run.held.empty());
}

TEST_CASE("the halves of a real backward begin when its message was there", "[traces]") {
  // I of stage 0 does nothing; its range has 9.7 ms.
  const io::TraceRun run = read("waits-zbv");
  require_near(run.timeline, {{OpKind::Forward, {10.504, 10.462, 10.564, 10.843}},
                              {OpKind::BackwardInput, {0.044, 20.758, 20.779, 20.986}},
                              {OpKind::BackwardWeight, {20.572, 0.44, 0.421, 0.456}}});
}

TEST_CASE("clocks of one machine are left alone", "[traces]") {
  const std::string name = GENERATE(as<std::string>(), "waits-1f1b", "waits-zbv", "gpipe", "one-file");
  CAPTURE(name);
  const io::TraceRun run = read(name);
  for (const io::RankVerdict& rank : run.verdicts) CHECK(rank.ahead == 0);
  CHECK_FALSE(any_has(run.warnings, "before they leave"));
}

TEST_CASE("clocks that were shifted by hand are found again", "[traces]") {
  const std::vector<double> ahead =
      GENERATE(std::vector<double>{0, 35, -20, 5}, std::vector<double>{0, 35, -120, 5});
  const io::TraceRun run = read_shifted("waits-1f1b", ahead);
  REQUIRE(run.verdicts.size() == ahead.size());
  for (std::size_t r = 0; r < ahead.size(); ++r) {
    const double error = std::abs(static_cast<double>(run.verdicts[r].ahead) / kMillisecond - ahead[r]);
    CHECK(error < 0.2);
    CHECK(error <= static_cast<double>(run.clocks_uncertain) / kMillisecond);
  }
}

TEST_CASE("ranges of GPipe are read without a mapping", "[traces]") {
  // "Forward 3" holds the wait, the op and the send, and gloo's receives and sends are in it.
  const io::TraceRun run = read("gpipe");
  CHECK(queue_text(*run.timeline.schedule, Rank(1)) == "1F0 1F1 1F2 1F3 1B0 1B1 1B2 1B3");
  require_near(run.timeline, {{OpKind::Forward, {10.627, 10.652}}, {OpKind::Backward, {20.886, 22.184}}});
}

TEST_CASE("ranges of pipeloom.torch hold a short pass and nothing else", "[traces]") {
  // The range "pipeloom:0F3" is 25 us longer than the pass, "pipeloom:pass" in it 1 to 3 us.
  const io::TraceRun run = read("short-passes");
  require_near(run.timeline, {{OpKind::Forward, {0.1939, 0.2678}}, {OpKind::Backward, {0.3919, 0.4445}}},
               0.005);
  CHECK_FALSE(any_has(run.warnings, "passes are short"));
}

TEST_CASE("a schedule that names nothing is refused with the ways out", "[traces]") {
  const auto refusal = []() -> std::string {
    try {
      (void)read("1f1b-without-names");
    } catch (const InputError& error) {
      return error.line();
    }
    return "no error";
  };
  for (const char* word : {"Schedule1F1B", "pipeloom.torch.ranges", "pipeloom.torch.record", "CSV"})
    CHECK(refusal().find(word) != std::string::npos);
}

TEST_CASE("one file of all ranks is as many ranks", "[traces]") {
  // Four processes of a run of 1F1B, merged without Kineto's header.
  const io::TraceRun run = read("one-file");
  CHECK(run.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(*run.timeline.schedule == *read("waits-1f1b").timeline.schedule);
}

namespace {

/// An event of the recordings, begun or ended.
struct Edge {
  std::string time;  // microseconds with three decimals
  double at = 0;
  std::string text;
};

struct EdgeForm {
  bool by_time = true;  ///< in the order of their times; otherwise all begins, then all ends
  bool named = true;    ///< ends have the names of their begins
};

/// The recording with begin and end events in the place of complete ones.
void write_edges(const std::string& from, const std::string& to, EdgeForm form) {
  const io::Document file = io::Document::parse(io::first_bytes(from, 16'000'000), from);
  std::vector<Edge> edges;
  for (const io::Value& event : file.root().find("traceEvents")->items()) {
    const auto of = [&](const char* key) { return event.find(key)->text(); };
    const double start = std::stod(of("ts"));
    const double end = start + std::stod(of("dur"));
    const std::string thread = fmt::format(R"("pid": {}, "tid": {})", of("pid"), of("tid"));
    const std::string name = fmt::format(R"("name": "{}")", of("name"));
    edges.push_back(
        {of("ts"), start,
         fmt::format(R"({{"ph": "B", "cat": "{}", {}, {}, "ts": {}}})", of("cat"), name, thread, of("ts"))});
    edges.push_back({"", end,
                     fmt::format(R"({{"ph": "E", {}{}{}, "ts": {:.3f}}})", form.named ? name : "",
                                 form.named ? ", " : "", thread, end)});
  }
  std::ranges::stable_partition(edges, [](const Edge& edge) { return !edge.time.empty(); });
  if (form.by_time) std::ranges::stable_sort(edges, {}, &Edge::at);
  std::ofstream out(to);
  out << R"({"schemaVersion": 1, "traceEvents": [)";
  for (const Edge& edge : edges) out << (&edge == edges.data() ? "" : ",\n") << edge.text;
  out << "]}";
}

void write_all_edges(std::string_view recording, int ranks, const test::Folder& folder, EdgeForm form) {
  for (int rank = 0; rank < ranks; ++rank)
    write_edges(fmt::format("{}/kineto/{}/rank{}.json.gz", PIPELOOM_GOLDEN_DIR, recording, rank),
                folder / fmt::format("rank{}.json", rank), form);
}

}  // namespace

TEST_CASE("begin and end events are the ranges of complete ones, in any order", "[traces]") {
  // gloo's ranges begin in one range and end in the next, so that ends belong to begins by their names.
  const auto [name, ranks] =
      GENERATE(std::pair{"waits-1f1b", 4}, std::pair{"waits-zbv", 2}, std::pair{"gpipe", 2});
  const bool by_time = GENERATE(true, false);
  CAPTURE(name, by_time);
  const io::TraceRun complete = read(name);
  const test::Folder folder("edges");
  write_all_edges(name, ranks, folder, {.by_time = by_time});
  const io::TraceRun edges = io::assemble(io::read_trace({folder / ""}));
  CHECK(*edges.timeline.schedule == *complete.timeline.schedule);
  CHECK(edges.timeline.start == complete.timeline.start);
  CHECK(edges.timeline.end == complete.timeline.end);
}

TEST_CASE("ends without names beside ranges that cross are refused", "[traces]") {
  const test::Folder folder("edges");
  write_all_edges("waits-1f1b", 4, folder, {.named = false});
  CHECK_THROWS_WITH(
      io::read_trace({folder / ""}),
      Catch::Matchers::Contains("have no names, but ranges of gloo begin in one range and end in"));
}

}  // namespace kineto_recorded_test
