#include "gui/model/edit/chart_clicks.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/model/chart/navigation.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/session/command.hpp"

namespace pipeloom::gui {
namespace {

Ticks rounded(double time) {
  return static_cast<Ticks>(std::llround(time));
}

void click_header(Session& session, const ChartLayout& layout, const Hit& at) {
  const std::string rank = std::to_string(at.rank->value());
  if (at.button == HeaderButton::Pin) {
    run_command(session, "pin-rank", rank);
  } else if (at.button == HeaderButton::Collapse) {
    run_command(session, "collapse-rank", rank);
  } else {
    const RunModel& run = *layout.blocks[*at.block].run;
    const double middle = (layout.range.start + layout.range.end) / 2;
    const std::size_t op = op_near(run, *at.rank, rounded(middle));
    if (op != OpWalk::kNone) select_op(session, {run.id, op}, Reveal::No);
  }
}

/// The nearer end of the range goes to the pointer; without one, a range from the selection.
void extend_range(Session& session, double time) {
  std::optional<MeasuredRange> old = session.range;
  if (!old)
    if (const auto span = selected_span(session)) old = MeasuredRange{span->start, span->end};
  const MeasuredRange range = measured_between(old ? far_end(*old, time) : time, time);
  if (range.end > range.start) session.range = range;
}

void click_in_rows(Session& session, const ChartLayout& layout, const ChartPress& press) {
  const Hit& at = press.hit;
  if (press.shift) {
    extend_range(session, press.time);
  } else if (at.op) {
    select_op(session, *at.op, Reveal::No);
  } else if (at.gap) {
    select_gap(session, *at.gap, Reveal::No);
  } else if (at.message) {
    // A message is what its consumer waits for.
    const RunModel& run = *layout.blocks[*at.block].run;
    select_op(session, {run.id, run.message_bars[*at.message].consumer}, Reveal::No);
  } else {
    session.selection.clear();
    session.range.reset();
  }
}

}  // namespace

double far_end(const MeasuredRange& range, double time) {
  const auto start = static_cast<double>(range.start);
  const auto end = static_cast<double>(range.end);
  return std::abs(time - start) > std::abs(time - end) ? start : end;
}

MeasuredRange measured_between(double a, double b) {
  return {rounded(std::min(a, b)), rounded(std::max(a, b))};
}

void click_chart(Session& session, const ChartLayout& layout, const ChartPress& press) {
  const Hit& at = press.hit;
  switch (at.area) {
    case ChartArea::Legend:
      if (at.kind) session.view.hidden_kinds ^= 1U << index_of(*at.kind);
      break;
    case ChartArea::RowHeader:
      click_header(session, layout, at);
      break;
    case ChartArea::Title:
      if (at.block) session.active = layout.blocks[*at.block].index;
      break;
    case ChartArea::Lane:
    case ChartArea::RowSpace:
      click_in_rows(session, layout, press);
      break;
    default:
      break;
  }
}

void double_click_chart(Session& session, const ChartLayout& layout, const Hit& at, const ChartPress& press) {
  if (at.area == ChartArea::Legend && at.kind) {
    // The first click of the two has hidden it or shown it again.
    session.view.hidden_kinds &= ~(1U << index_of(*at.kind));
    session.selection.kind = session.selection.kind == at.kind ? std::nullopt : std::optional(*at.kind);
  } else if (at.area == ChartArea::RowHeader && at.button == HeaderButton::None) {
    run_command(session, "collapse-rank", std::to_string(at.rank->value()));
  } else if (at.area == ChartArea::RowHeader || at.area == ChartArea::Title) {
    click_chart(session, layout, press);
  } else if (at.area == ChartArea::Ruler || at.area == ChartArea::Minimap) {
    fit_all(session);
  } else if (at.op || at.gap) {
    if (at.op) select_op(session, *at.op, Reveal::No);
    if (at.gap) select_gap(session, *at.gap, Reveal::No);
    fit_span(session, *selected_span(session));
  }
}

}  // namespace pipeloom::gui
