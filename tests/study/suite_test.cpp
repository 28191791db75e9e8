#include "study/suite/suite.hpp"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sim/io/json/file.hpp"
#include "study/suite/baseline.hpp"
#include "study/text/fingerprint.hpp"
#include "support/catch.hpp"

namespace suite_test {

using namespace pipeloom;
using namespace pipeloom::study;

namespace {

/// A folder with a suite and its files.
class SuiteFolder {
 public:
  SuiteFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pipeloom_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~SuiteFolder() { std::filesystem::remove_all(path_); }
  SuiteFolder(const SuiteFolder&) = delete;
  SuiteFolder& operator=(const SuiteFolder&) = delete;

  void put(const std::string& name, const std::string& text) const {
    io::write_file(file(name), io::Overwrite::Yes, [&text](std::ostream& out) { out << text; });
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

constexpr const char* kConfig =
    R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"forward": 1, "backward": 2}})";
constexpr const char* kSuite =
    R"({"schema_version": 1, "baseline": "b.json", "metrics": ["makespan", "bubble_overhead"],
  "cases": [{"name": "one", "config": "one.json"},
            {"name": "slow", "config": "one.json", "set": {"costs.backward": 3}},
            {"name": "odd", "config": {"schedule": "dualpipe", "ranks": 3, "microbatches": 8}, "expect": "illegal"},
            {"name": "file", "schedule": "o.csv"},
            {"name": "hang", "schedule": "h.csv", "expect": "deadlock"},
            {"name": "full", "config": "one.json", "set": {"memory.limit_bytes": 3}, "expect": "over_memory"}]})";

void fill(const SuiteFolder& folder) {
  folder.put("one.json", kConfig);
  folder.put("o.csv", "0F0,0B0\n");
  folder.put("h.csv", "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n");
  folder.put("s.json", kSuite);
}

std::string line(const Change& change) {
  return change.case_name + " " + change.what + " " + change.before + " -> " + change.after + " " +
         std::string(name_of(change.verdict));
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_suite(io::Document::parse(text, "s"), "s");
  } catch (const InputError& error) {
    return error.line();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a suite without a baseline says how to make one") {
  const SuiteFolder folder;
  fill(folder);
  CHECK_THROWS_AS(check(read_suite(folder.file("s.json")), {}), InputError);
}

TEST_CASE("a suite passes against the baseline that it wrote, twice the same bytes") {
  const SuiteFolder folder;
  fill(folder);
  const Suite suite = read_suite(folder.file("s.json"));
  const CheckResult written = update_baseline(suite, {});
  CHECK(written.unexpected.empty());
  CHECK(check(suite, {}).passed());
  const std::string bytes = io::read_file(folder.file("b.json"));
  CHECK(update_baseline(suite, {}).changes.empty());
  CHECK(io::read_file(folder.file("b.json")) == bytes);
  const auto rows = read_baseline(folder.file("b.json"));
  // (m + p - 1)(F + B): 11 * 3 and 11 * 4.
  CHECK(rows.at("one").metrics[0].second == "33.0");
  CHECK(rows.at("slow").metrics[0].second == "44.0");
  CHECK(rows.at("odd").status == "illegal");
  CHECK(rows.at("odd").metrics.empty());
  CHECK(rows.at("hang").status == "deadlock");
  CHECK(rows.at("full").status == "over_memory");
}

TEST_CASE("a change is told with both values and its direction") {
  const SuiteFolder folder;
  fill(folder);
  (void)update_baseline(read_suite(folder.file("s.json")), {});
  // The same makespan formula with B = 3.
  folder.put(
      "one.json",
      R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"forward": 1, "backward": 3}})");
  CheckOptions only_one;
  only_one.only = "one";
  const CheckResult result = check(read_suite(folder.file("s.json")), only_one);
  REQUIRE(result.changes.size() == 3);
  CHECK(result.changes[0].what == "input");
  CHECK(line(result.changes[1]) == "one makespan 33.0 -> 44.0 worse");
  CHECK(result.changes[2].what == "timeline");
  CHECK_FALSE(result.passed());
}

TEST_CASE("new and missing cases and unexpected results are told") {
  const SuiteFolder folder;
  fill(folder);
  (void)update_baseline(read_suite(folder.file("s.json")), {});
  folder.put("s.json",
             R"({"schema_version": 1, "baseline": "b.json", "metrics": ["makespan", "bubble_overhead"],
      "cases": [{"name": "one", "config": "one.json"}, {"name": "two", "config": "one.json", "expect": "illegal"}]})");
  const CheckResult result = check(read_suite(folder.file("s.json")), {});
  std::vector<std::string> lines;
  for (const auto& change : result.changes) lines.push_back(line(change));
  CHECK(lines == std::vector<std::string>{"two case  -> ok new", "file case ok ->  gone",
                                          "full case over_memory ->  gone", "hang case deadlock ->  gone",
                                          "odd case illegal ->  gone", "slow case ok ->  gone"});
  CHECK(result.unexpected == std::vector<std::string>{"two: expected illegal, got ok"});
}

TEST_CASE("a baseline's numbers are compared as numbers") {
  CaseResult before;
  before.name = "x";
  CaseResult after = before;
  const auto changed = [&](const char* was, const char* is) {
    before.metrics = {{"makespan", was}};
    after.metrics = {{"makespan", is}};
    return !compare_rows(before, after, {}).empty();
  };
  CHECK_FALSE(changed("33.0", "33"));
  CHECK_FALSE(changed("3.3E+1", "33.0"));
  CHECK_FALSE(changed("0.27272727272727271", "0.2727272727272727"));  // the same double, with a digit more
  CHECK(changed("33.0", "33.1"));
  CHECK(changed("9007199254740993", "9007199254740992"));  // 2^53 + 1 is no double, but a number of bytes
}

TEST_CASE("a tolerance that is too small for a double is none") {
  CHECK(error_of(R"({"schema_version": 1, "baseline": "b", "tolerance": {"makespan": {"abs": 1e-400}},
    "metrics": ["makespan"],
    "cases": [{"name": "a", "config": {"schedule": "1f1b", "ranks": 2, "microbatches": 2}}]})") ==
        "accepted");
}

TEST_CASE("a pattern over links that lead nowhere matches the files beside them") {
  const SuiteFolder folder;
  fill(folder);
  std::filesystem::create_directory(folder.file("d"));
  std::filesystem::create_symlink("loop.json", folder.file("d/loop.json"));
  folder.put("d/one.json", kConfig);
  folder.put(
      "s.json",
      R"({"schema_version": 1, "baseline": "b.json", "metrics": ["makespan"], "cases": [{"glob": "d/*.json"}]})");
  REQUIRE(read_suite(folder.file("s.json")).cases.size() == 1);
  folder.put(
      "s.json",
      R"({"schema_version": 1, "baseline": "b.json", "metrics": ["makespan"], "cases": [{"glob": "none/*.json"}]})");
  CHECK_THROWS_AS(read_suite(folder.file("s.json")), InputError);
}

TEST_CASE("tolerances let metrics move, and times with them") {
  CaseResult before;
  before.name = "x";
  before.metrics = {{"makespan", "100.0"}, {"bubble_ratio", "0.25"}};
  before.timeline = "a";
  CaseResult after = before;
  after.metrics = {{"makespan", "101.0"}, {"bubble_ratio", "0.25"}};
  after.timeline = "b";
  CHECK(compare_rows(before, after, {}).size() == 2);
  CHECK(compare_rows(before, after, {{"makespan", {.relative = 0.02}}}).empty());
  CHECK(compare_rows(before, after, {{"makespan", {.absolute = 1}}}).empty());
  CHECK(compare_rows(before, after, {{"makespan", {.absolute = 0.5}}}).size() == 1);
}

TEST_CASE("a metric beyond its limit fails its case, and the case's own limit counts before the suite's") {
  const SuiteFolder folder;
  folder.put("one.json", kConfig);
  // 1F1B: bubble (p - 1) / (m + p - 1), 3 / 11 = 0.2727 with 8 microbatches and 3 / 19 = 0.1579 with 16.
  folder.put("s.json", R"({"schema_version": 1, "baseline": "b.json", "metrics": ["bubble_ratio"],
    "limits": {"bubble_ratio": 0.2},
    "cases": [{"name": "many", "config": "one.json", "set": {"microbatches": 16}},
              {"name": "few", "config": "one.json"},
              {"name": "allowed", "config": "one.json", "limits": {"bubble_ratio": 0.3}}]})");
  const Suite suite = read_suite(folder.file("s.json"));
  const CheckResult written = update_baseline(suite, {});
  REQUIRE(written.unexpected.size() == 1);
  CHECK(written.unexpected[0].find("few: bubble_ratio is 0.27272727272727") == 0);
  CHECK(written.unexpected[0].ends_with(", above its limit of 0.2"));
  const CheckResult checked = check(suite, {});
  CHECK(checked.changes.empty());
  CHECK_FALSE(checked.passed());
  CHECK(
      error_of(
          R"({"schema_version": 1, "baseline": "b", "metrics": ["makespan"], "limits": {"bubble_ratio": 1}, "cases": []})")
          .find("the suite does not measure it; add it to") != std::string::npos);
}

TEST_CASE("a case whose file is broken has no result, the others have theirs") {
  const SuiteFolder folder;
  folder.put("one.json", kConfig);
  folder.put("s.json", R"({"schema_version": 1, "baseline": "b.json", "metrics": ["makespan"],
    "cases": [{"name": "broken", "config": "two.json"}, {"name": "absent", "config": "three.json"},
              {"name": "fine", "config": "one.json"}]})");
  folder.put("two.json", kConfig);
  folder.put("three.json", kConfig);
  CHECK(update_baseline(read_suite(folder.file("s.json")), {}).unexpected.empty());
  folder.put("two.json", "{\"schedule\": ");
  std::filesystem::remove(folder.file("three.json"));
  const CheckResult result = check(read_suite(folder.file("s.json")), {});
  CHECK(result.any_failed());
  CHECK(result.changes.empty());  // what did not run did not change
  REQUIRE(result.results.size() == 3);
  CHECK(result.results[0].status == "failed");
  CHECK(result.results[0].error.find("two.json:1:") != std::string::npos);
  CHECK(result.results[1].status == "failed");
  CHECK(result.results[2].as_expected());
  // The baseline keeps what they were.
  CHECK_FALSE(update_baseline(read_suite(folder.file("s.json")), {}).passed());
  CHECK(read_baseline(folder.file("b.json")).at("broken").status == "ok");
}

TEST_CASE("a glob makes a case of each file") {
  const SuiteFolder folder;
  folder.put("b2.json", kConfig);
  folder.put("b1.json", kConfig);
  folder.put("c.txt", "");
  folder.put(
      "suite.json",
      R"({"schema_version": 1, "baseline": "x", "metrics": ["makespan"], "cases": [{"glob": "b?.json"}]})");
  const Suite suite = read_suite(folder.file("suite.json"));
  REQUIRE(suite.cases.size() == 2);
  CHECK(suite.cases[0].name == "b1");
  CHECK(suite.cases[1].name == "b2");
}

TEST_CASE("a wrong suite gets one exact line") {
  const auto suite = [](const std::string& cases) {
    return R"({"schema_version": 1, "baseline": "b", "metrics": ["makespan"], "cases": [)" + cases + "]}";
  };
  CHECK(error_of("{}") == "s:1:1: error: \"schema_version\" is missing; add it");
  CHECK(error_of(R"({"schema_version": 2})") ==
        "s:1:20: error: schema_version is 2; this program reads version 1");
  CHECK(error_of(R"({"schema_version": 1, "baseline": "b", "metrics": ["makspan"], "cases": []})")
            .substr(0, 68) == "s:1:52: error: unknown metric 'makspan'; did you mean 'makespan'? va");
  CHECK(error_of(suite(R"({"name": "a"})")) ==
        "s:1:75: error: a case needs \"config\", \"schedule\" or \"glob\"; give one");
  CHECK(error_of(suite(R"({"name": "a", "config": {}}, {"name": "a", "config": {}})")) ==
        "s:1:104: error: the case name 'a' is there twice; give every case a name of its own");
  CHECK(error_of(suite(R"({"name": "a", "config": {}, "expect": "bad"})")) ==
        "s:1:113: error: unknown status 'bad'; valid: ok, illegal, deadlock, over_memory");
  CHECK(error_of(suite(R"({"glob": "none*.json"})")) ==
        "s:1:84: error: 'none*.json' matches no file; only the last part may hold * and ?");
}

TEST_CASE("globs") {
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("a*b*c", "aXbYbZc"));
  CHECK_FALSE(matches_glob("a*b*c", "aXbYbZ"));
  CHECK(matches_glob("?b", "ab"));
  CHECK_FALSE(matches_glob("?b", "b"));
  CHECK_FALSE(matches_glob("", "a"));
}

TEST_CASE("fingerprints are FNV-1a") {
  // Published test vectors of the 64-bit variant.
  CHECK(fingerprint("") == "cbf29ce484222325");
  CHECK(fingerprint("a") == "af63dc4c8601ec8c");
  CHECK(fingerprint("foobar") == "85944171f73967e8");
}

}  // namespace suite_test
