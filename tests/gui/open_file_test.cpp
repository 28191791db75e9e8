#include "gui/model/files/open_file.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gui/model/answer/answer.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/session.hpp"
#include "support/catch.hpp"
#include "support/trace_files.hpp"

namespace open_file_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

constexpr Ticks kOne = 1'000'000'000;
constexpr Ticks kMicro = 1'000'000;

constexpr const char* kTimeline =
    R"({"rank":0,"op":"0F0","start":0.0,"end":1.0}
{"rank":0,"op":"0B0","start":4.0,"end":6.5}
{"rank":1,"op":"1F0","start":1.0,"end":2.0}
{"rank":1,"op":"1B0","start":2.0,"end":4.0}
)";

OpenedFile require_run(const std::string& text, const std::string& path) {
  OpenedFile opened = read_run_text(text, path);
  INFO(opened.problem);
  REQUIRE(opened.kind == OpenedFile::Kind::Run);
  REQUIRE(opened.run);
  CHECK(opened.run->file == path);
  return opened;
}

/// A file that goes away with the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_("open_file_test." + std::to_string(::getpid()) + "." + name) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void wait_idle(Session& session) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!session.idle() && std::chrono::steady_clock::now() < limit) {
    session.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  session.update();
}

}  // namespace

TEST_CASE("schedule files become simulated runs", "[open]") {
  // F 1, B 2 on two ranks: 1 + 1 + 2 + 2.
  const auto json = require_run(R"({"orders": [["0F0", "0B0"], ["1F0", "1B0"]]})", "dir/two.json");
  CHECK(json.run->title == "two.json");
  CHECK(json.run->source == RunSource::ScheduleFile);
  CHECK(json.run->span() == Span{0, 6 * kOne});
  const auto csv = require_run("0F0,0B0\r\n1F0,1B0\r\n", "two.csv");
  CHECK(csv.run->metrics->makespan == 6 * kOne);
  // With messages: the computations of the lowered form.
  const auto comms =
      require_run("0F0,0SEND_F0,0RECV_B0,0B0\r\n1RECV_F0,1F0,1B0,1SEND_B0\r\n", "two_comms.csv");
  CHECK(comms.run->metrics->makespan == 6 * kOne);
}

TEST_CASE("a schedule file that hangs becomes the run up to there", "[open]") {
  const auto opened = require_run("0F0,0B0,0F1,0B1\r\n1F1,1F0,1B0,1B1\r\n", "stuck.csv");
  REQUIRE(opened.run->hang);
  CHECK(opened.run->hang->lines.size() == 2);
  CHECK(opened.run->schedule->num_ops() == 1);
}

TEST_CASE("a timeline becomes a run with its times", "[open]") {
  const auto opened = require_run(kTimeline, "measured.jsonl");
  CHECK(opened.run->source == RunSource::TimelineFile);
  CHECK(opened.run->span() == Span{0, 6 * kOne + kOne / 2});
  CHECK(opened.run->ranks() == 2);
}

TEST_CASE("a configuration is simulated, or read for whoever simulates it", "[open]") {
  const std::string text = R"({"schedule": "gpipe", "ranks": 2, "microbatches": 3})";
  const auto opened = read_run_text(text, "run.json");
  CHECK(opened.kind == OpenedFile::Kind::Configuration);
  REQUIRE(opened.run);
  CHECK(opened.run->title == "gpipe p=2 m=3");
  CHECK(opened.run->span().length() == 4 * 3 * kOne);  // (m + p - 1)(F + B)
  const auto read = read_run_text(text, "run.json", Configurations::Read);
  CHECK(read.kind == OpenedFile::Kind::Configuration);
  CHECK(read.run == nullptr);
  CHECK(read.text == text);
}

TEST_CASE("what is wrong with a file is one line with its place", "[open]") {
  const auto problem = [](const std::string& text, const std::string& path) {
    const OpenedFile opened = read_run_text(text, path);
    CHECK(opened.kind == OpenedFile::Kind::Problem);
    CHECK(opened.run == nullptr);
    return opened.problem;
  };
  CHECK(problem("0F0,0F0,0B0\r\n1F0,1B0\r\n", "twice.csv").starts_with("twice.csv:1:5: error: "));
  CHECK(problem("{\"schedule\": \"1f1b\", \"rank\": 4}", "typo.json").starts_with("typo.json:1:22: error: "));
  CHECK(problem("{\"schedule\": ", "cut.json").starts_with("cut.json:1:"));
  CHECK(problem("", "empty.csv").find("empty.csv") == 0);
  CHECK(read_run_file("no/such/file.json").problem.find("no/such/file.json") != std::string::npos);
}

TEST_CASE("opening shows the run, a problem leaves what was there", "[open]") {
  const TemporaryFile csv("two.csv", "0F0,0B0\r\n1F0,1B0\r\n");
  const TemporaryFile timeline("measured.jsonl", kTimeline);
  Session session;
  open_path(session, csv.path(), false);
  CHECK(session.runs.empty());  // not before the job is done
  wait_idle(session);
  REQUIRE(session.runs.size() == 1);
  const auto first = session.runs[0].run->id;

  open_path(session, timeline.path(), true);
  wait_idle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[0].run->id == first);
  CHECK(session.runs[1].compared);

  open_path(session, "no/such/file.json", false);
  wait_idle(session);
  CHECK(session.runs.size() == 2);
  CHECK(session.message.kind == MessageKind::Problem);

  // Once more: in its place.
  open_path(session, csv.path(), false);
  wait_idle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[0].run->id != first);
  CHECK(session.runs[0].run->file == csv.path());
}

TEST_CASE("a timeline that says no unit is in that of the runs it is opened beside", "[open]") {
  const TemporaryFile config(
      "run.json",
      R"({"schedule": "gpipe", "ranks": 2, "microbatches": 1, "costs": {"time_unit": "us", "forward": 1, "backward": 2}})");
  const TemporaryFile timeline("measured.jsonl", kTimeline);
  Session session;
  session.part<FileOpener>().open_named({config.path(), timeline.path()});
  wait_idle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[1].run->timeline.unit == TimeUnit::Microsecond);
  CHECK(session.runs[1].run->span().length() == 6'500'000);  // 6.5 us of 1e6 ticks each
  // Alone it is in abstract units.
  Session alone;
  open_path(alone, timeline.path(), false);
  wait_idle(alone);
  REQUIRE(alone.runs.size() == 1);
  CHECK(alone.runs[0].run->timeline.unit == TimeUnit::Unit);
  // Read again it is not asked for its own unit.
  open_path(alone, timeline.path(), false);
  wait_idle(alone);
  CHECK(alone.runs[0].run->timeline.unit == TimeUnit::Unit);
}

TEST_CASE("a trace opens as one run, from its folder or the file of a rank", "[open]") {
  const Timeline times = test::simulated_times("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1", 2);
  const test::TraceFolder folder("open_file_test");
  test::write_trace("kineto", folder, times, {.has_messages = true});
  for (const std::string& path : {folder.path(), folder.path() + "/", folder.file("rank1.json")}) {
    INFO(path);
    const OpenedFile opened = read_run_file(path);
    INFO(opened.problem);
    REQUIRE(opened.run);
    CHECK(*opened.run->schedule == *times.schedule);
    CHECK(opened.run->timeline.start == times.start);
    CHECK(opened.run->title == std::filesystem::path(folder.path()).filename().string());
    // Two microbatches, there and back; those of the second step are not drawn.
    REQUIRE(opened.run->message_bars.size() == 4);
    CHECK(opened.run->message_bars.front().start == times.end_of(0));
    CHECK(opened.run->message_bars.front().end == times.end_of(0) + test::kTraceLatency);
    REQUIRE(opened.run->message_track);
  }
  Session session;
  session.part<FileOpener>().open_named({folder.file("rank0.json"), folder.file("rank1.json")});
  wait_idle(session);
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].run->file == folder.path());
  // One more of its files: the run in its place.
  open_path(session, folder.file("rank0.json"), true);
  wait_idle(session);
  CHECK(session.runs.size() == 1);
}

TEST_CASE("what is wrong with a trace is one line", "[open]") {
  const test::TraceFolder folder("open_file_test");
  test::write_trace("kineto", folder, test::simulated_times("0F0 0B0 | 1F0 1B0", 1), {.has_messages = true});
  std::filesystem::remove(folder.file("rank0.json"));
  const OpenedFile opened = read_run_file(folder.path());
  CHECK(opened.kind == OpenedFile::Kind::Problem);
  CHECK(opened.problem == folder.file("rank1.json") +
                              ": error: stage 0 is missing, and rank 0 has no file here; add the files of "
                              "the ranks that run them");
}

TEST_CASE("every format of traces opens as the run that it was written from", "[open]") {
  const std::string format = GENERATE("kineto", "megatron", "primus", "nsys", "straggler", "chrome");
  CAPTURE(format);
  const Timeline times = test::simulated_times("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1", 1);
  const test::TraceFolder folder("open_file_test");
  test::write_trace(format, folder, times);
  Session session;
  open_path(session, folder.path(), false);
  wait_idle(session);
  INFO(session.message.text);
  REQUIRE(session.runs.size() == 1);
  const RunModel& run = *session.runs[0].run;
  CHECK(*run.schedule == *times.schedule);
  CHECK(run.timeline.end == times.end);
  CHECK(run.partial.empty());
  CHECK(session.message.text == "opened " + folder.path());
}

/// Takes the end of a file away, from the first place behind `from` of its length on at which a line ends.
void cut(const std::string& path, double from) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  in.close();
  const auto at = text.find('\n', static_cast<std::size_t>(from * static_cast<double>(text.size())));
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text.substr(0, at);
}

TEST_CASE("a trace whose file ends early shows what is whole, and says which rank broke off where",
          "[open]") {
  const test::TraceFolder folder("open_file_test");
  test::write_trace("kineto", folder, test::simulated_times("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1", 2));
  // The second step of rank 1 lacks its last ops.
  cut(folder.file("rank1.json"), 0.85);
  Session session;
  open_path(session, folder.path(), false);
  wait_idle(session);
  INFO(session.message.text);
  REQUIRE(session.runs.size() == 1);
  const RunModel& run = *session.runs[0].run;
  CHECK(run.partial == "rank 1 ends early");
  CHECK_FALSE(run.cut);
  CHECK(run.timeline.steps == 1);
  CHECK(run.schedule->num_ops() == 8);
  CHECK(session.message.kind == MessageKind::Note);
  CHECK(session.message.text.find("rank1.json: the file ends before its text does, behind ") !=
        std::string::npos);
  CHECK(badge_text(run, nullptr).find("rank 1 ends early") != std::string::npos);
}

TEST_CASE("a trace without a whole step shows it as far as it was recorded", "[open]") {
  const test::TraceFolder folder("open_file_test");
  test::write_trace("kineto", folder, test::simulated_times("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1", 1));
  cut(folder.file("rank1.json"), 0.5);
  const OpenedFile opened = read_run_file(folder.path());
  INFO(opened.problem);
  REQUIRE(opened.run);
  CHECK(opened.run->cut);
  CHECK(opened.run->partial == "rank 1 ends early");
  // Rank 0 is whole, rank 1 has some of its four.
  CHECK(opened.run->schedule->queue(Rank(0)).size() == 4);
  const std::size_t rest = opened.run->schedule->queue(Rank(1)).size();
  CHECK(rest > 0);
  CHECK(rest < 4);
  // What part of it was idle means nothing.
  CHECK(answer_of(*opened.run).cut);
  CHECK(answer_of(*opened.run).incomplete == "Rank 1 ends early: the step is not whole.");
}

/// As DeepSpeed's instructions are called once they have names: nothing that says which op it is.
std::string unnamed_trace(int rank) {
  std::string text = R"({"schemaVersion": 1, "distributedInfo": {"rank": )" + std::to_string(rank) +
                     R"(}, "traceEvents": [)";
  const auto add = [&](const char* name, int start, int length) {
    text += std::string(text.back() == '[' ? "" : ",\n") +
            R"({"ph": "X", "cat": "user_annotation", "name": ")" + name + R"(", "pid": 0, "tid": 1, "ts": )" +
            std::to_string(start) + R"(, "dur": )" + std::to_string(length) + "}";
  };
  add("train_batch 3", 0, 100);
  add("pipe forward", 10 + 10 * rank, 10);
  add("pipe backward", rank == 0 ? 50 : 30, 20);
  return text + "]}";
}

TEST_CASE("a mapping that is opened says what the names of a trace mean", "[open]") {
  const test::TraceFolder folder("open_file_test");
  for (const int rank : {0, 1})
    std::ofstream(folder.file("rank" + std::to_string(rank) + ".json")) << unnamed_trace(rank);
  const TemporaryFile mapping("names.json", R"({"ranges": [{"match": "pipe forward", "kind": "F"},
      {"match": "pipe backward", "kind": "B"}, {"match": "train_batch {step}", "kind": "step"}]})");
  Session session;
  open_path(session, folder.path(), true);
  wait_idle(session);
  CHECK(session.runs.empty());
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("take --mapping FILE") != std::string::npos);
  // The trace that was refused is read again with it.
  open_path(session, mapping.path(), false);
  wait_idle(session);
  INFO(session.message.text);
  REQUIRE(session.runs.size() == 1);
  // 1F0 runs from 20 to 30 us, 0B0 from 50 to 70.
  CHECK(session.runs[0].run->schedule->num_ops() == 4);
  CHECK(session.runs[0].run->span().length() == 60 * kMicro);
  // Traces whose names are known need none, and open beside it.
  const test::TraceFolder known("open_file_test_known");
  test::write_trace("kineto", known, test::simulated_times("0F0 0B0 | 1F0 1B0", 1));
  open_path(session, known.path(), true);
  wait_idle(session);
  CHECK(session.runs.size() == 2);
  const TemporaryFile wrong("wrong.json", R"({"ranges": [{"match": "a", "kind": "X"}]})");
  CHECK(read_run_file(wrong.path()).problem.find("kind is") != std::string::npos);
}

TEST_CASE("a timeline of a run that failed is shown as far as it got, and marked", "[open]") {
  const OpenedFile opened = require_run(R"({"time_unit":"ms","partial":"rank 1 was killed"}
{"rank":0,"op":"0F0","start":0.0,"end":1.0}
{"rank":1,"op":"1F0","start":1.0,"end":2.0}
{"rank":1,"op":"1B0","start":2.0,"end":4.0}
)",
                                        "failed.jsonl");
  CHECK(opened.run->cut);
  CHECK(opened.run->partial == "the run failed");
  CHECK(opened.run->schedule->num_ops() == 3);
  CHECK(opened.run->warnings.at(0).find("rank 1 was killed") != std::string::npos);
}

TEST_CASE("files named together are stacked in the order given", "[open]") {
  const TemporaryFile csv("named.csv", "0F0,0B0\r\n1F0,1B0\r\n");
  const TemporaryFile config("named.json", R"({"schedule": "gpipe", "ranks": 2, "microbatches": 3})");
  const TemporaryFile second("second.json", R"({"schedule": "1f1b", "ranks": 3, "microbatches": 5})");
  const TemporaryFile timeline("named.jsonl", kTimeline);
  Session session;
  session.part<FileOpener>().open_named({csv.path(), config.path(), second.path(), timeline.path()});
  wait_idle(session);
  REQUIRE(session.runs.size() == 4);
  CHECK(session.runs[0].run->file == csv.path());
  CHECK(session.runs[1].run->file == config.path());
  CHECK(session.runs[2].run->file == second.path());
  CHECK(session.runs[3].run->file == timeline.path());
  // The first configuration is edited, the other one is there to be compared.
  CHECK(session.runs[1].live);
  CHECK_FALSE(session.runs[2].live);
  CHECK(session.runs[2].compared);
}

TEST_CASE("a configuration that the command line names is the one under edit", "[open]") {
  const TemporaryFile config("run.json", R"({"schedule": "gpipe", "ranks": 2, "microbatches": 3})");
  const bool panel_first = GENERATE(true, false);
  Session session;
  session.part<FileOpener>().open_named({config.path()});
  if (panel_first) (void)session.part<ConfigModel>();
  wait_idle(session);
  auto& model = session.part<ConfigModel>();
  CHECK(model.value("schedule") == "gpipe");
  CHECK(model.file() == config.path());
  CHECK_FALSE(model.unsaved());
  CHECK_FALSE(model.can_undo());  // there was nothing before it
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].live);
  CHECK(session.runs[0].run->title == "gpipe p=2 m=3");
}

TEST_CASE("a named configuration that is refused is under edit all the same", "[open]") {
  // Four stages, and costs of two.
  const TemporaryFile config(
      "refused.json", R"({"schedule": "1f1b", "ranks": 4, "microbatches": 4, "costs": {"forward": [1, 1]}})");
  Session session;
  session.part<FileOpener>().open_named({config.path()});
  wait_idle(session);
  CHECK(session.runs.empty());
  CHECK(session.part<ConfigModel>().value("costs.forward") == "[1,1]");
  CHECK_FALSE(session.part<ConfigModel>().problem().empty());
}

TEST_CASE("a file that is no configuration takes the place of the example", "[open]") {
  const TemporaryFile csv("above.csv", "0F0,0B0\r\n1F0,1B0\r\n");
  Session session;
  session.part<FileOpener>().open_named({csv.path(), "no/such/file.json"});
  auto& config = session.part<ConfigModel>();
  CHECK_FALSE(session.idle());
  wait_idle(session);
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].run->file == csv.path());
  CHECK(session.message.kind == MessageKind::Problem);
  // A number that is set brings the run under edit, below the file.
  config.set(session, "ranks", "6");
  wait_idle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[1].live);
}

TEST_CASE("a file leaves an example that was edited where it is", "[open]") {
  const TemporaryFile csv("beside.csv", "0F0,0B0\r\n1F0,1B0\r\n");
  Session session;
  auto& config = session.part<ConfigModel>();
  wait_idle(session);
  CHECK(config.is_example());
  CHECK(config.name() == "1f1b (example)");
  config.set(session, "ranks", "6");
  wait_idle(session);
  CHECK_FALSE(config.is_example());
  open_path(session, csv.path(), false);
  wait_idle(session);
  CHECK(session.runs.size() == 2);
}

}  // namespace open_file_test
