#include "gui/model/chart/chart_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/session/thin_spaces.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

struct Unit {
  double ticks;
  std::string_view name;
};
// Picoseconds to seconds.
constexpr std::array<Unit, 5> kSeconds = {{{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}}};

/// Writes at most four digits, without zeros at the end.
std::string short_number(double value) {
  const double size = std::abs(value);
  const int digits = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, digits);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

Rank rank_of(const RunModel& run, std::size_t position) {
  return run.schedule->rank_of_op(position % run.schedule->num_ops());
}

std::string times_text(Ticks start, Ticks end, TimeUnit unit) {
  return fmt::format("{} to {}", duration_text(start, unit), duration_text(end, unit));
}

}  // namespace

std::string legend_text(OpKind kind) {
  return fmt::format("{} {}", letter_of(kind), words_of(kind));
}

std::string duration_text(TickSum ticks, TimeUnit unit) {
  const auto value = static_cast<double>(ticks);
  if (unit == TimeUnit::Unit) {
    const std::string number = short_number(value / static_cast<double>(ticks_per(unit)));
    return with_thin_spaces(number) + (number == "1" ? " unit" : " units");
  }
  const auto* const fits = std::find_if(kSeconds.begin(), kSeconds.end() - 1,
                                        [&](const Unit& one) { return std::abs(value) >= one.ticks; });
  const Unit& chosen = ticks == 0 ? kSeconds[1] : *fits;
  return fmt::format("{} {}", short_number(value / chosen.ticks), chosen.name);
}

std::string_view unit_word(TimeUnit unit) {
  return unit == TimeUnit::Unit ? "units" : name_of(unit);
}

namespace {

/// The step time; of a run that was measured over several steps, that of the first.
Ticks step_of(const RunModel& run) {
  return run.metrics && run.metrics->step_time > 0 ? run.metrics->step_time : span_of(run.timeline).length();
}

bool are_comparable(const RunModel& run, const RunModel* baseline) {
  return baseline != nullptr && baseline->id != run.id && !run.hang && !baseline->hang && !run.cut &&
         !baseline->cut && step_of(*baseline) > 0 &&
         (run.timeline.unit == TimeUnit::Unit) == (baseline->timeline.unit == TimeUnit::Unit);
}

Bytes peak_of(const RunModel& run) {
  return run.metrics->ranks[run.metrics->peak_rank.at()].memory.peak_bytes;
}

BadgePart::Tone tone_of(double change) {
  return change == 0 ? BadgePart::Tone::Quiet : change < 0 ? BadgePart::Tone::Better : BadgePart::Tone::Worse;
}

/// Empty where the two have different units.
std::optional<Bytes> peak_change(const RunModel& run, const RunModel& baseline) {
  const MemoryModel& memory = *run.memory;
  if (memory.parts != baseline.memory->parts ||
      counts_activations(memory) != counts_activations(*baseline.memory))
    return std::nullopt;
  return peak_of(run) - peak_of(baseline);
}

void add_step(std::vector<BadgePart>& out, const RunModel& run, const RunModel* baseline) {
  std::string text = study::time_with_unit(step_of(run), run.timeline.unit);
  if (run.hang) text = "deadlock at " + text;
  out.push_back({std::move(text), BadgePart::Tone::Value, 0});
  if (baseline == nullptr) return;
  const double change = static_cast<double>(step_of(run)) / static_cast<double>(step_of(*baseline)) - 1;
  out.push_back({fmt::format(" {}", change_text(change)), tone_of(change), 0});
}

void add_bubble(std::vector<BadgePart>& out, const RunModel& run, const RunModel* baseline) {
  out.push_back(
      {fmt::format(" \u00b7 bubble {}", percent_text(run.metrics->bubble_ratio)), BadgePart::Tone::Value, 1});
  if (baseline == nullptr || !baseline->metrics) return;
  const double change = 100 * (run.metrics->bubble_ratio - baseline->metrics->bubble_ratio);
  out.push_back({fmt::format(" {:+.1f}", change), tone_of(change), 1});
}

void add_peak(std::vector<BadgePart>& out, const RunModel& run, const RunModel* baseline) {
  if (!run.memory || run.metrics->ranks.empty()) return;
  const MemoryModel& memory = *run.memory;
  out.push_back({" \u00b7 peak " + memory_cell(memory, peak_of(run)), BadgePart::Tone::Value, 2});
  if (baseline == nullptr || !baseline->memory || !baseline->metrics || baseline->metrics->ranks.empty())
    return;
  const Bytes change = peak_change(run, *baseline).value_or(0);
  if (change == 0) return;
  out.push_back({fmt::format(" {}{}", change < 0 ? "-" : "+", memory_cell(memory, std::abs(change))),
                 tone_of(static_cast<double>(change)), 2});
}

}  // namespace

int change_of(const RunModel& run, const RunModel* baseline) {
  if (!are_comparable(run, baseline) || step_of(run) == step_of(*baseline)) return 0;
  return step_of(run) < step_of(*baseline) ? -1 : 1;
}

std::vector<BadgePart> badge_parts(const RunModel& run, const RunModel* baseline) {
  const RunModel* other = are_comparable(run, baseline) ? baseline : nullptr;
  std::vector<BadgePart> out;
  add_step(out, run, other);
  // An unfinished step has no meaningful share of idle time.
  if (!run.partial.empty()) out.push_back({" \u00b7 " + run.partial, BadgePart::Tone::Worse, 0});
  if (run.metrics && !run.hang) {
    add_bubble(out, run, other);
    add_peak(out, run, other);
  }
  if (baseline != nullptr && baseline->id == run.id) out.push_back({" baseline", BadgePart::Tone::Quiet, 0});
  for (BadgePart& part : out) part.text = with_thin_spaces(part.text);
  return out;
}

std::string badge_text(const RunModel& run, const RunModel* baseline) {
  std::string text;
  for (const BadgePart& part : badge_parts(run, baseline)) text += part.text;
  return text;
}

RunHeading heading_of(const RunModel& run, const std::string& title) {
  const Schedule& schedule = *run.schedule;
  const int chunks = schedule.stages() / std::max(1, schedule.ranks());
  RunHeading out{title, fmt::format("p {} \u00b7 m {}", schedule.ranks(), schedule.microbatches())};
  if (chunks > 1) out.shape += fmt::format(" \u00b7 v {}", chunks);
  for (const std::string& said :
       {fmt::format(" p={} m={} v={}", schedule.ranks(), schedule.microbatches(), chunks),
        fmt::format(" p={} m={}", schedule.ranks(), schedule.microbatches())}) {
    const std::size_t at = out.name.find(said);
    if (at != std::string::npos) out.name.erase(at, said.size());
  }
  return out;
}

std::string gap_words(const RunModel& run, const IdleSpan& gap) {
  return fmt::format("{} \u00b7 {}", name_of(gap.cause),
                     duration_text(gap.end - gap.start, run.timeline.unit));
}

std::string op_tooltip(const RunModel& run, std::size_t position) {
  const Op op = run.schedule->ops()[position % run.schedule->num_ops()];
  const Timeline& timeline = run.timeline;
  std::string text = fmt::format("{}  {}\nrank {}, stage {}, microbatch {}", to_text(op), words_of(op.kind()),
                                 rank_of(run, position).value(), op.stage().value(), op.microbatch().value());
  if (op.is_sliced()) text += fmt::format(", slice {}", op.slice());
  if (timeline.steps > 1) text += fmt::format(", step {}", position / run.schedule->num_ops());
  return text + fmt::format("\n{}\n{}",
                            duration_text(timeline.end[position] - timeline.start[position], timeline.unit),
                            times_text(timeline.start[position], timeline.end[position], timeline.unit));
}

std::string gap_tooltip(const RunModel& run, Rank rank, const IdleSpan& gap) {
  return fmt::format("idle: {}\nrank {}\n{}\n{}", name_of(gap.cause), rank.value(),
                     duration_text(gap.end - gap.start, run.timeline.unit),
                     times_text(gap.start, gap.end, run.timeline.unit));
}

std::string message_tooltip(const RunModel& run, const MessageBar& message) {
  const auto ops = run.schedule->ops();
  return fmt::format("{} of {} for {}\nrank {} to rank {}\n{}\n{}",
                     message.gradient ? "gradient" : "activation", to_text(ops[message.producer]),
                     to_text(ops[message.consumer]), message.from.value(), message.to.value(),
                     duration_text(message.end - message.start, run.timeline.unit),
                     times_text(message.start, message.end, run.timeline.unit));
}

}  // namespace pipeloom::gui
