#include "study/explain/shown/explain_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "study/text/numbers.hpp"

namespace pipeloom::study::explain {
namespace {

/// "+10.5 %"; "" of nothing.
std::string part_text(Ticks ticks, Ticks whole) {
  if (whole == 0) return {};
  return change_text(static_cast<double>(ticks) / static_cast<double>(whole));
}

/// Two digits that count are enough of a spread.
std::string spread_text(double sd, TimeUnit unit) {
  if (sd < 1) return {};
  const double step = std::pow(10.0, std::floor(std::log10(sd)) - 1);
  return study::time_text(std::llround(std::round(sd / step) * step), unit);
}

/// "rank 3", "ranks 0, 3"
std::string ranks_text(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i].value());
  return text;
}

}  // namespace

std::string signed_time(Ticks ticks, TimeUnit unit) {
  return fmt::format("{}{}", ticks > 0 ? "+" : "", study::time_text(ticks, unit));
}

std::string headline_of(const Explanation& explanation) {
  const TimeUnit unit = explanation.unit;
  const Ticks difference = explanation.measured - explanation.predicted;
  std::string text =
      fmt::format("measured {}, predicted {}: {}", study::time_text(explanation.measured, unit),
                  study::time_text(explanation.predicted, unit), signed_time(difference, unit));
  const std::string part = part_text(difference, explanation.predicted);
  if (!part.empty()) text += fmt::format(" ({})", part);
  if (explanation.steps > 1) text += fmt::format("; mean of {} steps", explanation.steps);
  return text;
}

Table causes_table(const Explanation& explanation) {
  Table table({{"cause", Align::Left},
               {"amount", Align::Right},
               {"of the step", Align::Right},
               {"sd", Align::Right},
               {"alone", Align::Right},
               {"if fixed", Align::Right}});
  const TimeUnit unit = explanation.unit;
  for (const Cause& cause : explanation.causes) {
    const bool is_rest = cause.kind == CauseKind::Noise || cause.kind == CauseKind::Unexplained;
    std::string text = cause.text;
    if (cause.kind != CauseKind::Costs)
      for (const std::string& other : cause.equivalent) text += fmt::format(" (or {})", other);
    table.add_row({text, signed_time(cause.amount, unit), part_text(cause.amount, explanation.predicted),
                   spread_text(cause.sd, unit), is_rest ? "" : signed_time(cause.alone, unit),
                   is_rest ? "" : signed_time(cause.if_fixed, unit)});
  }
  return table;
}

namespace {

/// What even ops do to the slowdown: "take 52 % of that away", "add 20 % to that".
std::string taken_text(double share) {
  const double percent = 100 * std::abs(share);
  return share < 0 ? fmt::format("add {:.0f} % to that", percent)
                   : fmt::format("take {:.0f} % of that away", percent);
}

/// What uneven ops come to where all others are even.
std::string made_text(double share) {
  return share < 0
             ? fmt::format("uneven ones only there make the step {:.0f} % of that shorter", -100 * share)
             : fmt::format("uneven ones only there make {:.0f} % of that", 100 * share);
}

constexpr std::size_t kMostSmall = 6;

std::vector<std::string> small_lines(const Explanation& explanation) {
  std::vector<std::string> lines;
  for (const Cause& cause : explanation.causes) {
    if (cause.kind != CauseKind::Costs || cause.equivalent.empty()) continue;
    lines.emplace_back("too small to name:");
    const std::size_t shown = std::min(kMostSmall, cause.equivalent.size());
    for (std::size_t i = 0; i < shown; ++i) lines.push_back("  " + cause.equivalent[i]);
    if (shown < cause.equivalent.size())
      lines.push_back(fmt::format("  and {} more", cause.equivalent.size() - shown));
  }
  return lines;
}

std::vector<std::string> straggler_lines(const Explanation& explanation) {
  if (!explanation.stragglers) return {};
  const Stragglers& found = *explanation.stragglers;
  return {fmt::format("uneven ops make the step {:.3f} times as long as even ones would", found.slowdown),
          fmt::format("  even ones on {} would {} (M_W), {}", ranks_text(found.workers.ranks),
                      taken_text(found.workers.removed), made_text(found.workers.added)),
          fmt::format("  even ones in the last stage, on {}, would {} (M_S), {}",
                      ranks_text(found.last_stage.ranks), taken_text(found.last_stage.removed),
                      made_text(found.last_stage.added))};
}

}  // namespace

std::vector<std::string> lines_below(const Explanation& explanation) {
  std::vector<std::string> lines = small_lines(explanation);
  for (std::string& line : straggler_lines(explanation)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace pipeloom::study::explain
