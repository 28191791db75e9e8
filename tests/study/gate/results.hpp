#pragma once

// Results of a check, made by hand.

#include <string>
#include <utility>
#include <vector>

#include "study/suite/suite.hpp"

namespace pipeloom::test {

inline study::CaseResult row(const std::string& name, int line, const std::string& makespan = "33.0") {
  study::CaseResult out;
  out.name = name;
  out.status = "ok";
  out.metrics = {{"makespan", makespan}, {"bubble_ratio", "0.25"}, {"num_ops", "64"}};
  out.where = {"ci/suite.json", line, 5};
  out.time_unit = "ms";
  return out;
}

/// Three cases: one fine, one worse, one that no longer runs; and one that is gone.
inline study::CheckResult mixed_result() {
  using study::Verdict;
  study::CheckResult out;
  out.suite_path = "ci/suite.json";
  out.baseline_path = "ci/suite.baseline.json";
  out.tolerance = {{"makespan", {.absolute = 0, .relative = 0.01}}};
  out.results = {row("fine", 7), row("slow", 8, "36.3"), row("stuck", 9)};
  study::CaseResult& stuck = out.results[2];
  stuck.status = "deadlock";
  stuck.metrics.clear();
  stuck.error = "o.csv: the schedule hangs";
  stuck.findings = {{"hang", "the schedule hangs", {"o.csv", 2, 5}}};
  out.changes = {{"slow", "input", "aa", "bb", Verdict::Changed},
                 {"slow", "makespan", "33.0", "36.3", Verdict::Worse},
                 {"stuck", "status", "ok", "deadlock", Verdict::Changed},
                 {"old", "case", "ok", "", Verdict::Gone}};
  out.unexpected = {"stuck: expected ok, got deadlock: o.csv: the schedule hangs"};
  return out;
}

/// `count` cases named c0, c1, ... in which the makespan is worse.
inline study::CheckResult many_worse(int count) {
  study::CheckResult out;
  out.suite_path = "s.json";
  for (int i = 0; i < count; ++i) {
    const std::string name = "c" + std::to_string(i);
    out.results.push_back(row(name, i + 1));
    out.changes.push_back({name, "makespan", "1.0", "2.0", study::Verdict::Worse});
  }
  return out;
}

}  // namespace pipeloom::test
