// What the CI gate writes, byte for byte.

#include "study/gate/outputs.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include "study/gate/results.hpp"
#include "study/suite/case_verdict.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::gate::outputs_test {
namespace {

using test::many_worse;
using test::mixed_result;
using test::row;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a change in words: both values, how much, for better or worse, and which direction is better") {
  const CheckResult result = mixed_result();
  // 36.3 / 33 = 1.1
  CHECK(sentence(result, result.changes[1]) ==
        "makespan 33.0 -> 36.3 (+10.0 %): worse, lower is better; may move by 1 %");
  CHECK(sentence(result, {"x", "bubble_ratio", "0.5", "0.25", Verdict::Better}) ==
        "bubble_ratio 0.5 -> 0.25 (-50.0 %): better, lower is better");
  CHECK(sentence(result, {"x", "num_ops", "64", "32", Verdict::Changed}) ==
        "num_ops 64 -> 32 (-50.0 %): changed");
  CHECK(sentence(result, result.changes[0]) ==
        "input aa -> bb: changed (the configuration or a file that it names)");
  CHECK(sentence(result, {"x", "orders", "", "bb", Verdict::Changed}) ==
        "orders none -> bb: changed (the queues of ops)");
  CHECK(sentence(result, {"x", "peak_live", "", "4", Verdict::New}) == "peak_live is new: 4");
  CHECK(sentence(result, result.changes[3]) == "the case is gone: in the baseline it is ok");
}

TEST_CASE("the verdict of a case is its worst change, and improvement only if nothing got worse") {
  CheckResult result;
  result.results = {row("x", 1)};
  const auto severity = [&result](std::vector<Change> changes) {
    result.changes = std::move(changes);
    return verdicts_of(result)[0].severity;
  };
  const Change better{"x", "makespan", "2.0", "1.0", Verdict::Better};
  const Change worse{"x", "peak_bytes", "1", "2", Verdict::Worse};
  const Change times{"x", "timeline", "a", "b", Verdict::Changed};
  const Change status{"x", "status", "ok", "over_memory", Verdict::Changed};
  CHECK(severity({}) == Severity::Fine);
  CHECK(severity({better, times}) == Severity::Better);
  CHECK(severity({better, worse, times}) == Severity::Worse);
  CHECK(severity({times}) == Severity::Changed);
  CHECK(severity({status, better}) == Severity::Changed);
  CHECK(severity({{"x", "case", "", "ok", Verdict::New}}) == Severity::Unlisted);
  result.results[0].expect = "illegal";
  CHECK(severity({}) == Severity::Broken);
  result.updated = true;
  CHECK(severity({worse}) == Severity::Broken);
  result.results[0].expect = "ok";
  CHECK(severity({worse}) == Severity::Fine);
}

TEST_CASE("JUnit: a test case per case, failures with every change") {
  CHECK(junit(mixed_result()) == R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="pipeloom check" tests="4" failures="3" errors="0">
  <testsuite name="ci/suite.json" tests="4" failures="3" errors="0" skipped="0">
    <testcase name="fine" classname="suite"/>
    <testcase name="slow" classname="suite">
      <failure type="worse" message="makespan 33.0 -&gt; 36.3 (+10.0 %): worse, lower is better; may move by 1 %; 1 more change">ci/suite.json:8:5
input aa -&gt; bb: changed (the configuration or a file that it names)
makespan 33.0 -&gt; 36.3 (+10.0 %): worse, lower is better; may move by 1 %
</failure>
    </testcase>
    <testcase name="stuck" classname="suite">
      <failure type="unexpected" message="expected ok, got deadlock: o.csv: the schedule hangs; 1 more change">ci/suite.json:9:5
expected ok, got deadlock: o.csv: the schedule hangs
status ok -&gt; deadlock: changed
</failure>
    </testcase>
    <testcase name="old" classname="suite">
      <failure type="unlisted" message="the case is gone: in the baseline it is ok">ci/suite.baseline.json
the case is gone: in the baseline it is ok
</failure>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST_CASE("JUnit: any name is text, and a suite that cannot be run is an error") {
  CheckResult result;
  result.suite_path = "a&b.json";
  result.results = {row("<\"1\"\n&\x01>\xFF\xEF\xBF\xBF", 1)};
  const std::string text = junit(result);
  // What is no character of XML becomes U+FFFD.
  const std::string none = "\xEF\xBF\xBD";
  const std::string name = "&lt;&quot;1&quot;&#10;&amp;" + none + "&gt;" + none + none;
  CHECK(text.find("<testcase name=\"" + name + R"(" classname="a&amp;b"/>)") != std::string::npos);
  CheckResult failed;
  failed.suite_path = "s.json";
  failed.failure = {"bad-input", "no < here", {"s.json", 3, 1}};
  CHECK(junit(failed).find("tests=\"1\" failures=\"0\" errors=\"1\"") != std::string::npos);
  CHECK(junit(failed).find(R"(<error type="bad-input" message="no &lt; here">s.json:3:1</error>)") !=
        std::string::npos);
}

TEST_CASE("annotations: the worst first, at the case's place, errors and warnings") {
  CHECK(annotations(mixed_result()) ==
        "::error file=ci/suite.json,line=9,col=5,title=pipeloom check%3A stuck is unexpected::"
        "expected ok, got deadlock: o.csv: the schedule hangs%0Astatus ok -> deadlock: changed\n"
        "::error file=ci/suite.json,line=8,col=5,title=pipeloom check%3A slow is worse::"
        "input aa -> bb: changed (the configuration or a file that it names)%0A"
        "makespan 33.0 -> 36.3 (+10.0 %25): worse, lower is better; may move by 1 %25\n"
        "::warning file=ci/suite.baseline.json,title=pipeloom check%3A old is unlisted::"
        "the case is gone: in the baseline it is ok\n");
  CHECK(annotations({}).empty());
}

TEST_CASE("annotations: nothing in a name ends the command") {
  CheckResult result = many_worse(1);
  result.results[0].name = result.changes[0].case_name = "a:b,c%d\r\n::error::x";
  result.results[0].where.file = "p,q:r.json";
  const std::string text = annotations(result);
  CAPTURE(text);
  CHECK(count_of(text, "\n") == 1);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.rfind("::error file=p%2Cq%3Ar.json,line=1,col=5,title=pipeloom check%3A "
                   "a%3Ab%2Cc%25d?%0A?%3Aerror%3A%3Ax is worse::",
                   0) == 0);
}

TEST_CASE("annotations: ten of a kind, the rest is counted") {
  CheckResult result = many_worse(25);
  for (int i = 12; i < 25; ++i) result.changes[static_cast<std::size_t>(i)].verdict = Verdict::Better;
  const std::string text = annotations(result);
  CHECK(count_of(text, "::error ") == 10);
  CHECK(count_of(text, "::warning ") == 10);
  CHECK(text.find(
            "::notice file=s.json,title=pipeloom check%3A more cases differ::2 more with errors, 3 more "
            "with warnings: see the output of the step, or its summary (--summary)\n") != std::string::npos);
  CHECK(count_of(annotations(many_worse(10)), "::notice") == 0);
}

TEST_CASE("the summary tells what differs, the worst first, and every metric") {
  CHECK(summary(mixed_result()) == R"(### :x: pipeloom check ci/suite.json: 3 of 4 cases differ

- stuck: expected ok, got deadlock: o.csv: the schedule hangs

| case | what | before | after | change | verdict |
| --- | --- | ---: | ---: | ---: | --- |
| stuck | status | ok | deadlock |  | changed |
| slow | input | aa | bb |  | changed |
| slow | makespan | 33.0 | 36.3 | +10.0 % | worse (lower is better); may move by 1 % |
| old | case | ok |  |  | gone |

If these changes are wanted, run `pipeloom check ci/suite.json --update` and commit the baseline.

<details><summary>Metrics of all cases</summary>

| case | status | makespan | bubble\_ratio | num\_ops |
| --- | --- | ---: | ---: | ---: |
| fine | ok | 33.0 ms | 0.25 | 64 |
| slow | ok | 36.3 ms | 0.25 | 64 |
| stuck | deadlock |

</details>
)");
}

TEST_CASE("a summary is never larger than it may be, and says what is missing") {
  const CheckResult result = many_worse(20000);
  const std::string whole = summary(result, std::size_t{1} << 30);
  CHECK(whole.size() > kMaxSummaryBytes);
  CHECK(whole.find("no room") == std::string::npos);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{10}, std::size_t{600}, std::size_t{700},
                                  std::size_t{1000}, std::size_t{5000}, kMaxSummaryBytes}) {
    const std::string text = summary(result, limit);
    CHECK(text.size() <= limit);
    if (limit >= 1000) CHECK(text.find(" left out: there is no room for them.") != std::string::npos);
    if (limit >= 600) CHECK(text.find("20000 of 20000 cases differ") != std::string::npos);
  }
}

TEST_CASE("nothing in a name is markup in the summary") {
  CheckResult result = many_worse(1);
  result.results[0].name = result.changes[0].case_name = "a|b`<script>\n# x";
  CHECK(summary(result).find("| a\\|b\\`&lt;script>?\\# x | makespan |") != std::string::npos);
}

TEST_CASE("Bencher Metric Format: every metric of every case that has any") {
  CHECK(bmf(mixed_result()) == R"({
  "fine": {
    "makespan": {"value": 33.0},
    "bubble_ratio": {"value": 0.25},
    "num_ops": {"value": 64}
  },
  "slow": {
    "makespan": {"value": 36.3},
    "bubble_ratio": {"value": 0.25},
    "num_ops": {"value": 64}
  }
}
)");
  CHECK(bmf({}) == "{}\n");
}

TEST_CASE("github-action-benchmark: what is smaller and better, with its unit") {
  CHECK(benchmark_json(mixed_result()) == R"([
  {"name": "fine/makespan", "unit": "ms", "value": 33.0},
  {"name": "fine/bubble_ratio", "unit": "ratio", "value": 0.25},
  {"name": "slow/makespan", "unit": "ms", "value": 36.3},
  {"name": "slow/bubble_ratio", "unit": "ratio", "value": 0.25}
]
)");
  CHECK(benchmark_json({}) == "[]\n");
}

TEST_CASE("JSON outputs are JSON whatever the cases are called") {
  CheckResult result = many_worse(1);
  result.results[0].name = "\"\\\n\x01\xC3(\xF0\x9F\x98\x80";
  CHECK(nlohmann::json::parse(bmf(result)).size() == 1);
  CHECK(nlohmann::json::parse(benchmark_json(result)).size() == 2);
}

}  // namespace pipeloom::study::gate::outputs_test
