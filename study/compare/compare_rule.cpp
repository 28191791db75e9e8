#include "study/compare/compare_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "sim/base/text_tools.hpp"

namespace pipeloom::study {
namespace {

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MetricRow& row : compare_all_metrics({})) names.emplace_back(row.name);
  return names;
}

/// "makespan, bubble_ratio or idle": the metrics that measured runs have as well.
std::string always_known() {
  std::string out;
  std::string last;
  for (const Metric* metric : listed(&Metric::compare)) {
    if (metric->needs != Needs::Timeline) continue;
    if (!last.empty()) out += out.empty() ? last : ", " + last;
    last = metric->name;
  }
  return out + " or " + last;
}

void read_number(std::string_view text, CompareRule& rule, const Where& where) {
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  rule.against = is_signed ? CompareRule::Against::Difference : CompareRule::Against::Value;
  if (text.ends_with('%')) {
    rule.against = CompareRule::Against::Percent;
    text = trimmed(text.substr(0, text.size() - 1), " ");
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rule.number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(rule.number))
    throw InputError(
        where, fmt::format("found '{}' as the number; allowed are 12.5, +1% and +3", shortened(text, 40)));
}

double tick_scale(const MetricRow& row, TimeUnit unit) {
  return row.unit == Unit::Time ? static_cast<double>(ticks_per(unit)) : 1;
}

double measured(const CompareRule& rule, const MetricRow& row, std::size_t run, TimeUnit unit) {
  const double value = *row.values[run];
  const double baseline = *row.values[0];
  switch (rule.against) {
    case CompareRule::Against::Value:
      return value / tick_scale(row, unit);
    case CompareRule::Against::Difference:
      return (value - baseline) / tick_scale(row, unit);
    case CompareRule::Against::Percent:
      break;
  }
  if (baseline == 0) return value == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), value);
  return 100 * (value - baseline) / baseline;
}

}  // namespace

CompareRule parse_compare_rule(std::string_view text, const Where& where) {
  CompareRule rule;
  rule.text = std::string(text);
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos)
    throw InputError(where, fmt::format("found '{}'; a rule is METRIC > NUMBER, such as makespan>+1%",
                                        shortened(text, 60)));
  rule.metric = std::string(trimmed(text.substr(0, at), " "));
  rule.greater = text[at] == '>';
  rule.or_equal = at + 1 < text.size() && text[at + 1] == '=';
  const std::vector<std::string> names = metric_names();
  if (std::find(names.begin(), names.end(), rule.metric) == names.end())
    throw InputError::unknown_name(where, "metric", shortened(rule.metric, 64), names);
  read_number(trimmed(text.substr(at + (rule.or_equal ? 2 : 1)), " "), rule, where);
  return rule;
}

bool breaks(const CompareRule& rule, const Run& run) {
  if (rule.against != CompareRule::Against::Value)
    throw InputError(
        Where{"--fail-if"},
        fmt::format("'{}' is about a change, and there is one run; give the value itself, such as "
                    "'bubble_ratio>0.2', or use `pipeloom compare`",
                    shortened(rule.text, 60)));
  const Run* const runs[] = {&run};
  return breaks(rule, compare_all_metrics(runs), 0, run.timeline.unit);
}

bool breaks(const CompareRule& rule, std::span<const MetricRow> rows, std::size_t run, TimeUnit unit) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const MetricRow& one) { return one.name == rule.metric; });
  if (row == rows.end() || !row->values[0] || !row->values[run])
    throw InputError(Where{"--fail-if"},
                     fmt::format("{} is not known here; use {}", rule.metric, always_known()));
  const double found = measured(rule, *row, run, unit);
  if (rule.or_equal && found == rule.number) return true;
  return rule.greater ? found > rule.number : found < rule.number;
}

}  // namespace pipeloom::study
