#include "gui/model/chart/chart_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
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

/// At most four digits, no zeros at the end.
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
    return number + (number == "1" ? " unit" : " units");
  }
  const auto* const fits = std::find_if(kSeconds.begin(), kSeconds.end() - 1,
                                        [&](const Unit& one) { return std::abs(value) >= one.ticks; });
  const Unit& chosen = ticks == 0 ? kSeconds[1] : *fits;
  return fmt::format("{} {}", short_number(value / chosen.ticks), chosen.name);
}

namespace {

Ticks step_of(const RunModel& run) {
  return run.metrics && run.metrics->step_time > 0 ? run.metrics->step_time : run.span().length();
}

bool are_comparable(const RunModel& run, const RunModel* baseline) {
  return baseline != nullptr && baseline->id != run.id && !run.hang && !baseline->hang &&
         step_of(*baseline) > 0 &&
         (run.timeline.unit == TimeUnit::Unit) == (baseline->timeline.unit == TimeUnit::Unit);
}

Bytes peak_of(const RunModel& run) {
  return run.metrics->ranks[run.metrics->peak_rank.at()].memory.peak_bytes;
}

/// " +1.2 GB"; "" where the two are not told in the same things.
std::string peak_change(const RunModel& run, const RunModel& baseline) {
  const MemoryModel& memory = *run.memory;
  if (memory.parts != baseline.memory->parts ||
      counts_activations(memory) != counts_activations(*baseline.memory))
    return "";
  const Bytes change = peak_of(run) - peak_of(baseline);
  if (change == 0) return "";
  return fmt::format(" {}{}", change < 0 ? "-" : "+", memory_cell(memory, std::abs(change)));
}

}  // namespace

int change_of(const RunModel& run, const RunModel* baseline) {
  if (!are_comparable(run, baseline) || step_of(run) == step_of(*baseline)) return 0;
  return step_of(run) < step_of(*baseline) ? -1 : 1;
}

std::string badge_text(const RunModel& run, const RunModel* baseline) {
  const bool compared = are_comparable(run, baseline);
  std::string text = study::time_text(step_of(run), run.timeline.unit);
  if (run.timeline.unit == TimeUnit::Unit) text += " units";
  if (compared)
    text +=
        fmt::format(" {:+.1f} %",
                    100 * (static_cast<double>(step_of(run)) / static_cast<double>(step_of(*baseline)) - 1));
  if (!run.metrics) return text;
  text += fmt::format("   bubble {:.1f} %", 100 * run.metrics->bubble_ratio);
  const bool both = compared && baseline->metrics.has_value();
  if (both)
    text += fmt::format(" {:+.1f}", 100 * (run.metrics->bubble_ratio - baseline->metrics->bubble_ratio));
  if (run.memory && !run.metrics->ranks.empty()) {
    text += "   peak " + memory_cell(*run.memory, peak_of(run));
    if (both && baseline->memory && !baseline->metrics->ranks.empty()) text += peak_change(run, *baseline);
  }
  return baseline != nullptr && baseline->id == run.id ? text + "   baseline" : text;
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
