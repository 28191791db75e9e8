#include "gui/model/edit/chart_pointer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/edit/what_if.hpp"
#include "gui/model/session/command.hpp"

namespace pipeloom::gui {
namespace {

/// The end of a range that is further from `time`.
double far_end(const MeasuredRange& range, double time) {
  const auto start = static_cast<double>(range.start);
  const auto end = static_cast<double>(range.end);
  return std::abs(time - start) > std::abs(time - end) ? start : end;
}

/// Both in ticks, in any order.
MeasuredRange measured_between(double a, double b) {
  return {nearest_tick(std::min(a, b)), nearest_tick(std::max(a, b))};
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
    const std::size_t op = op_near(run, *at.rank, nearest_tick(middle));
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
  } else if (at.waiting) {
    session.active = layout.blocks[*at.block].index;
    select_waiting(session, *at.waiting);
  } else if (at.gap) {
    select_gap(session, *at.gap, Reveal::No);
  } else if (at.message) {
    // A click on a message selects the op that waits for it.
    const RunModel& run = *layout.blocks[*at.block].run;
    select_op(session, {run.id, run.message_bars[*at.message].consumer}, Reveal::No);
  } else {
    session.selection.clear();
    session.range.reset();
  }
}

/// Within the active run.
void put_cursor(Session& session, double time) {
  const RunModel* const run = session.active_run();
  if (run == nullptr) return;
  session.part<ChartPart>().cursor =
      std::clamp(time, static_cast<double>(run->span().start), static_cast<double>(run->span().end));
}

/// The left button went down and up in one place (the table is in the header).
void click_chart(Session& session, const ChartLayout& layout, const ChartPress& press) {
  const Hit& at = press.hit;
  switch (at.area) {
    case ChartArea::Legend:
      if (at.kind) session.view.hidden_kinds ^= 1U << index_of(*at.kind);
      break;
    case ChartArea::RowHeader:
      click_header(session, layout, at);
      break;
    case ChartArea::Ruler:
      put_cursor(session, press.time);
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

/// Called after the click that the first of the two was; `press` is that one.
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

/// Per step of the wheel.
constexpr double kRowPixels = 48;
constexpr double kPanShare = 0.1;

using Drag = PointerPart::Drag;

/// The distance from an op's end at which a press takes hold of it, in pixels at scale 1; of narrow ops a third, of those below kLeastHeld nothing.
constexpr double kEdgeInside = 4;
constexpr double kEdgeBeyond = 2;
constexpr double kLeastHeld = 9;

/// The op whose end is drawn at (x, y), if it is in sight.
std::optional<OpRef> edge_at(const ChartLayout& layout, double x, double y) {
  for (const double back : {0.0, kEdgeBeyond * layout.scale}) {
    const Hit hit = layout.hit(x - back, y);
    const auto box = hit.op ? layout.rect_of(*hit.op) : std::nullopt;
    if (!box || box->width() < kLeastHeld * layout.scale || box->x1 >= layout.plot.x1) continue;
    const double inside = std::min(kEdgeInside * layout.scale, box->width() / 3);
    if (x >= box->x1 - inside && x <= box->x1 + kEdgeBeyond * layout.scale) return hit.op;
  }
  return std::nullopt;
}

CostScope scope_of(bool shift, bool ctrl) {
  return shift ? CostScope::Op : ctrl ? CostScope::Rank : CostScope::StageKind;
}

TimeRange ordered(double a, double b) {
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace

/// One event, with everything that it is about at hand.
class PointerEvent {
 public:
  PointerEvent(Session& session, const ChartLayout& layout, const ChartPointer& event)
      : session_(session), layout_(layout), event_(event), part_(session.part<PointerPart>()) {}

  void run() {
    switch (event_.type) {
      case ChartPointer::Type::Move:
        look();
        if (part_.drag != Drag::None) drag();
        break;
      case ChartPointer::Type::Press:
        look();
        press();
        break;
      case ChartPointer::Type::Release:
        look();
        if (part_.drag != Drag::None && event_.button == part_.press_.button) release();
        break;
      case ChartPointer::Type::DoubleClick:
        look();
        double_click();
        break;
      case ChartPointer::Type::Wheel:
        look();
        wheel();
        break;
      case ChartPointer::Type::Leave:
        leave();
        break;
    }
  }

 private:
  [[nodiscard]] bool in_time(const Hit& hit) const {
    return hit.area == ChartArea::Lane || hit.area == ChartArea::RowSpace || hit.area == ChartArea::Ruler ||
           hit.area == ChartArea::Memory;
  }
  [[nodiscard]] double share_at(double x) const {
    return layout_.plot.width() > 0 ? (x - layout_.plot.x0) / layout_.plot.width() : 0.5;
  }
  [[nodiscard]] const Hit& hit() const { return *part_.hit; }

  /// Finds the thing under the pointer now: hover, the line of time, where keys zoom.
  void look() {
    part_.hit = layout_.hit(event_.x, event_.y);
    const bool over_plot = in_time(hit()) && event_.x >= layout_.plot.x0 && event_.x < layout_.plot.x1;
    part_.time = over_plot ? std::optional(hit().time) : std::nullopt;
    session_.part<Navigation>().pointer_share = over_plot ? std::optional(share_at(event_.x)) : std::nullopt;
    session_.selection.hover = hit().op;
    if (part_.drag == Drag::None)
      part_.edge = hit().area == ChartArea::Lane && !session_.part<ScheduleEditor>().editing()
                       ? edge_at(layout_, event_.x, event_.y)
                       : std::nullopt;
  }

  void leave() {
    part_.hit.reset();
    part_.time.reset();
    part_.edge.reset();
    session_.part<Navigation>().pointer_share.reset();
    session_.selection.hover.reset();
  }

  void press() {
    if (hit().area == ChartArea::None) return;
    // A second button during a drag is no drag of its own.
    if (part_.drag != Drag::None) return;
    part_.drag = Drag::Pending;
    part_.press_ = {event_.button, event_.x,      event_.y,     layout_.time_of(event_.x),
                    hit(),         event_.alt,    event_.shift, part_.edge,
                    layout_.range, layout_.scroll};
    session_.part<Navigation>().end_gesture();
    if (scrolls_rows(hit().area)) start_rows();
    if (hit().area == ChartArea::Minimap && kind_of_drag() == Drag::Window) start_window();
  }

  [[nodiscard]] static bool scrolls_rows(ChartArea area) {
    return area == ChartArea::Overview || area == ChartArea::ScrollBar;
  }

  /// The meaning of a motion that began where the button went down.
  [[nodiscard]] Drag kind_of_drag() const {
    const ChartArea area = part_.press_.hit.area;
    const bool left = part_.press_.button == MouseButton::Left;
    if (area == ChartArea::Minimap) return left && !part_.press_.alt ? Drag::Window : Drag::NewWindow;
    if (scrolls_rows(area)) return Drag::Rows;
    if (area == ChartArea::RowHeader && left && part_.press_.hit.button == HeaderButton::None)
      return Drag::Rank;
    if (area == ChartArea::Ruler && left && on_handle()) return Drag::Cursor;
    if (area == ChartArea::Ruler) return part_.press_.button == MouseButton::Right ? Drag::Pan : Drag::Zoom;
    if (!in_time(part_.press_.hit)) return Drag::None;
    if (part_.press_.button == MouseButton::Right) return Drag::Pan;
    if (part_.press_.button == MouseButton::Middle || part_.press_.alt) return Drag::Zoom;
    return Drag::Measure;
  }

  /// True if the button went down on the time cursor's handle.
  [[nodiscard]] bool on_handle() const {
    const std::optional<double>& cursor = session_.part<ChartPart>().cursor;
    return cursor && std::abs(layout_.x_of(*cursor) - part_.press_.x) <= kCursorReach * layout_.scale;
  }

  void drag() {
    if (part_.drag == Drag::Pending) {
      const double moved = std::hypot(event_.x - part_.press_.x, event_.y - part_.press_.y);
      if (moved < kDragThreshold * layout_.scale) return;
      part_.drag = takes_op() ? Drag::Op : kind_of_drag();
      if (takes_edge())
        part_.drag = session_.part<WhatIf>().begin(session_, *part_.press_.edge) ? Drag::Edge : Drag::Refused;
    }
    switch (part_.drag) {
      case Drag::Measure:
        measure();
        break;
      case Drag::Zoom:
        part_.band = ordered(part_.press_.time, time_in_plot());
        break;
      case Drag::NewWindow:
        part_.band = ordered(layout_.minimap_time_of(part_.press_.x), layout_.minimap_time_of(event_.x));
        break;
      case Drag::Pan:
        pan_to_pointer();
        break;
      case Drag::Window:
        move_window();
        break;
      case Drag::Rows:
        scroll_to_pointer();
        break;
      case Drag::Cursor:
        put_cursor(session_, time_in_plot());
        break;
      case Drag::Op:
        if (hit().rank) session_.part<ScheduleEditor>().drag_to(session_, *hit().rank, time_in_plot());
        break;
      case Drag::Edge:
        stretch();
        break;
      case Drag::Rank:
        part_.drop = drop_of(session_.view, layout_, part_.press_.hit, event_.y);
        break;
      case Drag::None:
      case Drag::Pending:
      case Drag::Refused:
        break;
    }
  }

  [[nodiscard]] bool takes_edge() const {
    return part_.press_.button == MouseButton::Left && !part_.press_.alt && part_.press_.edge.has_value();
  }
  void stretch() {
    auto& what_if = session_.part<WhatIf>();
    if (!what_if.held()) return;  // it was given up
    const double per_pixel = part_.press_.range.length() / std::max(1.0, layout_.plot.width());
    what_if.stretch(session_, (event_.x - part_.press_.x) * per_pixel, per_pixel,
                    scope_of(event_.shift, event_.ctrl));
  }

  /// While the schedule is edited, a drag moves an op.
  [[nodiscard]] bool takes_op() {
    const bool plain = part_.press_.button == MouseButton::Left && !part_.press_.alt && !part_.press_.shift;
    ScheduleEditor& editor = session_.part<ScheduleEditor>();
    const Hit& from = part_.press_.hit;
    if (!plain || !editor.editing()) return false;
    if (from.waiting) {
      const RunModel& run = *layout_.blocks[*from.block].run;
      return editor.begin_drag(session_, run.id, *from.rank, *from.waiting);
    }
    return from.op && editor.begin_drag(session_, *from.op);
  }

  [[nodiscard]] double time_in_plot() const {
    return layout_.time_of(std::clamp(event_.x, layout_.plot.x0, layout_.plot.x1));
  }

  void measure() {
    // Shift keeps the far end of the range that is there.
    double from = part_.press_.time;
    if (part_.press_.shift && session_.range) from = far_end(*session_.range, from);
    session_.range = measured_between(from, time_in_plot());
  }
  void pan_to_pointer() {
    const double per_pixel = part_.press_.range.length() / std::max(1.0, layout_.plot.width());
    const double shift = (part_.press_.x - event_.x) * per_pixel;
    const double start = part_.press_.range.start + shift;
    show_range(session_, {start, start + part_.press_.range.length()}, Gesture::Drag);
    const double scroll = part_.press_.scroll + part_.press_.y - event_.y;
    session_.view.scroll = std::clamp(scroll, 0.0, layout_.max_scroll());
  }

  /// A press outside the window moves its middle there; on it, the window keeps hold of the pointer.
  void start_window() {
    const double time = layout_.minimap_time_of(event_.x);
    if (time < layout_.range.start || time >= layout_.range.end) {
      const double start = time - layout_.range.length() / 2;
      show_range(session_, {start, start + layout_.range.length()}, Gesture::Drag);
    }
    part_.press_.range = session_.view.range;
    part_.drag = Drag::Window;
  }
  void move_window() {
    const double shift = layout_.minimap_time_of(event_.x) - layout_.minimap_time_of(part_.press_.x);
    const double start = part_.press_.range.start + shift;
    show_range(session_, {start, start + part_.press_.range.length()}, Gesture::Drag);
  }

  void start_rows() {
    part_.drag = Drag::Rows;
    scroll_to_pointer();
  }
  void scroll_to_pointer() {
    const Box& strip = part_.press_.hit.area == ChartArea::Overview ? layout_.overview : layout_.scroll_bar;
    const double share = (event_.y - strip.y0) / std::max(1.0, strip.height());
    const double wanted = share * layout_.content_height - layout_.body.height / 2;
    const double scroll = std::clamp(wanted, 0.0, layout_.max_scroll());
    if (scroll == session_.view.scroll) return;
    session_.part<Navigation>().remember(session_, Gesture::Drag);
    session_.view.scroll = scroll;
  }

  void release() {
    const Drag drag = part_.drag;
    const std::optional<TimeRange> band = part_.band;
    part_.drag = Drag::None;
    part_.band.reset();
    const std::optional<RankDrop> drop = std::exchange(part_.drop, std::nullopt);
    if (drop) session_.view.order.move(drop->rank, drop->place, drop->ranks);
    if (drag == Drag::Pending && part_.press_.button == MouseButton::Left)
      click_chart(session_, layout_, part_.press_);
    if (drag == Drag::Edge) session_.part<WhatIf>().release(session_);
    if (drag == Drag::Op) session_.part<ScheduleEditor>().drop(session_);
    if (band && band->length() > 0) show_range(session_, *band);
    session_.part<Navigation>().end_gesture();
  }

  void double_click() {
    part_.drag = Drag::None;
    if (event_.button == MouseButton::Left) double_click_chart(session_, layout_, hit(), part_.press_);
  }

  void wheel() {
    if (hit().area == ChartArea::None) return;
    const bool plain_zooms = session_.preferences.wheel_zooms;
    if (event_.shift || event_.wheel_x != 0)
      pan(session_, kPanShare * (event_.wheel_x - (event_.shift ? event_.wheel_y : 0)), Gesture::Wheel);
    if (event_.shift) return;
    if (event_.ctrl != plain_zooms) {
      const bool on_minimap = hit().area == ChartArea::Minimap;
      zoom_at(session_, on_minimap ? 0.5 : std::clamp(share_at(event_.x), 0.0, 1.0), event_.wheel_y,
              Gesture::Wheel);
    } else {
      const double scroll = session_.view.scroll - event_.wheel_y * kRowPixels * layout_.scale;
      session_.view.scroll = std::clamp(scroll, 0.0, layout_.max_scroll());
    }
  }

  Session& session_;
  const ChartLayout& layout_;
  const ChartPointer& event_;
  PointerPart& part_;
};

void chart_pointer(Session& session, const ChartLayout& layout, const ChartPointer& event) {
  PointerEvent(session, layout, event).run();
}

}  // namespace pipeloom::gui
