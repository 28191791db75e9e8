#pragma once

// Short texts of the chart.

#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/op.hpp>
#include "gui/model/run/run_model.hpp"
#include "sim/base/tick_sum.hpp"

namespace pipeloom::gui {

/// The legend's words for a kind: "F forward".
[[nodiscard]] std::string legend_text(OpKind kind);
/// A duration with a unit that suits it and at most four digits: "12.5 ms", "3 units".
[[nodiscard]] std::string duration_text(TickSum ticks, TimeUnit unit);
/// "units", "ms": the word after a number in the run's own unit.
[[nodiscard]] std::string_view unit_word(TimeUnit unit);
/// A part of the results at the end of a run's heading.
struct BadgePart {
  enum class Tone : std::uint8_t { Value, Quiet, Better, Worse };
  std::string text;
  Tone tone = Tone::Value;
  /// The number that it belongs to, the most important one first: where room is short, the last ones go.
  int group = 0;
};
/// "986.0 ms" " -18.7 %" " \u00b7 bubble 6.5 %" " -17.5" " \u00b7 peak 56.8 GB" " +0.4 GB": numbers, each with the difference from the baseline;
/// " baseline" after those of the baseline. Differences are left out where `baseline` is null or times cannot be compared; a run that hangs
/// has nothing but the time at which it stops.
[[nodiscard]] std::vector<BadgePart> badge_parts(const RunModel& run, const RunModel* baseline);
[[nodiscard]] std::string badge_text(const RunModel& run, const RunModel* baseline);

/// The heading of a run: its name, and its shape, "p 8 \u00b7 m 24 \u00b7 v 2".
struct RunHeading {
  std::string name;
  std::string shape;
};
/// `title` is its name in the stack; a shape at the end of the title is not repeated.
[[nodiscard]] RunHeading heading_of(const RunModel& run, const std::string& title);
/// The text inside a gap: "warmup \u00b7 175 ms".
[[nodiscard]] std::string gap_words(const RunModel& run, const IdleSpan& gap);
/// The sign of the step time's change: -1 if it is shorter than the baseline's, 1 if it is longer, else 0.
[[nodiscard]] int change_of(const RunModel& run, const RunModel* baseline);
/// The text that a pointer at rest on an op shows: lines separated by '\n'. "3B7", rank, start, end and duration.
[[nodiscard]] std::string op_tooltip(const RunModel& run, std::size_t position);
/// The same for a gap of `rank`: cause, duration, start and end.
[[nodiscard]] std::string gap_tooltip(const RunModel& run, Rank rank, const IdleSpan& gap);

/// The same for a message under way: its tensor, sender, receiver, and time.
[[nodiscard]] std::string message_tooltip(const RunModel& run, const MessageBar& message);

}  // namespace pipeloom::gui
