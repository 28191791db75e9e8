#include "study/explain/shown/explain_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/kinds.hpp"
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

std::string why_of(const Explanation& explanation) {
  const TimeUnit unit = explanation.unit;
  const Ticks difference = explanation.measured - explanation.predicted;
  if (difference == 0 || explanation.causes.empty()) return {};
  std::string text = fmt::format("{} than predicted by {}", difference > 0 ? "Slower" : "Faster",
                                 study::time_text(std::abs(difference), unit));
  const std::string part = part_text(difference, explanation.predicted);
  if (!part.empty()) text += fmt::format(" ({})", part);
  const Cause& largest = explanation.causes.front();
  text += fmt::format(". Largest cause: {}, {}", largest.text, signed_time(largest.amount, unit));
  const std::string spread = spread_text(largest.sd, unit);
  if (!spread.empty()) text += ", give or take " + spread;
  return text + ".";
}

namespace {

/// The gain of a step where these ranks work as evenly as the others.
std::string evened_text(double removed) {
  constexpr double kAll = 0.95;
  constexpr double kNone = 0.05;
  if (removed >= kAll) return "as even as the others, it would leave nothing of it";
  if (removed > kNone)
    return fmt::format("as even as the others, it would take {:.0f} % of it away", 100 * removed);
  return "made even alone, it would change nothing";
}

std::string straggler_sentence(const std::string& who, const StragglerShare& share) {
  return fmt::format("{} makes {:.0f} % of that by itself; {}.", who, 100 * std::clamp(share.added, 0.0, 1.0),
                     evened_text(share.removed));
}

}  // namespace

std::vector<std::string> plain_lines_below(const Explanation& explanation) {
  std::vector<std::string> lines = small_lines(explanation);
  if (!explanation.stragglers) return lines;
  const Stragglers& found = *explanation.stragglers;
  lines.push_back(fmt::format("With the same work everywhere the step would be {} shorter.",
                              percent_text(1 - 1 / found.slowdown)));
  std::string who = ranks_text(found.workers.ranks);
  who.front() = 'R';
  lines.push_back(straggler_sentence(who, found.workers));
  constexpr double kWorthSaying = 0.05;
  if (found.last_stage.ranks != found.workers.ranks && found.last_stage.added > kWorthSaying)
    lines.push_back(straggler_sentence(
        fmt::format("The last stage, on {},", ranks_text(found.last_stage.ranks)), found.last_stage));
  return lines;
}

namespace {

template <class Number>
void write_index(io::JsonWriter& out, std::string_view name, const std::optional<Number>& index) {
  if (index) out.member(name, index->value());
}

void write_cause(io::JsonWriter& out, const Cause& cause, TimeUnit unit) {
  out.object().member("kind", name_of(cause.kind));
  write_index(out, "rank", cause.rank);
  write_index(out, "stage", cause.stage);
  write_index(out, "microbatch", cause.microbatch);
  if (cause.op_kind) out.member("op_kind", std::string(1, letter_of(*cause.op_kind)));
  write_index(out, "from", cause.from);
  write_index(out, "to", cause.to);
  if (cause.kind == CauseKind::Link) out.member("both_ways", cause.both_ways);
  if (!cause.ops.empty()) {
    out.key("ops").array();
    for (const Op op : cause.ops) out.quoted(op);
    out.close();
  }
  if (!cause.ranks.empty()) {
    out.key("ranks").array();
    for (const Rank rank : cause.ranks) out.value(rank.value());
    out.close();
  }
  if (cause.factor) out.member("factor", *cause.factor);
  if (cause.added) out.key("added").ticks(*cause.added, unit);
  out.key("amount").ticks(cause.amount, unit).key("sd").ticks(std::llround(cause.sd), unit);
  if (cause.kind != CauseKind::Noise && cause.kind != CauseKind::Unexplained)
    out.key("alone").ticks(cause.alone, unit).key("if_fixed").ticks(cause.if_fixed, unit);
  out.member("equivalent", cause.equivalent).member("text", cause.text).close();
}

void write_causes(io::JsonWriter& out, std::string_view name, const std::vector<Cause>& causes, TimeUnit unit,
                  int blanks) {
  out.line(blanks).key(name).array();
  for (const Cause& cause : causes) write_cause(out.line(blanks + 2), cause, unit);
  out.close(blanks);
}

void write_share(io::JsonWriter& out, std::string_view name, const StragglerShare& share) {
  out.key(name).object().key("ranks").array();
  for (const Rank rank : share.ranks) out.value(rank.value());
  out.close().member("removed", share.removed).member("added", share.added).close();
}

void write_stragglers(io::JsonWriter& out, const Stragglers& found) {
  out.key("stragglers").object().member("slowdown", found.slowdown);
  write_share(out, "m_w", found.workers);
  write_share(out, "m_s", found.last_stage);
  out.close();
}

}  // namespace

void write_explanation(io::JsonWriter& out, const Explanation& explanation, std::string_view transfer_model,
                       int blanks) {
  const TimeUnit unit = explanation.unit;
  out.object().line(blanks).member("schema_version", 1).line(blanks).member("time_unit", name_of(unit));
  out.line(blanks).key("predicted").ticks(explanation.predicted, unit);
  out.key("measured").ticks(explanation.measured, unit);
  out.key("difference").ticks(explanation.measured - explanation.predicted, unit);
  out.line(blanks).member("steps", explanation.steps).member("transfer_model", transfer_model);
  out.member("noise_sigma", explanation.sigma).member("cost_sigma", explanation.cost_sigma);
  write_causes(out, "causes", explanation.causes, unit, blanks);
  write_causes(out, "hidden", explanation.hidden, unit, blanks);
  if (explanation.stragglers) write_stragglers(out.line(blanks), *explanation.stragglers);
  out.line(blanks).key("clock_offsets").array();
  if (explanation.clocks_apart)
    for (const Ticks offset : explanation.clock_offset) out.ticks(offset, unit);
  out.close().line(blanks).member("warnings", explanation.warnings).close(blanks - 2);
}

std::string explanation_json(const Explanation& explanation, std::string_view transfer_model) {
  const auto write = [&](io::JsonWriter& out) { write_explanation(out, explanation, transfer_model, 2); };
  return io::written_json(io::kReportStyle, write) + "\n";
}

}  // namespace pipeloom::study::explain
