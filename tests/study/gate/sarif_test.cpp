// SARIF: where the findings stand.

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "study/gate/outputs.hpp"
#include "study/gate/results.hpp"
#include "study/suite/lint_rules.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::gate::sarif_test {
namespace {

using Json = nlohmann::json;

Json run_of(const std::vector<Finding>& findings) {
  const Json log = Json::parse(sarif(findings, "1.2.3"));
  CHECK(log["version"] == "2.1.0");
  REQUIRE(log["runs"].size() == 1);
  return log["runs"][0];
}

}  // namespace

TEST_CASE("SARIF: a result per finding, at its place, by its rule") {
  const Json run = run_of(lint_findings(test::mixed_result()));
  CHECK(run["tool"]["driver"]["name"] == "pipeloom");
  CHECK(run["tool"]["driver"]["version"] == "1.2.3");
  REQUIRE(run["results"].size() == 1);
  const Json& result = run["results"][0];
  CHECK(result["ruleId"] == "hang");
  CHECK(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"] == "hang");
  CHECK(result["level"] == "error");
  CHECK(result["message"]["text"] == "the schedule hangs");
  const Json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "o.csv");
  CHECK(place["region"] == Json({{"startLine", 2}, {"startColumn", 5}}));
}

TEST_CASE("SARIF: places are URIs, and a place without a line is a whole file") {
  const Json results = run_of({{"hang", "x", {"a b/c#1%.json", 1, 0}},
                               {"duplicate", "x", {"/tmp/\xC3\xA9.json", 0, 0}},
                               {"no such rule", "x", {}}})["results"];
  const auto place = [&results](std::size_t i) { return results[i]["locations"][0]["physicalLocation"]; };
  CHECK(place(0)["artifactLocation"]["uri"] == "a%20b/c%231%25.json");
  CHECK(place(0)["region"] == Json({{"startLine", 1}}));
  CHECK(place(1)["artifactLocation"]["uri"] == "file:///tmp/%C3%A9.json");
  CHECK_FALSE(place(1).contains("region"));
  CHECK(results[2]["locations"].empty());
  CHECK(results[2]["ruleId"] == "illegal");
}

TEST_CASE("SARIF: a finding keeps its fingerprint when it moves within its file") {
  const auto print = [](const Finding& finding) {
    return run_of({finding})["results"][0]["partialFingerprints"];
  };
  CHECK(print({"hang", "x", {"a.json", 1, 1}}) == print({"hang", "x", {"a.json", 9, 1}}));
  CHECK(print({"hang", "x", {"a.json", 1, 1}}) != print({"hang", "y", {"a.json", 1, 1}}));
}

TEST_CASE("SARIF: of several findings that say the same each has a fingerprint of its own") {
  const Json results = run_of({{"hang", "x", {"a.json", 1, 1}},
                               {"hang", "x", {"a.json", 9, 1}},
                               {"hang", "x", {"a.json", 12, 1}}})["results"];
  CHECK(results[0]["partialFingerprints"] != results[1]["partialFingerprints"]);
  CHECK(results[1]["partialFingerprints"] != results[2]["partialFingerprints"]);
}

TEST_CASE("SARIF: nothing wrong, and a suite that cannot be run") {
  CHECK(run_of({})["results"].empty());
  CheckResult failed;
  failed.failure = {"bad-input", "no", {"s.json", 3, 1}};
  CHECK(run_of(lint_findings(failed))["results"][0]["ruleId"] == "bad-input");
  // What the suite expects is not to be repaired.
  CheckResult expected = test::mixed_result();
  expected.results[2].expect = "deadlock";
  CHECK(lint_findings(expected).empty());
}

TEST_CASE("lint rules are in alphabetical order, and every error has one") {
  for (std::size_t i = 1; i < lint_rules().size(); ++i) CHECK(lint_rules()[i - 1].id < lint_rules()[i].id);
  CHECK(rule_of(HangError("x")) == "hang");
  CHECK(rule_of(ScheduleError("x")) == "refused");
  CHECK(rule_of(InputError("x")) == "bad-input");
  CHECK(lint_rules()[lint_rule_index("unheard of")].id == "illegal");
}

}  // namespace pipeloom::study::gate::sarif_test
