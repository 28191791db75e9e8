// Answers to pages: the program's texts and sentences, and never an exception.

#include "web/core/core.hpp"

#include <sstream>
#include <string>

#include <pipeloom/run.hpp>
#include "support/catch.hpp"

namespace pipeloom::core_test {
namespace {

const std::string kRun =
    R"({"schedule": "1f1b", "ranks": 2, "microbatches": 3, "costs": {"forward": 1, "backward": 2}})";

web::Answer ask(std::string_view function, std::string_view text, std::string_view options = "") {
  return web::answer(function, {"run.json", text, options});
}

}  // namespace

TEST_CASE("a report is the library's, and 1f1b of two ranks takes (m + p - 1)(F + B) = 12", "[web]") {
  const web::Answer answer = ask("report", kRun);
  CHECK(answer.code == ExitCode::Ok);
  Request request;
  request.file = "run.json";
  request.text = kRun;
  CHECK(answer.text == report_json(run(request)));
  CHECK(answer.text.find("\"makespan\": 12.0") != std::string::npos);
  CHECK(answer.warnings.empty());
}

TEST_CASE("a picture is the library's, with the options of the page", "[web]") {
  Request request;
  request.file = "run.json";
  request.text = kRun;
  const Run done = run(request);
  std::ostringstream light;
  write(done, "svg", light);
  CHECK(ask("convert", kRun).text == light.str());
  std::ostringstream dark;
  write(done, "svg", dark, {.title = "Two", .width = 700, .idle_causes = true, .dark = true});
  CHECK(ask("convert", kRun,
            R"({"format": "svg", "title": "Two", "width": 700, "idle_causes": true, "dark": true})")
            .text == dark.str());
}

TEST_CASE("what is refused is the program's sentence with its place", "[web]") {
  const web::Answer negative =
      ask("report", "{\n  \"schedule\": \"1f1b\", \"ranks\": -8, \"microbatches\": 3}");
  CHECK(negative.code == ExitCode::BadInput);
  // Two blanks, 20 characters of the schedule, 9 of the key.
  CHECK(negative.text.starts_with("run.json:2:32: error: "));
  CHECK(ask("report", "{").code == ExitCode::BadInput);
  CHECK(ask("report", std::string("{}\0", 3)).text.find("NUL") != std::string::npos);
  CHECK(ask("repot", kRun).text.find("did you mean 'report'") != std::string::npos);
}

TEST_CASE("options of another name or kind are refused at their place", "[web]") {
  CHECK(ask("convert", kRun, R"({"widht": 3})")
            .text.starts_with("options:1:2: error: unknown option 'widht'; allowed are "));
  CHECK(ask("convert", kRun, R"({"width": "3"})").text ==
        "options:1:11: error: width is the string '3'; allowed is a number");
  CHECK(ask("convert", kRun, R"({"dark": 1})").text ==
        "options:1:10: error: dark is 1; allowed is true or false");
  CHECK(ask("report", kRun, "[]").code == ExitCode::BadInput);
  CHECK(ask("convert", kRun, R"({"format": "gif"})").text.find("error: unknown format 'gif'") !=
        std::string::npos);
}

TEST_CASE("over the memory limit is a report and the answer no", "[web]") {
  const web::Answer answer = ask(
      "report",
      R"({"schedule": "gpipe", "ranks": 2, "microbatches": 4, "memory": {"activation_bytes": 10, "limit_bytes": 30}})");
  CHECK(answer.code == ExitCode::AnswerIsNo);
  CHECK(answer.text.starts_with("{"));
  CHECK(answer.warnings.find("error: ") != std::string::npos);
}

TEST_CASE("a plan without a search is ranked, and a limit that nothing keeps is the answer no", "[web]") {
  const std::string run =
      R"({"schedule": "gpipe", "ranks": 2, "microbatches": 4, "costs": {"forward": 1, "backward": 2}, "memory": {"activation_bytes": 10}})";
  const web::Answer plan = ask("plan", run, R"({"vary": "schedule", "budget": 0})");
  CHECK(plan.code == ExitCode::Ok);
  CHECK(plan.text.find("\"candidates\"") != std::string::npos);
  const web::Answer none = ask("plan", run, R"({"vary": "schedule", "budget": 0, "limit": 1})");
  CHECK(none.code == ExitCode::AnswerIsNo);
  CHECK(none.warnings.ends_with("error: nothing fits; the lines above say what is missing\n"));
  CHECK(ask("plan", run, R"({"vary": "colour"})").text.starts_with("vary: error: unknown word 'colour'"));
  CHECK(ask("plan", R"({"orders": [["0F0"]]})").code == ExitCode::BadInput);
}

TEST_CASE("a hanging schedule file is found illegal, and a configuration legal", "[web]") {
  CHECK(ask("validate", kRun).text.find("\"legal\": true") != std::string::npos);
  const web::Answer hang = ask("validate", "0B0,0F0\n");
  CHECK(hang.code == ExitCode::AnswerIsNo);
  CHECK(hang.text.find("\"legal\": false") != std::string::npos);
}

TEST_CASE("the list of schedules has those of the registry with their numbers of chunks", "[web]") {
  const web::Answer answer = ask("schedules", "");
  CHECK(answer.text.find("\"name\": \"dualpipe-v\"") != std::string::npos);
  CHECK(answer.text.find("\"min_chunks\": 2") != std::string::npos);
}

}  // namespace pipeloom::core_test
