#pragma once

// Rules on changes that must not happen between two runs: "makespan>+1%", as `pipeloom compare --fail-if` takes it.

#include <span>
#include <string>
#include <string_view>

#include "study/compare/compare.hpp"

namespace pipeloom::study {

/// METRIC, one of > >= < <=, and a number. With % it is the change against the baseline; with a sign but no % the difference, in the
/// baseline's unit; else the value itself. Blanks are allowed between the three.
///
///   makespan>+1%         more than a hundredth above the baseline
///   idle > +3            more than 3 above the baseline
///   idle.transfer>+10%   a tenth more waiting for transfers
///   bubble_ratio>=0.25   a quarter or more, whatever the baseline has
struct CompareRule {
  enum class Against : unsigned char { Value, Difference, Percent };
  std::string text;
  std::string metric;  ///< of compare_all_metrics()
  bool greater = true;
  bool or_equal = false;
  Against against = Against::Value;
  double number = 0;
};

/// Throws InputError at `where` for a text that is no rule, or a metric that no comparison has.
[[nodiscard]] CompareRule parse_compare_rule(std::string_view text, const Where& where);

/// True if the run breaks a rule on values: "bubble_ratio>0.2". Throws InputError if the rule is about a change, or the run does not know
/// the metric.
[[nodiscard]] bool breaks(const CompareRule& rule, const Run& run);
/// True if runs[run] breaks the rule. Against a baseline of 0, any more than 0 is infinitely many percent. Throws InputError if either run
/// does not know the metric.
[[nodiscard]] bool breaks(const CompareRule& rule, std::span<const MetricRow> rows, std::size_t run,
                          TimeUnit unit);

}  // namespace pipeloom::study
