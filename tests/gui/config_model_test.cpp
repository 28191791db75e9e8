#include "gui/model/edit/config_model.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"
#include "sim/io/json/file.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/input.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace config_model_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

Ticks makespan(const Session& session) {
  REQUIRE(session.active_run() != nullptr);
  return session.active_run()->metrics->makespan;
}

bool is_legal(const Assignments& assignments) {
  try {
    return study::evaluate(config_of(assignments)).metrics->makespan > 0;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> labels_of(const std::vector<Fix>& fixes) {
  std::vector<std::string> labels;
  for (const Fix& fix : fixes) labels.push_back(fix.label);
  return labels;
}

/// As a shell takes a line of words apart, of which some are in single quotes.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words = {""};
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\'')
      quoted = !quoted;
    else if (line[i] == '\\' && !quoted)
      words.back() += line[++i];
    else if (line[i] == ' ' && !quoted)
      words.emplace_back();
    else
      words.back() += line[i];
  }
  return words;
}

/// What `pipeloom simulate` reads of a line.
io::Config read_line(const std::string& line) {
  const auto words = shell_words(line);
  Request texts;
  REQUIRE(words.size() % 2 == 0);
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (words[i] == "--set")
      texts.set.push_back(value);
    else if (words[i] == "--schedule")
      texts.schedule = value;
    else if (words[i] == "--ranks")
      texts.ranks = value;
    else if (words[i] == "--microbatches")
      texts.microbatches = value;
    else if (words[i] == "--chunks")
      texts.chunks = value;
    else
      FAIL("unknown option " << words[i]);
  }
  return study::read_input(texts).config;
}

constexpr Ticks kUnit = 1'000'000'000;

}  // namespace

TEST_CASE("the first start shows an example") {
  Session session;
  (void)session.part<ConfigModel>();
  settle(session);
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].live);
  CHECK(makespan(session) == (8 + 4 - 1) * 3 * kUnit);  // (m + p - 1)(F + B)
}

TEST_CASE("an edit is simulated, undone and redone") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  run_command(session, "set", "ranks 8");
  settle(session);
  CHECK(makespan(session) == (8 + 8 - 1) * 3 * kUnit);
  run_command(session, "undo");
  settle(session);
  CHECK(makespan(session) == (8 + 4 - 1) * 3 * kUnit);
  run_command(session, "redo");
  settle(session);
  CHECK(makespan(session) == (8 + 8 - 1) * 3 * kUnit);
  CHECK(config.value("ranks") == "8");
}

TEST_CASE("an order that is found follows its costs and its limit") {
  Session session;
  (void)session.part<ConfigModel>();
  run_command(session, "set", "schedule zb-auto");
  settle(session);
  const Schedule at_first = *session.runs.front().run->schedule;
  CHECK(session.runs.front().run->metrics->max_window == (3 * 8 + 4 - 1) * kUnit);  // max(3m + p - 1, ..) F
  run_command(session, "set", "options.memory_limit.microbatches 8");
  settle(session);
  CHECK(session.runs.front().run->metrics->max_window == 3 * 8 * kUnit);  // k = 2p: the work alone
  CHECK_FALSE(*session.runs.front().run->schedule == at_first);
  run_command(session, "reset", "options.memory_limit.microbatches");
  settle(session);
  CHECK(*session.runs.front().run->schedule == at_first);
  run_command(session, "set", "costs.forward 1");
  run_command(session, "set", "costs.backward_input 2");
  run_command(session, "set", "costs.backward_weight 0.5");
  settle(session);
  CHECK_FALSE(*session.runs.front().run->schedule == at_first);
}

TEST_CASE("a drag is one step of undo") {
  Session session;
  auto& config = session.part<ConfigModel>();
  for (const char* value : {"9", "10", "11"}) config.set(session, "microbatches", value);
  config.set(session, "ranks", "5");
  config.undo(session);
  CHECK(config.value("microbatches") == "11");
  config.undo(session);
  CHECK(config.value("microbatches") == "8");
  CHECK_FALSE(config.can_undo());
  settle(session);
}

TEST_CASE("what is refused says why, offers what is legal, and leaves the picture") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "schedule", "dualpipe");
  config.set(session, "microbatches", "20");
  settle(session);
  const auto shown = session.active_run()->id;
  config.set(session, "ranks", "5");  // DualPipe needs an even number
  settle(session);
  CHECK(session.active_run()->id == shown);
  CHECK(config.problem().find("even") != std::string::npos);
  REQUIRE_FALSE(config.fixes().empty());
  for (const Fix& fix : config.fixes()) {
    CAPTURE(fix.label);
    CHECK(is_legal(with_fix(config.assignments(), fix)));
  }
  CHECK(std::any_of(config.fixes().begin(), config.fixes().end(),
                    [](const Fix& fix) { return fix.label == "ranks 6" || fix.label == "ranks 4"; }));
}

TEST_CASE("values that are no values are refused with their key") {
  Session session;
  auto& config = session.part<ConfigModel>();
  run_command(session, "set", "rankz 8");
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("ranks") != std::string::npos);
  run_command(session, "set", "ranks many");
  settle(session);
  CHECK(config.problem().find("ranks") != std::string::npos);
}

TEST_CASE("every value that is refused is known, with its text, and the picture is outdated until none is") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  CHECK_FALSE(config.outdated());
  run_command(session, "set", "ranks 3.5");
  run_command(session, "set", "costs.forward -1");
  settle(session);
  CHECK(config.outdated());
  REQUIRE(config.refusals().size() == 2);
  REQUIRE(config.refusal_of(*io::find_config_key("ranks")) != nullptr);
  CHECK(config.refusal_of(*io::find_config_key("costs.forward")) != nullptr);
  CHECK(config.refusal_of(*io::find_config_key("microbatches")) == nullptr);
  CHECK(config.value("ranks") == "3.5");
  CHECK(config.value("costs.forward") == "-1");
  run_command(session, "set", "ranks 1e1");
  run_command(session, "set", "costs.forward 1");
  settle(session);
  CHECK(config.refusals().empty());
  CHECK_FALSE(config.outdated());
  CHECK(config.value("ranks") == "10");
  CHECK(session.runs[0].run->ranks() == 10);
  // Where each value is legal by itself, none of them is to blame.
  run_command(session, "set", "schedule dualpipe");
  run_command(session, "set", "ranks 5");
  settle(session);
  CHECK_FALSE(config.problem().empty());
  CHECK(config.refusals().empty());
}

TEST_CASE("a configuration is the same as assignments, text and command line") {
  const io::Document document = io::Document::parse(
      R"({"schedule": "zb-h1", "ranks": 4, "microbatches": 8,
          "costs": {"time_unit": "ms", "forward": [1, 2, 1, 1.250], "transfer": {"latency": 0.1}}})",
      "test");
  const Assignments assignments = assignments_of(document.root());
  CHECK(assignments.at("schedule") == "\"zb-h1\"");
  CHECK(assignments.at("costs.forward") == "[1,2,1,1.250]");
  CHECK(assignments.at("costs.transfer.latency") == "0.1");
  const io::Document again = io::Document::parse(config_text(assignments), "again");
  CHECK(config_of(assignments_of(again.root())).costs.transfer.link.latency ==
        config_of(assignments).costs.transfer.link.latency);
  CHECK(command_line(assignments) ==
        "pipeloom simulate --schedule zb-h1 --ranks 4 --microbatches 8 --set costs.time_unit=ms "
        "--set 'costs.forward=[1,2,1,1.250]' --set costs.transfer.latency=0.1");
}

TEST_CASE("one stage's cost is set in its array") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "costs.backward", "[2, 2, 2, 2]");
  config.set(session, "costs.backward.3", "2.5");
  CHECK(config.value("costs.backward") == "[2,2,2,2.5]");
  config.reset(session, "costs.backward");
  CHECK_FALSE(config.is_set("costs.backward"));
  settle(session);
}

TEST_CASE("a saved configuration is loaded again as it was") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "ranks", "6");
  CHECK(config.unsaved());
  std::string folder = (std::filesystem::temp_directory_path() / "pipeloom_XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/run.json";
  config.save(session, path);
  CHECK_FALSE(config.unsaved());
  config.set(session, "ranks", "7");
  config.load(session, path, io::read_file(path));
  CHECK(config.value("ranks") == "6");
  CHECK(config.file() == path);
  settle(session);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a command line means the same run, and leaves out what is the default") {
  const Assignments plain = {{"schedule", "\"1f1b\""},
                             {"ranks", "4"},
                             {"microbatches", "8"},
                             {"costs.per", "\"stage\""},
                             {"costs.transfer.latency", "0"}};
  CHECK(command_line(plain) == "pipeloom simulate --schedule 1f1b --ranks 4 --microbatches 8");
  const std::vector<Assignments> runs = {plain,
                                         {{"schedule", "\"interleaved-1f1b\""},
                                          {"ranks", "4"},
                                          {"microbatches", "8"},
                                          {"chunks", "3"},
                                          {"options.group_size", "4"},
                                          {"costs.forward", "1.25"},
                                          {"costs.backward", "[2,2,2,2,2,2,2,2,2,2,2,2.125]"},
                                          {"costs.rank_scale", "[1,1.5,1,1]"}},
                                         {{"schedule", "\"zb-h1\""},
                                          {"ranks", "4"},
                                          {"microbatches", "8"},
                                          {"costs.forward", "1"},
                                          {"costs.backward_input", "1"},
                                          {"costs.backward_weight", "{\"default\":1,\"stages\":{\"3\":0.5}}"},
                                          {"costs.transfer.latency", "0.1"},
                                          {"options.recompute", "{\"keep\":1}"},
                                          {"step.count", "2"}}};
  for (const Assignments& run : runs) {
    CAPTURE(command_line(run));
    const Run here = study::evaluate(config_of(run));
    const Run there = study::evaluate(read_line(command_line(run)));
    CHECK(there.metrics->makespan == here.metrics->makespan);
    CHECK(there.metrics->ranks[0].memory.peak_bytes == here.metrics->ranks[0].memory.peak_bytes);
    CHECK(there.schedule->num_ops() == here.schedule->num_ops());
  }
}

TEST_CASE("where no single number helps, ranks and microbatches are offered together") {
  // DualPipe wants an even p and an even m >= 2 p - 2: 5 and 7 are both wrong.
  const Assignments run = {{"schedule", "\"dualpipe\""}, {"ranks", "5"}, {"microbatches", "7"}};
  const std::vector<Fix> fixes = find_fixes(run);
  CHECK(labels_of(fixes) == std::vector<std::string>{"ranks 6, microbatches 10", "ranks 4, microbatches 8"});
  for (const Fix& fix : fixes) CHECK(is_legal(with_fix(run, fix)));
}

TEST_CASE("tables that do not fit the shape are fitted, with the last entry repeated") {
  const Assignments run = {{"schedule", "\"1f1b\""}, {"ranks", "4"},
                           {"microbatches", "8"},    {"costs.forward", "[1, 1, 2]"},
                           {"costs.backward", "2"},  {"costs.rank_scale", "[1, 1.5, 1, 1, 2]"}};
  const std::vector<Fix> fixes = find_fixes(run);
  REQUIRE(labels_of(fixes) == std::vector<std::string>{"fit costs.forward, costs.rank_scale"});
  const Assignments fitted = with_fix(run, fixes.front());
  CHECK(fitted.at("costs.forward") == "[1,1,2,2]");
  CHECK(fitted.at("costs.rank_scale") == "[1,1.5,1,1]");
  CHECK(is_legal(fitted));
}

TEST_CASE("options of another schedule and values that are none may be left out") {
  const Assignments foreign = {{"schedule", "\"1f1b\""},
                               {"ranks", "4"},
                               {"microbatches", "8"},
                               {"options.group_size", "4"},
                               {"options.waves", "2"}};
  CHECK(labels_of(find_fixes(foreign)) ==
        std::vector<std::string>{"leave out options.group_size, options.waves"});
  Assignments wrong = foreign;
  wrong.erase("options.waves");
  wrong.erase("options.group_size");
  CHECK(find_fixes(wrong).empty());  // nothing is wrong with it
  wrong["costs.forward"] = "\"much\"";
  CHECK(labels_of(find_fixes(wrong)) == std::vector<std::string>{"leave out costs.forward"});
}

TEST_CASE("a suggestion is taken as one step, by number") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "schedule", "dualpipe");
  config.set(session, "microbatches", "7");
  config.set(session, "ranks", "5");
  settle(session);
  REQUIRE(config.fixes().size() == 2);
  run_command(session, "take-fix", "3");
  CHECK(session.message.kind == MessageKind::Problem);
  run_command(session, "take-fix", "2");
  settle(session);
  CHECK(config.problem().empty());
  CHECK(config.value("ranks") == "4");
  CHECK(config.value("microbatches") == "8");
  config.undo(session);
  CHECK(config.value("ranks") == "5");
  CHECK(config.value("microbatches") == "7");
  settle(session);
}

TEST_CASE("keys inside an object are read and reset one by one") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "options.recompute.keep", "1");
  CHECK(config.value("options.recompute.keep") == "1");
  CHECK(config.is_set("options.recompute.keep"));
  config.reset(session, "options.recompute.keep");
  CHECK_FALSE(config.is_set("options.recompute.keep"));
  CHECK_FALSE(config.is_set("options.recompute"));
  settle(session);
}

TEST_CASE("a new configuration is the example, undo brings the old one back") {
  Session session;
  auto& config = session.part<ConfigModel>();
  run_command(session, "set", "ranks 12");
  run_command(session, "new-configuration");
  CHECK(config.value("ranks") == "4");
  CHECK_FALSE(config.unsaved());
  run_command(session, "undo");
  CHECK(config.value("ranks") == "12");
  settle(session);
}

TEST_CASE("every ready configuration is read, simulated and written as it was") {
  Session session;
  auto& config = session.part<ConfigModel>();
  for (const std::string name : {"showcase", "seed/dualpipe", "family/6.2b-v-zb"}) {
    CAPTURE(name);
    REQUIRE(std::ranges::count(preset_names(), name) == 1);
    config.load_preset(session, name);
    const Assignments loaded = config.assignments();
    CHECK(assignments_of(io::Document::parse(config_text(loaded), name).root()) == loaded);
    settle(session);
    CHECK(config.problem().empty());
  }
}

TEST_CASE("times and sizes are set with their units, alone and for each stage") {
  CHECK(array_of("1.5", 2) == "[1.5,1.5]");
  CHECK(array_of("23.6ms", 2) == R"(["23.6ms","23.6ms"])");
  CHECK(array_of("", 3) == "[1,1,1]");
  Session session;
  auto& config = session.part<ConfigModel>();
  run_command(session, "set", "costs.forward 23.6ms");
  run_command(session, "set", "costs.backward 47.2 ms");
  settle(session);
  CHECK(config.problem().empty());
  CHECK(session.runs[0].run->timeline.unit == TimeUnit::Millisecond);
  CHECK(makespan(session) == (8 + 4 - 1) * 70'800'000'000);  // 70.8 ms in ps
  CHECK(config.value("costs.forward") == "23.6ms");
  run_command(session, "set", "costs.forward " + array_of(config.value("costs.forward"), 4));
  run_command(session, "set", "costs.forward.1 20ms");
  run_command(session, "set", "memory.activation_bytes 2GB");
  run_command(session, "set", "memory.limit_bytes 75GiB");
  settle(session);
  CHECK(config.problem().empty());
  CHECK(config.value("costs.forward") == R"(["23.6ms","20ms","23.6ms","23.6ms"])");
  CHECK(session.runs[0].run->memory->limit_of(Rank(0)) == Bytes{75} << 30);
}

TEST_CASE("why a configuration is refused is said until it is not any more") {
  Session session;
  (void)session.part<ConfigModel>();
  run_command(session, "set", "schedule dualpipe");
  run_command(session, "set", "microbatches 20");
  run_command(session, "set", "ranks 5");
  settle(session);
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("even") != std::string::npos);
  run_command(session, "set", "ranks 6");
  settle(session);
  CHECK(session.message.text.empty());
}

TEST_CASE("a run too large for the window is refused at once, and what was on screen stays") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  run_command(session, "set", "ranks 1048576");
  settle(session);
  CHECK(config.problem().find("the window shows up to") != std::string::npos);
  CHECK(session.message.kind == MessageKind::Problem);
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].run->ranks() == 4);
}

TEST_CASE("a simulation that is stopped leaves the picture as it was") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  run_command(session, "stop");
  CHECK(session.message.text == "nothing is being computed");
  std::atomic<bool> go = false;
  session.jobs.submit("in front", [&](const Cancelled&) -> Jobs::Finish {
    while (!go) std::this_thread::yield();
    return {};
  });
  run_command(session, "set", "ranks 6");
  CHECK(config.pending());
  run_command(session, "stop");
  CHECK_FALSE(config.pending());
  go = true;
  settle(session);
  CHECK(session.runs[0].run->ranks() == 4);
  CHECK(config.value("ranks") == "6");
  run_command(session, "set", "ranks 5");
  settle(session);
  CHECK(session.runs[0].run->ranks() == 5);
}

TEST_CASE("steps of a count pass over what the schedule refuses") {
  // DualPipe wants even ranks, even microbatches, and of the latter 2 p - 2 = 6 at least.
  const Assignments dual = {{"schedule", "\"dualpipe\""}, {"ranks", "4"}, {"microbatches", "8"}};
  CHECK(next_taken(dual, "microbatches", 8, 1, 1, 1024) == 10);
  CHECK(next_taken(dual, "microbatches", 8, -1, 1, 1024) == 6);
  CHECK(next_taken(dual, "microbatches", 6, -1, 1, 1024) ==
        5);  // nothing smaller is taken: the next, which says why
  CHECK(next_taken(dual, "ranks", 4, -1, 1, 256) == 2);
  // 6 ranks want 10 microbatches: with 8 no larger number of ranks is taken.
  CHECK(next_taken(dual, "ranks", 4, 1, 1, 256) == 5);
  const Assignments plain = {{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}};
  CHECK(next_taken(plain, "microbatches", 8, 1, 1, 1024) == 9);
  CHECK(next_taken(plain, "microbatches", 8, 1, 1, 8) == 8);
}

TEST_CASE("saving without a file asks for one") {
  Session session;
  (void)session.part<ConfigModel>();
  REQUIRE(run_command(session, "save-configuration"));
  CHECK(session.part<PaletteModel>().is_open());
  CHECK(session.part<PaletteModel>().typed() == "save-configuration ");
}

}  // namespace config_model_test
