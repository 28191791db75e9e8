#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/io/json/json_value.hpp"
#include "support/catch.hpp"

namespace schedule_files_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

Schedule from_json(const std::string& text) {
  return read_schedule_json(Document::parse(text, "s").root());
}

template <class Read>
std::string error_of(const Read& read) {
  try {
    (void)read();
  } catch (const Error& error) {
    return error.line();
  }
  return "accepted";
}

std::string json_error(const std::string& text) {
  return error_of([&] { return from_json(text); });
}
std::string csv_error(const std::string& text) {
  return error_of([&] { return read_torch_csv(text, "s"); });
}

template <class Write>
std::string written(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

constexpr const char* kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";
constexpr const char* kGroups = "0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1";
/// Two replicas in opposite directions: microbatch 0 goes 0 -> 1, microbatch 1 goes 1 -> 0.
constexpr const char* kBothWays = "0F0 1F1 1B1 0B0 | 0F1 1F0 1B0 0B1";

}  // namespace

TEST_CASE("a schedule as JSON reads back as the same schedule") {
  for (const char* text : {kTwoRanks, kGroups, kBothWays}) {
    const Schedule schedule = parse_schedule(text);
    const std::string json = written([&](std::ostream& out) { write_schedule_json(out, schedule); });
    INFO(json);
    CHECK(from_json(json) == schedule);
  }
}

TEST_CASE("the documented schedule file") {
  const Schedule schedule = parse_schedule(kTwoRanks);
  CHECK(written([&](std::ostream& out) { write_schedule_json(out, schedule); }) ==
        "{\n"
        "  \"ranks\": 2,\n"
        "  \"stages\": 2,\n"
        "  \"microbatches\": 2,\n"
        "  \"placement\": [[0], [1]],\n"
        "  \"orders\": [\n"
        "    [\"0F0\", \"0F1\", \"0B0\", \"0B1\"],\n"
        "    [\"1F0\", \"1B0\", \"1F1\", \"1B1\"]\n"
        "  ]\n"
        "}\n");
}

TEST_CASE("orders alone are enough") {
  CHECK(from_json(R"({"orders": [["0F0", "0B0"], ["1F0", "1B0"]]})") == parse_schedule("0F0 0B0 | 1F0 1B0"));
}

TEST_CASE("a schedule file that contradicts itself gets one exact line") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "s:1:1: error: a schedule is an array of 0; it must be an object"},
      {"{}", "s:1:1: error: \"orders\" is missing; give one array of ops per rank"},
      {R"({"orders": 3})", "s:1:12: error: \"orders\" is 3; it must be an array"},
      {R"({"orders": []})", "s:1:12: error: the schedule has no ops; give at least one per rank"},
      {R"({"orders": [["0F0", 3]]})", "s:1:21: error: an entry of an order is 3; it must be a string"},
      {R"({"orders": [["0F0", "0X0"]]})",
       "s:1:21: error: '0X0' is no op; write <stage><F|B|I|W><microbatch> below 1048576, such as \"2F0\", or "
       "a group such as "
       "\"(0F1;1B0)OVERLAP_F_B\""},
      {R"({"orders": [["(0F0;0F0)OVERLAP"]]})",
       "s:1:14: error: the group has 0F0 twice; each op of a group stands once"},
      {R"({"ranks": 2, "orders": [["0F0"]]})",
       "s:1:11: error: \"ranks\" is 2, but \"orders\" has 1; correct one of them"},
      {R"({"ranks": 0, "orders": [["0F0"]]})",
       "s:1:11: error: \"ranks\" is 0; it must be a whole number from 1 to 1048576"},
      {R"({"microbatches": 1, "orders": [["0F0", "0F1"]]})",
       "s:1:18: error: \"microbatches\" is 1, but the orders have microbatch 1; correct one of them"},
      {R"({"stages": 3, "orders": [["0F0"]]})",
       "s:1:12: error: \"stages\" is 3, but the file shows 1 stages; correct one of them"},
      {R"({"placement": [[0]], "orders": [["0F0"], ["1F0"]]})",
       "s:1:15: error: \"placement\" has 1 ranks, but \"orders\" has 2; give each rank one list in both"},
      {R"({"placement": [[0, 2]], "orders": [["0F0"]]})",
       "s:1:15: error: \"placement\" puts stage 1 on no rank, though it has stage 2; list every stage"},
      {R"({"placement": [[0]], "orders": [["0F0", "1F0"]]})",
       "s:1:15: error: the orders have ops of stage 1, which \"placement\" puts on no rank; add it"},
      {R"({"placement": [[0, 1], [0]], "orders": [["0F0"], ["1F0"]]})",
       "s:1:15: error: \"placement\" and the orders put stage 0 on different ranks; correct one of them, or "
       "leave \"placement\" out"},
      {R"({"order": []})",
       "s:1:2: error: unknown key of a schedule 'order'; did you mean 'orders'? valid: ranks, stages, "
       "microbatches, placement, "
       "orders"},
      {R"({"orders": [["0F1048575", "1F0", "2F0", "3F0"]]})",
       "s:1:12: error: 4 stages and 1048576 microbatches need an op for each of 4194304 pairs, but there are "
       "only 4 ops; the "
       "file is incomplete or a number in it is wrong"},
  };
  for (const auto& [text, line] : cases) {
    INFO(text);
    const std::string got = json_error(text);
    // The core words some of these; what comes after its own beginning is its business.
    CHECK(got.substr(0, line.size()) == line);
  }
}

TEST_CASE("misplaced ops are left for validate to find") {
  CHECK_NOTHROW(from_json(R"({"placement": [[0], [1]], "orders": [["0F0", "1F0"], ["1B0", "0B0"]]})"));
}

TEST_CASE("PyTorch's form is written strictly and reads back") {
  const Schedule schedule = parse_schedule(kGroups);
  const std::string csv = written([&](std::ostream& out) { write_torch_csv(out, schedule); });
  CHECK(csv == "0F0,(0F1;0B0)OVERLAP_F_B,0B1\r\n1F0,1B0,1F1,1B1\r\n");
  CHECK(read_torch_csv(csv, "s").schedule == schedule);
}

TEST_CASE("bubbles, quoted blanks and missing line ends are dropped silently") {
  const TorchCsv csv = read_torch_csv(",,0F0,,0B0\r\n\"\",1F0,1B0", "s");
  CHECK(csv.schedule == parse_schedule("0F0 0B0 | 1F0 1B0"));
  CHECK(csv.warnings.empty());
}

TEST_CASE("what PyTorch passes over is read with a warning") {
  const TorchCsv csv = read_torch_csv("0F0, 00F01 ,0B0x,(0B1;)OVERLAP_F_B\n", "s");
  CHECK(csv.schedule == parse_schedule("0F0 0F1 0B0 0B1"));
  CHECK(csv.warnings == std::vector<std::string>{"s:1:5: ignored spaces in '00F01'",
                                                 "s:1:5: ignored leading zeros in '00F01'",
                                                 "s:1:5: ignored leading zeros in '00F01'",
                                                 "s:1:13: ignored 'x' after the op in '0B0x'",
                                                 "s:1:18: ignored an empty part in '(0B1;)OVERLAP_F_B'"});
}

TEST_CASE("cells that are no compute op get one exact line") {
  const std::string form = "; write <stage><F|B|I|W><microbatch>, such as 2F0, or (0F1;1B0)OVERLAP_F_B";
  CHECK(csv_error("") == "s: error: the file is empty; a schedule has one line of ops per rank");
  CHECK(csv_error("0F0\n1F0,f") == "s:2:5: error: 'f' is no op" + form);
  CHECK(csv_error("0F") == "s:1:1: error: '0F' has no microbatch" + form);
  CHECK(csv_error("0f0") == "s:1:1: error: '0f0' is no op" + form);
  CHECK(csv_error("(0F0;0B0") == "s:1:1: error: '(0F0;0B0' has no closing parenthesis" + form);
  CHECK(csv_error("(0F0;0B0)OVERLAP") ==
        "s:1:1: error: '(0F0;0B0)OVERLAP' is no group that ends in )OVERLAP_F_B" + form);
  CHECK(csv_error("()OVERLAP_F_B") == "s:1:1: error: '()OVERLAP_F_B' is a group without ops" + form);
  CHECK(csv_error("0BW0").find("BW was the whole backward") != std::string::npos);
  CHECK(csv_error("0F0,0SEND_F0").find("s:1:5: error: '0SEND_F0' is a communication action") == 0);
  CHECK(csv_error("1048576F0") ==
        "s:1:1: error: '1048576F0' has a number of 1048576 or more; stages and microbatches must be below "
        "that: correct it");
  CHECK(csv_error("0F1048575,1F0").find("2 stages and 1048576 microbatches need an op for each") !=
        std::string::npos);
}

TEST_CASE("PyTorch has no text for a group of backward inputs") {
  const Schedule schedule = parse_schedule("0F0 (0F1;0I0)OVERLAP 0W0 0I1 0W1");
  std::ostringstream out;
  CHECK_THROWS_AS(write_torch_csv(out, schedule), InputError);
}

TEST_CASE("timelines are rows with exact times") {
  // F 1 and B 2 on one rank: 0F0 0..1, 0B0 1..3.
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0B0"));
  const Timeline timeline = simulate(
      schedule, uniform_costs(schedule->placement(), {.forward = 500'000'000, .backward = 2'000'000'000}));
  CHECK(written([&](std::ostream& out) { write_timeline_jsonl(out, timeline); }) ==
        "{\"rank\":0,\"op\":\"0F0\",\"start\":0.0,\"end\":0.5}\n"
        "{\"rank\":0,\"op\":\"0B0\",\"start\":0.5,\"end\":2.5}\n");
  CHECK(written([&](std::ostream& out) { write_timeline_csv(out, timeline); }) ==
        "rank,op,start,end\n0,0F0,0.0,0.5\n0,0B0,0.5,2.5\n");
}

TEST_CASE("rows of several steps say which") {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0B0"));
  const Timeline timeline = simulate(
      schedule, uniform_costs(schedule->placement(), {.forward = 1'000'000'000, .backward = 2'000'000'000}),
      {.count = 2});
  CHECK(written([&](std::ostream& out) { write_timeline_csv(out, timeline); }) ==
        "step,rank,op,start,end\n0,0,0F0,0.0,1.0\n0,0,0B0,1.0,3.0\n1,0,0F0,3.0,4.0\n1,0,0B0,4.0,6.0\n");
}

TEST_CASE("formats are found by name, extension and content") {
  CHECK(format_by_extension("a/b.trace.json")->name == "chrome");
  CHECK(format_by_extension("b.json")->name == "json");
  CHECK(format_by_extension("b.csv")->name == "torch-compute");
  CHECK(format_by_extension("b.jsonl")->name == "timeline");
  CHECK(format_by_extension("b.xyz") == nullptr);
  CHECK(find_format("csv").needs_times);
  CHECK(error_of([] { return find_format("jsno"); }).find("unknown format 'jsno'") != std::string::npos);
  CHECK(read_schedule("0F0,0B0\n", "-").schedule->num_ops() == 2);
  CHECK(read_schedule("// c\n{\"orders\": [[\"0F0\"]]}", "-").schedule->num_ops() == 1);
  CHECK(error_of([] { return read_schedule("hello", "x.txt"); }) ==
        "x.txt: error: this is no schedule in a format that is known; readable formats: json, torch-compute, "
        "torch-comms, torch-printed; --from says which it is");
  CHECK(
      error_of([] { return read_schedule("hello", "x.txt", "svg"); }) ==
      "x.txt: error: the format svg can only be written; readable formats: json, torch-compute, torch-comms, "
      "torch-printed");
}

TEST_CASE("every readable format reads back what it writes") {
  const Schedule schedule = parse_schedule(kGroups);
  Exported run;
  run.schedule = &schedule;
  for (const Format& format : all_formats()) {
    if (!format.read || !format.write) continue;
    INFO(format.name);
    const std::string text = written([&](std::ostream& out) { format.write(out, run); });
    CHECK(*format.read(text, "s").schedule == schedule);
    CHECK(format_by_content(text)->name == format.name);
  }
}

}  // namespace schedule_files_test
