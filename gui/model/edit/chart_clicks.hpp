#pragma once

// What a click in the chart does (the table is in chart_pointer.hpp).

#include "gui/model/edit/chart_pointer.hpp"

namespace pipeloom::gui {

/// The left button went down and up in one place.
void click_chart(Session& session, const ChartLayout& layout, const ChartPress& press);
/// Comes behind the click that the first of the two was; `press` is that one.
void double_click_chart(Session& session, const ChartLayout& layout, const Hit& at, const ChartPress& press);

/// The end of a range that is further from `time`.
[[nodiscard]] double far_end(const MeasuredRange& range, double time);
/// Both in ticks, in any order.
[[nodiscard]] MeasuredRange measured_between(double a, double b);

}  // namespace pipeloom::gui
