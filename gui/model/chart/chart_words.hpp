#pragma once

// Short texts of the chart.

#include <string>

#include <pipeloom/metrics.hpp>
#include <pipeloom/op.hpp>
#include "gui/model/run/run_model.hpp"
#include "sim/base/tick_sum.hpp"

namespace pipeloom::gui {

/// The legend's words for a kind: "F forward".
[[nodiscard]] std::string legend_text(OpKind kind);
/// A duration with a unit that suits it and at most four digits: "12.5 ms", "3 units".
[[nodiscard]] std::string duration_text(TickSum ticks, TimeUnit unit);
/// What a pointer at rest on an op shows: lines separated by '\n'. "3B7", rank, start, end and duration.
[[nodiscard]] std::string op_tooltip(const RunModel& run, std::size_t position);
/// The same for a gap of `rank`: cause, duration, start and end.
[[nodiscard]] std::string gap_tooltip(const RunModel& run, Rank rank, const IdleSpan& gap);

/// The same for a message under way: what, from where to where, how long.
[[nodiscard]] std::string message_tooltip(const RunModel& run, const MessageBar& message);

}  // namespace pipeloom::gui
