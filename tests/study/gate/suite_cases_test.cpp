// What a case of a suite may be: files, values on top, costs files, custom schedules, patterns.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "sim/io/json/file.hpp"
#include "study/suite/baseline.hpp"
#include "study/suite/suite.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::suite_cases_test {
namespace {

/// A folder of files, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "pipeloom_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    io::write_file((path_ / name).string(), io::Overwrite::Yes, [&text](std::ostream& out) { out << text; });
  }
  /// A suite of these cases, read.
  [[nodiscard]] Suite suite(const std::string& cases) const {
    put("s.json",
        R"({"schema_version": 1, "baseline": "b.json", "metrics": ["makespan"], "cases": [)" + cases + "]}");
    return read_suite((path_ / "s.json").string());
  }
  /// The only case of a suite, run.
  [[nodiscard]] CaseResult run(const std::string& one, const Limits& limits = {}) const {
    const Suite suite = this->suite(one);
    REQUIRE(suite.cases.size() == 1);
    return run_case(suite.cases[0], suite.metrics, limits);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string makespan(const CaseResult& row) {
  return row.metrics.at(0).second;
}

constexpr const char* kTwoRanks = "0F0,0B0\n1F0,1B0\n";
constexpr const char* kHang = "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n";

}  // namespace

TEST_CASE("a schedule file takes its costs from a configuration and from values on top") {
  const Folder folder;
  folder.put("o.csv", kTwoRanks);
  folder.put("c.json", R"({"costs": {"time_unit": "ms", "forward": 10, "backward": 20}})");
  // One microbatch goes down and comes back: 2 (F + B).
  CHECK(makespan(folder.run(R"({"name": "x", "schedule": "o.csv"})")) == "6.0");
  const CaseResult row = folder.run(R"({"name": "x", "schedule": "o.csv", "config": "c.json"})");
  CHECK(makespan(row) == "60.0");
  CHECK(row.time_unit == "ms");
  CHECK(makespan(folder.run(
            R"({"name": "x", "schedule": "o.csv", "config": "c.json", "set": {"costs.forward": 5}})")) ==
        "50.0");
  // What the file says itself is refused.
  CHECK_THROWS_AS(folder.suite(R"({"name": "x", "schedule": "o.csv", "set": {"ranks": 4}})"), InputError);
}

TEST_CASE("a costs file counts as input, and has to be there") {
  const Folder folder;
  folder.put("costs.json", R"({"forward": 1, "backward": 2})");
  const std::string one =
      R"({"name": "x", "config": {"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": "costs.json"}})";
  const CaseResult before = folder.run(one);
  folder.put("costs.json", R"({"forward": 1, "backward": 3})");
  const CaseResult after = folder.run(one);
  CHECK(before.input != after.input);
  // (m + p - 1)(F + B) = 3 * 3 and 3 * 4.
  CHECK(makespan(before) == "9.0");
  CHECK(makespan(after) == "12.0");
  std::filesystem::remove(folder.path("costs.json"));
  CHECK(folder.run(one).failed());
}

TEST_CASE("the file of a custom schedule counts as input, that it is not there is no result") {
  const Folder folder;
  folder.put("o.csv", kTwoRanks);
  const std::string one =
      R"({"name": "x", "config": {"schedule": "custom", "options": {"file": "o.csv"}}, "expect": "illegal"})";
  const CaseResult before = folder.run(one);
  CHECK(before.status == "ok");
  folder.put("o.csv", kHang);
  const CaseResult after = folder.run(one);
  CHECK(after.input != before.input);
  CHECK(after.status == "deadlock");
  REQUIRE(after.findings.size() == 1);
  CHECK(after.findings[0].rule == "hang");
  CHECK(after.findings[0].where.file == folder.path("o.csv"));
  std::filesystem::remove(folder.path("o.csv"));
  CHECK(folder.run(one).failed());
}

TEST_CASE("a pattern finds configurations and schedules, and applies its values to both") {
  const Folder folder;
  folder.put("all/1.csv", kTwoRanks);
  folder.put("all/2.json", R"({"schedule": "1f1b", "ranks": 2, "microbatches": 1})");
  folder.put("all/3.json", R"({"orders": [["0F0", "0B0"], ["1F0", "1B0"]]})");
  const Suite suite = folder.suite(R"({"glob": "all/*", "set": {"costs.forward": 3, "costs.backward": 2}})");
  REQUIRE(suite.cases.size() == 3);
  for (const SuiteCase& one : suite.cases) {
    CHECK(makespan(run_case(one, suite.metrics, {})) == "10.0");
    CHECK(one.where.line == 1);
  }
  CHECK(suite.cases[0].name == "1");
  CHECK(suite.cases[0].schedule_file == folder.path("all/1.csv"));
  CHECK(suite.cases[1].config_file == folder.path("all/2.json"));
  CHECK(suite.cases[2].schedule_file == folder.path("all/3.json"));
}

TEST_CASE("a run that needs more memory than it may use says nothing about its case") {
  const Folder folder;
  const CaseResult row =
      folder.run(R"({"name": "x", "config": {"schedule": "1f1b", "ranks": 4, "microbatches": 64},
                             "expect": "illegal"})",
                 {.max_memory = 1000.0});
  CHECK(row.failed());
  CHECK_FALSE(row.as_expected());
}

TEST_CASE(
    "every problem of a schedule file is a finding at its place, values of the suite are found in the "
    "suite") {
  const Folder folder;
  folder.put("o.csv", "0F0,0F0,0B0\n1F0\n");
  const CaseResult illegal = folder.run(R"({"name": "x", "schedule": "o.csv"})");
  CHECK(illegal.status == "illegal");
  REQUIRE(illegal.findings.size() == 2);
  CHECK(illegal.findings[0].rule == "duplicate");
  CHECK(illegal.findings[0].where.text() == folder.path("o.csv") + ":1:5");
  CHECK(illegal.findings[1].rule == "missing-backward");
  const CaseResult refused = folder.run(
      R"({"name": "x", "config": {"schedule": "dualpipe", "ranks": 4, "microbatches": 8}, "set": {"ranks": 3}})");
  REQUIRE(refused.findings.size() == 1);
  CHECK(refused.findings[0].rule == "refused");
  CHECK(refused.findings[0].where.file == folder.path("s.json"));
  CHECK(refused.findings[0].where.line == 1);
  // Messages that hang are a deadlock as queues are.
  const CaseResult messages = folder.run(
      R"({"name": "x", "config": {"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"transfer":
        {"model": "async", "plan": "before-use", "queue": "per-rank", "latency": 0.5}}}})");
  CHECK(messages.status == "deadlock");
  CHECK(messages.findings.at(0).rule == "message-hang");
}

TEST_CASE("a tolerance of nothing is none, and a metric stands in a suite once") {
  CaseResult before;
  before.metrics = {{"makespan", "100.0"}};
  before.timeline = "a";
  CaseResult after = before;
  after.timeline = "b";
  CHECK(compare_rows(before, after, {{"makespan", {}}}).size() == 1);
  CHECK(compare_rows(before, after, {{"makespan", {.absolute = 1}}}).empty());
  CHECK_THROWS_AS(
      parse_suite(
          io::Document::parse(
              R"({"schema_version": 1, "baseline": "b", "metrics": ["makespan", "makespan"], "cases": []})",
              "s"),
          "s"),
      InputError);
}

}  // namespace pipeloom::study::suite_cases_test
