#include "study/suite/case_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "sim/base/number_text.hpp"

namespace pipeloom::study::gate {
namespace {

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const Metric* metric_of(const Change& change) {
  return metric_named(change.what);
}

Severity severity_of(const Change& change) {
  switch (change.verdict) {
    case Verdict::Worse:
      return Severity::Worse;
    case Verdict::Better:
      return Severity::Better;
    case Verdict::Changed:
      return Severity::Changed;
    case Verdict::New:
    case Verdict::Gone:
      return Severity::Unlisted;
  }
  return Severity::Fine;
}

/// A better metric also changes the timeline: changes without a direction do not count beside changes with one.
Severity severity_of(const CaseVerdict& verdict) {
  if (verdict.row != nullptr && !verdict.row->as_expected()) return Severity::Broken;
  Severity worst = Severity::Fine;
  bool better = false;
  for (const Change* change : verdict.changes) {
    worst = std::min(worst, severity_of(*change));
    better = better || change->verdict == Verdict::Better;
    if (change->what == "status") return Severity::Changed;
  }
  return worst == Severity::Changed && better ? Severity::Better : worst;
}

/// Rank of a change in a headline, 0 first: a status before the changes that come with it, a direction before none.
int telling(const Change& change) {
  if (change.what == "status") return 0;
  if (change.verdict == Verdict::Worse) return 1;
  if (change.verdict == Verdict::Better) return 2;
  return change.verdict == Verdict::Changed ? 3 : 4;
}

/// The meaning of a change that is of no metric.
std::string_view meaning_of(const Change& change) {
  if (change.what == "orders") return "the queues of ops";
  if (change.what == "timeline") return "starts and ends of ops";
  if (change.what == "input") return "the configuration or a file that it names";
  return "";
}

}  // namespace

std::string_view name_of(Severity severity) {
  static constexpr std::array<std::string_view, 6> kNames = {"unexpected", "worse",    "changed",
                                                             "better",     "unlisted", "fine"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::vector<CaseVerdict> verdicts_of(const CheckResult& result) {
  std::vector<CaseVerdict> out;
  for (const CaseResult& row : result.results) out.push_back({row.name, Severity::Fine, row.where, &row, {}});
  for (const Change& change : result.changes) {
    auto of_case = std::find_if(out.begin(), out.end(),
                                [&change](const CaseVerdict& v) { return v.name == change.case_name; });
    if (of_case == out.end())
      of_case =
          out.insert(out.end(), {change.case_name, Severity::Fine, Where{result.baseline_path}, nullptr, {}});
    of_case->changes.push_back(&change);
  }
  for (CaseVerdict& verdict : out) {
    const bool expected = verdict.row == nullptr || verdict.row->as_expected();
    verdict.severity = result.updated && expected ? Severity::Fine : severity_of(verdict);
  }
  return out;
}

std::vector<CaseVerdict> failing(std::vector<CaseVerdict> verdicts) {
  const auto fine = [](const CaseVerdict& verdict) { return verdict.severity == Severity::Fine; };
  verdicts.erase(std::remove_if(verdicts.begin(), verdicts.end(), fine), verdicts.end());
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const CaseVerdict& a, const CaseVerdict& b) { return a.severity < b.severity; });
  return verdicts;
}

std::string relative_change(const Change& change) {
  const auto before = number_of(change.before);
  const auto after = number_of(change.after);
  if (metric_of(change) == nullptr || !before || !after || *before == 0) return "";
  return change_text(*after / *before - 1);
}

std::string_view direction_of(const Change& change) {
  const Metric* metric = metric_of(change);
  if (metric == nullptr || metric->better == Better::Neither) return "";
  return metric->better == Better::Lower ? "lower is better" : "higher is better";
}

std::string verdict_text(const Change& change) {
  const std::string_view verdict = name_of(change.verdict);
  const std::string_view direction = direction_of(change);
  const bool directed = change.verdict == Verdict::Better || change.verdict == Verdict::Worse;
  return directed ? fmt::format("{} ({})", verdict, direction) : std::string(verdict);
}

std::string tolerance_text(const CheckResult& result, const Change& change) {
  const auto found = result.tolerance.find(change.what);
  if (found == result.tolerance.end()) return "";
  const Tolerance& may = found->second;
  if (may.absolute > 0 && may.relative > 0)
    return fmt::format("may move by {} or {:.6g} %", may.absolute, 100 * may.relative);
  if (may.relative > 0) return fmt::format("may move by {:.6g} %", 100 * may.relative);
  return fmt::format("may move by {}", may.absolute);
}

std::string sentence(const CheckResult& result, const Change& change) {
  if (change.what == "case")
    return change.verdict == Verdict::New
               ? fmt::format("the case is new ({}): the baseline does not have it", change.after)
               : fmt::format("the case is gone: in the baseline it is {}", change.before);
  if (change.verdict == Verdict::New) return fmt::format("{} is new: {}", change.what, change.after);
  if (change.verdict == Verdict::Gone)
    return fmt::format("{} is gone: it was {}", change.what, change.before);
  std::string out = fmt::format("{} {} -> {}", change.what, change.before.empty() ? "none" : change.before,
                                change.after.empty() ? "none" : change.after);
  if (const std::string relative = relative_change(change); !relative.empty())
    out += fmt::format(" ({})", relative);
  out += fmt::format(": {}", name_of(change.verdict));
  if (const std::string_view direction = direction_of(change); !direction.empty())
    out += fmt::format(", {}", direction);
  if (const std::string_view meaning = meaning_of(change); !meaning.empty())
    out += fmt::format(" ({})", meaning);
  if (const std::string may = tolerance_text(result, change); !may.empty()) out += "; " + may;
  return out;
}

std::string headline(const CheckResult& result, const CaseVerdict& verdict) {
  std::string out;
  std::size_t told = 0;
  if (verdict.row != nullptr && !verdict.row->as_expected()) {
    out = unexpected_text(*verdict.row);
  } else {
    const auto worst =
        std::min_element(verdict.changes.begin(), verdict.changes.end(),
                         [](const Change* x, const Change* y) { return telling(*x) < telling(*y); });
    out = sentence(result, **worst);
    told = 1;
  }
  const std::size_t more = verdict.changes.size() - told;
  if (more > 0) out += fmt::format("; {} more change{}", more, more == 1 ? "" : "s");
  return out;
}

std::vector<std::string> all_lines(const CheckResult& result, const CaseVerdict& verdict) {
  std::vector<std::string> out;
  if (verdict.row != nullptr && !verdict.row->as_expected()) out.push_back(unexpected_text(*verdict.row));
  for (const Change* change : verdict.changes) out.push_back(sentence(result, *change));
  return out;
}

std::string unexpected_text(const CaseResult& row) {
  if (row.status == row.expect) return fmt::format("{}", fmt::join(row.over_limits, "; "));
  return fmt::format("expected {}, got {}{}{}", row.expect, row.status, row.error.empty() ? "" : ": ",
                     row.error);
}

}  // namespace pipeloom::study::gate
