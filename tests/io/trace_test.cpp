#include <fmt/format.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/range_names.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/io/traces/trace_readers.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace trace_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

class Folder {
 public:
  Folder() : path_(test::temporary_path("traces")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }
  std::string put(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

constexpr Ticks kMicrosecond = 1'000'000;

/// Op q of a rank's queue runs from q 10 us + 3 us per rank on, for 7.125 us; steps are 1 ms apart.
Timeline some_times(const std::string& orders, int steps) {
  Timeline times;
  times.schedule = std::make_shared<const Schedule>(parse_schedule(orders));
  times.steps = steps;
  times.unit = TimeUnit::Millisecond;
  for (int step = 0; step < steps; ++step)
    for (Rank rank(0); rank.value() < times.schedule->ranks(); ++rank)
      for (std::size_t i = times.schedule->queue_begin(rank); i < times.schedule->queue_end(rank); ++i) {
        const auto q = static_cast<Ticks>(i - times.schedule->queue_begin(rank));
        times.start.push_back((step * 1000 + q * 10 + rank.value() * 3) * kMicrosecond);
        times.end.push_back(times.start.back() + 7 * kMicrosecond + kMicrosecond / 8);
      }
  return times;
}

void require_equal(const Timeline& read, const Timeline& written) {
  CHECK(*read.schedule == *written.schedule);
  CHECK(read.steps == written.steps);
  CHECK(read.start == written.start);
  CHECK(read.end == written.end);
}

/// 1F1B of 2 ranks, 3 microbatches.
const std::string kOrders = "0F0 0F1 0B0 0F2 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1B2";

std::string event(std::string_view category, const std::string& name, Ticks start, Ticks length, int id,
                  int stream = 7) {
  // 1.6e15 us: the clock of a profiler that counts from 1970.
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": {}, "ts": 16{:013d}.{:03d}, "dur": {}, "args": {{"External id": {}, "note": "a \"quoted\" }} \\"}}}})",
      category, name, stream, start / kMicrosecond, start % kMicrosecond / 1000,
      format_ticks(length, TimeUnit::Microsecond), id);
}

/// Events of one rank: what the device did and, a little earlier and shorter, the host.
std::vector<std::string> kineto_events(const Timeline& times, Rank rank, bool with_marks) {
  std::vector<std::string> events;
  int id = 0;
  for (int step = 0; step < times.steps; ++step) {
    if (with_marks)
      events.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", step + 5),
                             step * 1000 * kMicrosecond, 900 * kMicrosecond, ++id, 1));
    for (std::size_t i = times.schedule->queue_begin(rank); i < times.schedule->queue_end(rank); ++i) {
      const std::string name = "PP:" + to_text(times.schedule->ops()[i]);
      const Ticks start = times.start_of(i, step);
      events.push_back(event("user_annotation", name, start, kMicrosecond, ++id, 1));
      events.push_back(event("gpu_user_annotation", name, start, times.end_of(i, step) - start, id));
      events.push_back(event("kernel", "gemm", start, kMicrosecond, id));
    }
  }
  return events;
}

std::string kineto_text(int rank, const std::vector<std::string>& events) {
  return fmt::format(
      R"({{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": 2}}, "traceEvents": [{}], "traceName": "t"}})",
      rank, fmt::join(events, ",\n"));
}

TraceRun read(const std::string& path, const TraceOptions& options = {}) {
  return assemble(read_trace({path}, options));
}

/// The message of the InputError that `work` throws.
std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.line();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

bool any_has(const std::vector<std::string>& texts, std::string_view word) {
  return std::any_of(texts.begin(), texts.end(),
                     [word](const std::string& text) { return text.find(word) != std::string::npos; });
}

}  // namespace

TEST_CASE("JSON is scanned block by block", "[traces]") {
  const Folder folder;
  // The string is longer than a block of 1 MiB, and all backslashes: one of its pairs lies across the edge of two blocks.
  const std::string slashes(3U << 20, '\\');
  const std::string path =
      folder.put("a.json", "{\"skip\": {\"a\": [1, {\"b\": \"}\"}]}, \"long\": \"" + slashes +
                               "\", \"list\": [1.5, \"x\", [2], {\"c\": 3}], \"n\": 7}");
  ByteSource source(path);
  JsonScanner json(source);
  REQUIRE(json.enter('{'));
  std::string key;
  REQUIRE(json.next_key(key));
  json.skip_value();
  REQUIRE(json.next_key(key));
  CHECK(json.take_value().size() == slashes.size() + 2);
  REQUIRE(json.next_key(key));
  CHECK(key == "list");
  REQUIRE(json.enter('['));
  std::vector<std::string> values;
  while (json.next_element()) values.emplace_back(json.take_value());
  CHECK(values == std::vector<std::string>{"1.5", "\"x\"", "[2]", "{\"c\": 3}"});
  REQUIRE(json.next_key(key));
  CHECK(json.take_value() == "7");
  CHECK_FALSE(json.next_key(key));
  CHECK_FALSE(json.is_truncated());
}

TEST_CASE("wherever a block of a file ends, its values are whole", "[traces]") {
  // An odd number of bytes each, with the comma, so prime to a block's 2^20: block edges fall on other places of a value each time.
  const Folder folder;
  const std::string value = R"({"ab": "c,\"d}", "e": 1})";
  std::string text = "[" + value;
  std::size_t count = 1;
  for (; text.size() < 40U << 20; ++count) text += "," + value;
  ByteSource source(folder.put("blocks.json", text + "]"));
  JsonScanner json(source);
  REQUIRE(json.enter('['));
  std::size_t equal = 0;
  while (json.next_element()) equal += json.take_value() == value ? 1U : 0U;
  CHECK(equal == count);
  CHECK_FALSE(json.is_truncated());
}

TEST_CASE("JSON that ends early, or is none", "[traces]") {
  const Folder folder;
  const std::string whole = R"({"list": [{"a": "b\"c"}, {"d": [1, 2]}], "e": 1})";
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    ByteSource source(folder.put("cut.json", whole.substr(0, cut)));
    JsonScanner json(source);
    REQUIRE(json.enter('{'));
    std::string key;
    while (json.next_key(key)) json.skip_value();
    CHECK(json.is_truncated());
  }
  const auto scan = [&folder](const std::string& text) {
    return error_of([&] {
      ByteSource source(folder.put("bad.json", text));
      JsonScanner json(source);
      std::string key;
      if (json.enter('{'))
        while (json.next_key(key)) json.skip_value();
    });
  };
  CHECK(has(scan("{a: 1}"), "a key in quotes"));
  CHECK(has(scan("{\"a\" 1}"), "':' behind a key"));
  CHECK(has(scan("{\"a\": ,}"), "a value"));
  CHECK(has(scan("{\"a\": " + std::string(1000, '[')), "nothing deeper"));
}

TEST_CASE("a Kineto trace is the run that wrote it, to the nanosecond", "[traces]") {
  const Timeline times = some_times(kOrders, 3);
  const bool with_marks = GENERATE(true, false);
  const Folder folder;
  for (const int rank : {1, 0}) {
    auto events = kineto_events(times, Rank(rank), with_marks);
    std::reverse(events.begin(), events.end());  // profilers write in no order
    folder.put(fmt::format("r{}.json", rank), kineto_text(rank, events));
  }
  folder.put("notes.txt", "no trace");
  CHECK(is_trace(folder.path()));
  const TraceRun run = read(folder.path());
  require_equal(run.timeline, times);
  CHECK(run.steps == (with_marks ? std::vector<std::int32_t>{5, 6, 7} : std::vector<std::int32_t>{0, 1, 2}));
  // The times are made up, and no message can have arrived by them; nothing else is said.
  REQUIRE(run.warnings.size() == 1);
  CHECK(has(run.warnings[0], "before they leave"));
}

TEST_CASE("a packed trace is the same trace", "[traces]") {
  const Timeline times = some_times(kOrders, 2);
  const Folder folder;
  for (const int rank : {0, 1}) {
    const std::string text = kineto_text(rank, kineto_events(times, Rank(rank), true));
    gzFile file = ::gzopen((folder.path() + fmt::format("/r{}.json.gz", rank)).c_str(), "wb");
    REQUIRE(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
            static_cast<int>(text.size()));
    ::gzclose(file);
  }
  require_equal(read(folder.path()).timeline, times);
}

TEST_CASE("of a trace that ends early the whole steps are there", "[traces]") {
  const Timeline times = some_times(kOrders, 3);
  const Folder folder;
  const std::string whole = kineto_text(1, kineto_events(times, Rank(1), true));
  folder.put("r0.json", kineto_text(0, kineto_events(times, Rank(0), true)));
  folder.put("r1.json", whole.substr(0, whole.size() * 9 / 10));  // in the last of three steps
  const TraceRun run = read(folder.path());
  require_equal(run.timeline, some_times(kOrders, 2));
  CHECK(any_has(run.warnings, "r1.json: the file ends before its text does"));
  CHECK(any_has(run.warnings, "partial steps were left out: step 7 (rank 1 has"));
  CHECK(run.is_partial);
}

TEST_CASE("a recording that starts within a step", "[traces]") {
  const Timeline times = some_times(kOrders, 3);
  const Folder folder;
  for (const int rank : {0, 1}) {
    auto events = kineto_events(times, Rank(rank), false);
    events.erase(events.begin(), events.begin() + 3 * 3);  // three ops, each with two events beside it
    folder.put(fmt::format("r{}.json", rank), kineto_text(rank, events));
  }
  const TraceRun run = read(folder.path());
  CHECK(run.timeline.steps == 2);
  CHECK(*run.timeline.schedule == *times.schedule);
  CHECK(any_has(run.warnings, "partial steps were left out: the beginning (rank 0 has 3 of 6 ops)"));
  CHECK(run.is_partial);
}

TEST_CASE("an op without kernels takes no time", "[traces]") {
  // Stage 0's I starts nothing on the device.
  const Timeline times = some_times("0F0 0I0 0W0 | 1F0 1I0 1W0", 1);
  const Folder folder;
  auto events = kineto_events(times, Rank(0), false);
  events.erase(events.begin() + 4);  // of 0I0 what the device did
  folder.put("r0.json", kineto_text(0, events));
  folder.put("r1.json", kineto_text(1, kineto_events(times, Rank(1), false)));
  const TraceRun run = read(folder.path());
  REQUIRE(*run.timeline.schedule == *times.schedule);
  CHECK(run.timeline.start_of(1) == times.end_of(0));
  CHECK(run.timeline.end_of(1) == times.end_of(0));
}

TEST_CASE("replicas, missing stages and unequal counts", "[traces]") {
  const Timeline times = some_times(kOrders, 1);
  const Folder folder;
  const auto events = [&times](int rank) { return kineto_events(times, Rank(rank), false); };
  folder.put("r0.json", kineto_text(0, events(0)));
  folder.put("r1.json", kineto_text(1, events(0)));
  CHECK_NOTHROW(read(folder.path() + "/r0.json"));
  SECTION("ranks 1 and 3 are replicas") {
    folder.put("r2.json", kineto_text(2, events(1)));
    folder.put("r3.json", kineto_text(3, events(1)));
    const TraceRun run = read(folder.path());
    CHECK(run.ranks == std::vector<std::int32_t>{0, 2});
    CHECK(*run.timeline.schedule == *times.schedule);
    CHECK(any_has(run.warnings, "ranks 1, 3 run the same ops"));
  }
  SECTION("stage 0 is missing") {
    CHECK(has(error_of([&] { (void)read(folder.put("only.json", kineto_text(1, events(1)))); }),
              "stage 0 is missing"));
  }
  SECTION("one microbatch less on rank 1") {
    auto less = events(1);
    less.resize(less.size() - 6);  // 1F2 and 1B2
    folder.put("r1.json", kineto_text(1, less));
    CHECK(has(error_of([&] { (void)read(folder.path()); }),
              "stage 0 on rank 0 has 3, stage 1 on rank 1 has 2"));
  }
  SECTION("two files of one rank") {
    CHECK(has(error_of([&] {
                (void)read_trace({folder.path() + "/r0.json", folder.path() + "/r0.json"});
              }),
              "rank 0 is in"));
  }
}

TEST_CASE("a trace without ranges of a pipeline", "[traces]") {
  const Folder folder;
  CHECK(has(error_of([&] {
              (void)read(folder.put("r0.json", kineto_text(0, {event("kernel", "gemm", 0, 1, 1)})));
            }),
            "no range of a pipeline"));
  // A profiler whose run ended between two cycles writes its mark and nothing else.
  CHECK(has(error_of([&] {
              (void)read(folder.put("r0.json",
                                    kineto_text(0, {event("user_annotation", "ProfilerStep#9", 0, 1, 1)})));
            }),
            "no step was recorded in it"));
  const std::string other = folder.put("other.json", "{\"ranks\": 4}");
  CHECK_FALSE(is_trace(other));
  CHECK(has(error_of([&] { (void)read_trace({other}); }), "no trace that is known"));
}

namespace {

/// A range of the host, from `start` to `end` microseconds.
std::string host_range(const std::string& name, int start, int end) {
  return event("user_annotation", name, start * kMicrosecond, (end - start) * kMicrosecond, 0, 1);
}

std::string gloo_text(int rank, const std::vector<std::string>& events) {
  return fmt::format(
      R"({{"schemaVersion": 1, "distributedInfo": {{"backend": "gloo", "rank": {}, "world_size": 2}}, "traceEvents": [{}]}})",
      rank, fmt::join(events, ",\n"));
}

/// "0F0 10-20", in microseconds from the first start on.
std::string text_of_times(const Timeline& times, int rank) {
  std::vector<std::string> texts;
  for (std::size_t i = times.schedule->queue_begin(Rank(rank)); i < times.schedule->queue_end(Rank(rank));
       ++i)
    texts.push_back(fmt::format("{} {}-{}", to_text(times.schedule->ops()[i]),
                                times.start_of(i) / kMicrosecond, times.end_of(i) / kMicrosecond));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

TEST_CASE("times of a host never stand beside those of a device", "[traces]") {
  const Timeline times = some_times(kOrders, 1);
  const Folder folder;
  auto cut = kineto_events(times, Rank(0), false);
  std::erase_if(cut, [](const std::string& one) { return has(one, "gpu_user_annotation"); });
  const std::string text = kineto_text(0, cut);
  folder.put("r1.json", kineto_text(1, kineto_events(times, Rank(1), false)));
  folder.put("r0.json", text);
  CHECK(has(error_of([&] { (void)read(folder.path()); }),
            "r0.json: error: rank 0 has ranges of the host alone, beside times of the device of rank 1"));
  folder.put("r0.json", text.substr(0, text.size() - 30));
  CHECK(has(error_of([&] { (void)read(folder.path()); }), "the file ends before its device's part"));
}

TEST_CASE("a pair waits for each of its messages", "[traces]") {
  // Rank 1 holds stages 1 and 2; in its pair F of stage 1 waits until 14 and B of stage 2 until 40, for the receive that was asked for at 12.
  const Folder folder;
  folder.put("r0.json", gloo_text(0, {host_range("PP:0F0", 0, 10), host_range("PP:3F0", 24, 30),
                                      host_range("PP:3B0", 30, 38), host_range("PP:0B0", 60, 70)}));
  folder.put("r1.json",
             gloo_text(1, {host_range("PP:1RECV_F0", 2, 3), host_range("gloo:recv", 2, 14),
                           host_range("PP:1F0", 4, 16), host_range("PP:2F0", 16, 20),
                           host_range("PP:2RECV_B0", 20, 21), host_range("gloo:recv", 21, 40),
                           host_range("PP:(1F1;2B0)OVERLAP_F_B", 22, 50), host_range("PP:1B0", 50, 58)}));
  const Trace trace = read_trace({folder.path()});
  const auto op = [&trace](std::size_t i) { return trace.ranks[1].ops[i]; };
  REQUIRE(trace.ranks[1].ops.size() == 5);
  CHECK((op(0).end - op(0).start) / kMicrosecond == 2);   // 14 to 16
  CHECK((op(2).end - op(2).start) / kMicrosecond == 18);  // F of the pair: 22 to 40 at most
  CHECK(op(2).wait == WaitInside::OfNext);
  CHECK((op(3).end - op(3).start) / kMicrosecond == 10);  // B: 40 to 50
  CHECK(op(3).is_joined);
}

TEST_CASE("a message leaves with the call that sends it", "[traces]") {
  const Folder folder;
  folder.put("r0.json", gloo_text(0, {host_range("PP:0F0", 0, 10), host_range("PP:0SEND_F0", 10, 14),
                                      host_range("gloo:send", 12, 30), host_range("PP:0B0", 40, 60)}));
  const Trace trace = read_trace({folder.path()});
  REQUIRE(trace.ranks.front().messages.size() == 1);
  CHECK(trace.ranks.front().messages.front().start / kMicrosecond == 12);
  CHECK(trace.ranks.front().messages.front().end / kMicrosecond == 14);
}

TEST_CASE("waits that a trace does not show are said", "[traces]") {
  // F of stage 1 has its range from 2 on, and its input from 10 on at the earliest; nothing shows when it was there.
  const Folder folder;
  folder.put("r0.json", gloo_text(0, {host_range("PP:0F0", 0, 10), host_range("PP:0B0", 12, 60)}));
  folder.put("r1.json", gloo_text(1, {host_range("PP:1F0", 2, 20), host_range("PP:1B0", 20, 40)}));
  const TraceRun run = read(folder.path());
  CHECK(text_of_times(run.timeline, 1) == "1F0 2-20, 1B0 20-40");
  CHECK(run.held == std::vector<bool>{false, true, true, false});
  CHECK(any_has(run.warnings, "2 of 4 ops were there"));
  CHECK_FALSE(any_has(run.warnings, "before they leave"));
}

TEST_CASE("ranges without waits count before those that hold them", "[traces]") {
  const Folder folder;
  folder.put("r0.json", gloo_text(0, {host_range("PP:0F0", 0, 12), host_range("pipeloom:0F0", 1, 11),
                                      host_range("pipeloom:0B0", 50, 60)}));
  folder.put("r1.json",
             gloo_text(1, {host_range("PP:(1F0;1B0)OVERLAP_F_B", 2, 45), host_range("pipeloom:1F0", 13, 23),
                           host_range("pipeloom:1B0", 24, 44)}));
  const TraceRun run = read(folder.path());
  CHECK(text_of_times(run.timeline, 0) == "0F0 0-10, 0B0 49-59");
  CHECK(text_of_times(run.timeline, 1) == "1F0 12-22, 1B0 23-43");
  CHECK(queue_text(*run.timeline.schedule, Rank(1)) == "(1F0;1B0)OVERLAP_F_B");
  CHECK(run.held.empty());
}

TEST_CASE("what ranges of PyTorch hold around short passes is said", "[traces]") {
  // In the median F of stage 1 takes 120 us: 20 us of 100 are 20 %. I of stage 0 does nothing anyway.
  const std::string said =
      "passes are short: F of stage 1 takes 0.12 ms in the median, and a range of PyTorch holds some 20 us "
      "of "
      "its runtime around the pass (100 us on a busy machine), so that 20.0 % or more is too much";
  const auto run_with = [](const std::string& prefix, int forward) {
    const Folder folder;
    folder.put("r0.json",
               gloo_text(0, {host_range(prefix + "0F0", 0, 900), host_range(prefix + "0I0", 5000, 5030),
                             host_range(prefix + "0W0", 6000, 7000)}));
    folder.put("r1.json", gloo_text(1, {host_range(prefix + "1F0", 2000, 2000 + forward),
                                        host_range(prefix + "1I0", 3000, 4000),
                                        host_range(prefix + "1W0", 4000, 5000)}));
    return read(folder.path());
  };
  CHECK(any_has(run_with("PP:", 120).warnings, said));
  CHECK_FALSE(any_has(run_with("PP:", 500).warnings, "passes are short"));
  CHECK_FALSE(any_has(run_with("pipeloom:", 120).warnings, "passes are short"));
}

TEST_CASE("the pass in a range of pipeloom.torch counts", "[traces]") {
  // Calls of other names count for nothing; a pass that is in no range does neither.
  const Folder folder;
  const auto call = [](const std::string& name, int start, int end) {
    return event("cpu_op", name, start * kMicrosecond, (end - start) * kMicrosecond, 0, 1);
  };
  folder.put("r0.json", gloo_text(0, {host_range("pipeloom:0F0", 0, 12), call("pipeloom:pass", 4, 10),
                                      call("aten::mm", 5, 9), host_range("pipeloom:0B0", 50, 60)}));
  folder.put("r1.json", gloo_text(1, {host_range("pipeloom:1F0", 13, 23), call("pipeloom:pass", 24, 44),
                                      host_range("pipeloom:1B0", 23, 45)}));
  const TraceRun run = read(folder.path());
  CHECK(text_of_times(run.timeline, 0) == "0F0 0-6, 0B0 46-56");
  CHECK(text_of_times(run.timeline, 1) == "1F0 9-19, 1B0 20-40");
}

TEST_CASE("ranks of one file by the names of their threads", "[traces]") {
  // Begin and end are events of their own, as a timer of one's own writes them.
  const Folder folder;
  const std::string mapping = folder.put("map.json", R"({"ranges": [
      {"match": "F_{microbatch}", "kind": "F"}, {"match": "B_{microbatch}", "kind": "B"}]})");
  const auto edges = [](int rank, const std::string& name, int start, int end) {
    const auto edge = [&](char phase, int time) {
      return fmt::format(
          R"({{"name": "{}", "cat": "x", "ph": "{}", "ts": {}, "pid": "Main", "tid": "GPU: {}"}})", name,
          phase, time, rank);
    };
    return edge('B', start) + ",\n" + edge('E', end);
  };
  const std::string path = folder.put(
      "all.json", fmt::format(R"({{"traceEvents": [{}, {}, {}, {}]}})", edges(1, "F_0", 11, 21),
                              edges(0, "F_0", 0, 10), edges(0, "B_0", 42, 62), edges(1, "B_0", 21, 41)));
  CHECK(is_trace(path));
  const TraceRun run = read(path, {.from = {}, .mapping = mapping});
  CHECK(run.ranks == std::vector<std::int32_t>{0, 1});
  CHECK(text_of_times(run.timeline, 0) == "0F0 0-10, 0B0 42-62");
  CHECK(text_of_times(run.timeline, 1) == "1F0 11-21, 1B0 21-41");
  CHECK(has(error_of([&] { (void)read(path); }), "its ranges are called F_0, B_0 and so on"));
}

TEST_CASE("ends without a name are those of what began last on their thread", "[traces]") {
  // Only begins have a category and a name; a call, which says nothing, lies in the forward.
  const Folder folder;
  const auto begin = [](const char* category, const char* name, int time) {
    return fmt::format(R"({{"ph": "B", "cat": "{}", "name": "{}", "pid": 9, "tid": 9, "ts": {}}})", category,
                       name, time);
  };
  const auto end = [](int time) {
    return fmt::format(R"({{"ph": "E", "pid": 9, "tid": 9, "ts": {}}})", time);
  };
  const auto text = [](const std::vector<std::string>& events) { return kineto_text(0, events); };
  const std::vector<std::string> events = {begin("user_annotation", "PP:0F0", 1),
                                           begin("cpu_op", "aten::mm", 2),
                                           end(3),
                                           end(5),
                                           begin("user_annotation", "PP:0B0", 6),
                                           end(9)};
  const std::string path = folder.put("rank0.json", text(events));
  CHECK(text_of_times(read(path).timeline, 0) == "0F0 0-4, 0B0 5-8");
}

TEST_CASE("ranges that never end are given up, and those that follow are read", "[traces]") {
  // 600 begins without an end, of which 512 may be open: 88 are given up, and one more as the forward begins.
  const Folder folder;
  const auto edge = [](const char* phase, const char* name, int time) {
    return fmt::format(
        R"({{"ph": "{}", "cat": "user_annotation", "name": "{}", "pid": 9, "tid": 9, "ts": {}}})", phase,
        name, time);
  };
  std::vector<std::string> events(600, edge("B", "data loader", 0));
  for (const std::string& one :
       {edge("B", "PP:0F0", 1), edge("E", "PP:0F0", 5), edge("B", "PP:0B0", 6), edge("E", "PP:0B0", 9)})
    events.push_back(one);
  const TraceRun run = read(folder.put("rank0.json", kineto_text(0, events)));
  CHECK(text_of_times(run.timeline, 0) == "0F0 0-4, 0B0 5-8");
  CHECK(std::ranges::any_of(run.warnings, [](const std::string& warning) {
    return has(warning, "89 events are damaged and were left out");
  }));
}

TEST_CASE("all begins of a file may come before all ends, however many", "[traces]") {
  // 2,000 ops: more than may be open at once in the order of time.
  const Folder folder;
  std::vector<std::string> begins;
  std::vector<std::string> ends;
  for (int microbatch = 0; microbatch < 1000; ++microbatch)
    for (const char kind : {'F', 'B'}) {
      const int start = 20 * microbatch + (kind == 'F' ? 0 : 10);
      const auto edge = [&](const char* phase, int time) {
        return fmt::format(
            R"({{"ph": "{}", "cat": "user_annotation", "name": "PP:0{}{}", "pid": 9, "tid": 9, "ts": {}}})",
            phase, kind, microbatch, time);
      };
      begins.push_back(edge("B", start));
      ends.push_back(edge("E", start + 8));
    }
  begins.insert(begins.end(), ends.begin(), ends.end());
  const Timeline timeline = read(folder.put("rank0.json", kineto_text(0, begins))).timeline;
  REQUIRE(timeline.start.size() == 2000);
  for (std::size_t op = 0; op < timeline.start.size(); ++op)
    if (timeline.end[op] - timeline.start[op] != 8 * kMicrosecond) FAIL_CHECK(op);
  CHECK(timeline.end.back() - timeline.start.front() == (20 * 999 + 10 + 8) * kMicrosecond);
}

TEST_CASE("threads without names are ranks where each runs stages of its own", "[traces]") {
  const Folder folder;
  const auto range = [](int thread, const char* name, int start, int length) {
    return fmt::format(R"({{"ph": "X", "name": "PP:{}", "pid": 7, "tid": {}, "ts": {}, "dur": {}}})", name,
                       thread, start, length);
  };
  const std::string path = folder.put(
      "all.json", fmt::format("[{}, {}, {}, {}]", range(31, "1F0", 11, 10), range(44, "0F0", 0, 10),
                              range(44, "0B0", 42, 20), range(31, "1B0", 21, 20)));
  const TraceRun run = read(path);
  CHECK(run.ranks == std::vector<std::int32_t>{0, 1});
  CHECK(text_of_times(run.timeline, 0) == "0F0 0-10, 0B0 42-62");
  CHECK(text_of_times(run.timeline, 1) == "1F0 11-21, 1B0 21-41");
}

TEST_CASE("a stage that is missing may be in the part of a file that is not there", "[traces]") {
  const Folder folder;
  const auto range = [](int process, const char* name, int start) {
    return fmt::format(R"({{"ph": "X", "name": "PP:{}", "pid": {}, "tid": 1, "ts": {}, "dur": 10}})", name,
                       process, start);
  };
  const std::string path =
      folder.put("all.json", fmt::format("[{}, {}, {}, {{\"ph\": \"X\"", range(0, "0F0", 0),
                                         range(0, "0B0", 60), range(1, "2F0", 22)));
  CHECK(has(error_of([&] { (void)read(path); }),
            "stage 1 is missing; " + path + " ends before its text does: copy it again, or add the files"));
}

TEST_CASE("processes that nothing numbers are counted in the refusal", "[traces]") {
  const Folder folder;
  const std::string mapping =
      folder.put("map.json", R"({"ranges": [{"match": "F_{microbatch}", "kind": "F"}]})");
  const auto range = [](int process) {
    return fmt::format(R"({{"name": "F_0", "ph": "X", "ts": 1, "dur": 2, "pid": {}, "tid": 1}})", process);
  };
  const std::string path =
      folder.put("all.json", fmt::format(R"([{}, {}, {}])", range(501), range(77), range(903)));
  CHECK(has(error_of([&] { (void)read(path, {.from = {}, .mapping = mapping}); }),
            "it holds 3 processes with ops of a pipeline"));
}

TEST_CASE("names of one's own", "[traces]") {
  const auto parts = match_name("*/s{stage} {kind}?mb{microbatch}", "x/s1/s12 fwd-mb3");
  REQUIRE(parts);
  CHECK(parts->stage == 12);
  CHECK(parts->kind == "fwd");
  CHECK(parts->microbatch == 3);
  CHECK_FALSE(match_name("mb{microbatch}", "mb"));
  CHECK_FALSE(match_name("mb{microbatch}", "mb3x"));
  CHECK_FALSE(match_name("a*b", "ac"));
  CHECK(match_name("a*b*", "aXbYb"));

  const Folder folder;
  const std::string mapping = folder.put("map.json", R"({"chunks": "wave", "ranges": [
      {"match": "c{chunk} {kind} {microbatch}", "kind": {"fwd": "F", "bwd": "B"}}]})");
  const Timeline times = some_times("0F0 3F0 3B0 0B0 | 1F0 2F0 2B0 1B0", 1);
  for (const int rank : {0, 1}) {
    std::vector<std::string> events;
    for (const Op op : times.schedule->queue(Rank(rank))) {
      const std::size_t q = events.size();
      const std::size_t i = times.schedule->queue_begin(Rank(rank)) + q;
      events.push_back(
          event("gpu_user_annotation",
                fmt::format("c{} {} 0", op.stage().value() / 2, op.kind() == OpKind::Forward ? "fwd" : "bwd"),
                times.start_of(i), times.end_of(i) - times.start_of(i), static_cast<int>(q)));
    }
    folder.put(fmt::format("r{}.json", rank), kineto_text(rank, events));
  }
  std::filesystem::create_directory(folder.path() + "/maps");
  // Wave on 2 ranks: chunk 1 of rank 0 is stage 2 p - 1 - 0 = 3.
  require_equal(read(folder.path(), {.from = "kineto", .mapping = mapping}).timeline, times);

  const auto refuse = [&folder](const std::string& text) {
    return error_of([&] { RangeNames{folder.put("bad.json", text)}; });
  };
  CHECK(has(refuse("{}"), "list \"ranges\""));
  CHECK(has(refuse(R"({"ranges": [{"match": "a"}]})"), "needs match and kind"));
  CHECK(has(refuse(R"({"ranges": [{"match": "a", "kind": "X"}]})"), "kind is"));
  CHECK(has(refuse(R"({"ranges": [{"match": "{stag}", "kind": "F"}]})"), "part of match"));
  CHECK(has(refuse(R"({"ranges": [{"match": "{kind}", "kind": "F"}]})"), "must say what it stands for"));
}

TEST_CASE("the mapping of the page for DeepSpeed's instructions", "[traces]") {
  std::ifstream page_file(PIPELOOM_SOURCE_DIR "/docs/measured-runs.md");
  const std::string page{std::istreambuf_iterator<char>(page_file), {}};
  const std::size_t at = page.rfind("```json", page.find("\"pipe forward\", \"kind\""));
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + std::string_view("```json").size();
  const Folder folder;
  const std::string mapping = folder.put("names.map", page.substr(begin, page.find("```", begin) - begin));
  const Timeline times = some_times(kOrders, 2);
  for (const int rank : {0, 1}) {
    std::vector<std::string> events;
    for (int step = 0; step < times.steps; ++step) {
      events.push_back(event("user_annotation", fmt::format("train_batch {}", step + 4),
                             step * 1000 * kMicrosecond, 900 * kMicrosecond, step + 1, 1));
      for (std::size_t i = times.schedule->queue_begin(Rank(rank)); i < times.schedule->queue_end(Rank(rank));
           ++i) {
        const bool forward = times.schedule->ops()[i].kind() == OpKind::Forward;
        events.push_back(event("user_annotation", forward ? "pipe forward" : "pipe backward",
                               times.start_of(i, step), times.end_of(i, step) - times.start_of(i, step),
                               100 + static_cast<int>(events.size()), 1));
      }
    }
    folder.put(fmt::format("r{}.json", rank), kineto_text(rank, events));
  }
  const TraceRun run = read(folder.path(), {.from = {}, .mapping = mapping});
  require_equal(run.timeline, times);
  CHECK(run.steps == std::vector<std::int32_t>{4, 5});
}

TEST_CASE("Megatron's times of chunks", "[traces]") {
  // Two chunks on two ranks: stage = 2 chunk + rank.
  const Timeline times = some_times("0F0 2F0 2B0 0B0 | 1F0 3F0 3B0 1B0", 1);
  const Folder folder;
  for (const int rank : {0, 1}) {
    std::vector<std::string> members;
    for (std::size_t i = times.schedule->queue_begin(Rank(rank)); i < times.schedule->queue_end(Rank(rank));
         ++i) {
      const Op op = times.schedule->ops()[i];
      const std::string name = fmt::format("{}-{}-0", op.kind() == OpKind::Forward ? "forward" : "backward",
                                           op.stage().value() / 2);
      members.push_back(fmt::format(R"("{}-start": {}, "{}-end": {})", name,
                                    format_ticks(times.start_of(i), TimeUnit::Millisecond), name,
                                    format_ticks(times.end_of(i), TimeUnit::Millisecond)));
    }
    const std::string text = fmt::format("{{{}}}", fmt::join(members, ", "));
    folder.put(fmt::format("event_times_PP2_VPP2_TPxCPxDP_rank_0_pp_rank_{0}_rank_{0}.json", rank), text);
    folder.put(fmt::format("event_times_PP2_VPP2_TPxCPxDP_rank_1_pp_rank_{0}_rank_{1}.json", rank, rank + 2),
               text);
  }
  const TraceRun run = read(folder.path());
  require_equal(run.timeline, times);
  std::filesystem::remove(folder.path() + "/event_times_PP2_VPP2_TPxCPxDP_rank_0_pp_rank_1_rank_1.json");
  CHECK(has(error_of([&] { (void)read(folder.path()); }), "rank 1 is missing"));
}

TEST_CASE("Primus' lists in Megatron's order of chunks", "[traces]") {
  // Two ranks, two chunks, groups of two microbatches: forwards of chunk 0, of chunk 1; backwards of chunk 1, of chunk 0.
  const Timeline times = some_times("0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1 | 1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1", 1);
  const Folder folder;
  folder.put("config.json", R"({"pp_size": 2, "vp_size": 2, "num_mbs": 2})");
  for (const int rank : {0, 1}) {
    std::vector<std::string> lists[4];
    for (std::size_t i = times.schedule->queue_begin(Rank(rank)); i < times.schedule->queue_end(Rank(rank));
         ++i) {
      const std::size_t at = times.schedule->ops()[i].kind() == OpKind::Forward ? 0 : 2;
      lists[at].push_back(format_ticks(times.start_of(i), TimeUnit::Millisecond));
      lists[at + 1].push_back(format_ticks(times.end_of(i), TimeUnit::Millisecond));
    }
    const std::string step = fmt::format(
        R"({{"total": 1.0, "memory": 2.5, "fwd_start": [{}], "fwd_end": [{}], "bwd_start": [{}], "bwd_end": [{}]}})",
        fmt::join(lists[0], ","), fmt::join(lists[1], ","), fmt::join(lists[2], ","),
        fmt::join(lists[3], ","));
    folder.put(fmt::format("pp_rank_{}.json", rank), fmt::format(R"({{"1": {}, "2": {}}})", step, step));
  }
  const TraceRun run = read(folder.path());
  REQUIRE(*run.timeline.schedule == *times.schedule);
  REQUIRE(run.timeline.steps == 2);
  for (std::size_t i = 0; i < times.start.size(); ++i) {
    CHECK(run.timeline.start_of(i) == times.start[i]);
    // The clocks start anew: the second step is laid behind the last op of the first, 7 * 10 + 3 + 7.125 us.
    CHECK(run.timeline.start_of(i, 1) == times.start[i] + 80 * kMicrosecond + kMicrosecond / 8);
  }
}

TEST_CASE("a rank's number in a file's name", "[traces]") {
  CHECK(number_in_name("rank9/pp_rank_3.json", "rank") == 3);
  CHECK(number_in_name("x/rank12_trace.json", "rank") == 12);
  CHECK(number_in_name("event_pp_rank_1_rank_7.json", "pp_rank") == 1);
  CHECK_FALSE(number_in_name("rank3/trace.json", "rank"));
  CHECK_FALSE(number_in_name("rank.json", "rank"));
}

}  // namespace trace_test
