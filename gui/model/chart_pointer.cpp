#include "gui/model/chart_pointer.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/model/command.hpp"
#include "gui/model/navigation.hpp"
#include "gui/model/schedule_editor.hpp"
#include "gui/model/select.hpp"

namespace pipeloom::gui {
namespace {

/// Per step of the wheel.
constexpr double kRowPixels = 48;
constexpr double kPanShare = 0.1;

using Drag = PointerPart::Drag;

Ticks rounded(double time) {
  return static_cast<Ticks>(std::llround(time));
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
        if (part_.drag != Drag::None && event_.button == part_.button_) release();
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
    return hit.area == ChartArea::Lane || hit.area == ChartArea::RowSpace || hit.area == ChartArea::Ruler;
  }
  [[nodiscard]] double share_at(double x) const {
    return layout_.plot.width() > 0 ? (x - layout_.plot.x0) / layout_.plot.width() : 0.5;
  }
  [[nodiscard]] const Hit& hit() const { return *part_.hit; }

  /// What is under the pointer now: hover, the line of time, where keys zoom.
  void look() {
    part_.hit = layout_.hit(event_.x, event_.y);
    const bool over_plot = in_time(hit()) && event_.x >= layout_.plot.x0 && event_.x < layout_.plot.x1;
    part_.time = over_plot ? std::optional(hit().time) : std::nullopt;
    session_.part<Navigation>().pointer_share = over_plot ? std::optional(share_at(event_.x)) : std::nullopt;
    session_.selection.hover = hit().op;
  }

  void leave() {
    part_.hit.reset();
    part_.time.reset();
    session_.part<Navigation>().pointer_share.reset();
    session_.selection.hover.reset();
  }

  void press() {
    if (hit().area == ChartArea::None) return;
    // A second button during a drag is no drag of its own.
    if (part_.drag != Drag::None) return;
    part_.drag = Drag::Pending;
    part_.button_ = event_.button;
    part_.press_x_ = event_.x;
    part_.press_y_ = event_.y;
    part_.press_time_ = layout_.time_of(event_.x);
    part_.press_hit_ = hit();
    part_.press_alt_ = event_.alt;
    part_.press_shift_ = event_.shift;
    part_.press_range_ = layout_.range;
    part_.press_scroll_ = layout_.scroll;
    session_.part<Navigation>().end_gesture();
    if (scrolls_rows(hit().area)) start_rows();
    if (hit().area == ChartArea::Minimap && kind_of_drag() == Drag::Window) start_window();
  }

  [[nodiscard]] static bool scrolls_rows(ChartArea area) {
    return area == ChartArea::Overview || area == ChartArea::ScrollBar;
  }

  /// What a motion means that began where the button went down.
  [[nodiscard]] Drag kind_of_drag() const {
    const ChartArea area = part_.press_hit_.area;
    const bool left = part_.button_ == MouseButton::Left;
    if (area == ChartArea::Minimap) return left && !part_.press_alt_ ? Drag::Window : Drag::NewWindow;
    if (scrolls_rows(area)) return Drag::Rows;
    if (area == ChartArea::Ruler) return part_.button_ == MouseButton::Right ? Drag::Pan : Drag::Zoom;
    if (!in_time(part_.press_hit_)) return Drag::None;
    if (part_.button_ == MouseButton::Right) return Drag::Pan;
    if (part_.button_ == MouseButton::Middle || part_.press_alt_) return Drag::Zoom;
    return Drag::Measure;
  }

  void drag() {
    if (part_.drag == Drag::Pending) {
      const double moved = std::hypot(event_.x - part_.press_x_, event_.y - part_.press_y_);
      if (moved < kDragThreshold * layout_.scale) return;
      part_.drag = takes_op() ? Drag::Op : kind_of_drag();
    }
    switch (part_.drag) {
      case Drag::Measure:
        measure();
        break;
      case Drag::Zoom:
        part_.band = ordered(part_.press_time_, time_in_plot());
        break;
      case Drag::NewWindow:
        part_.band = ordered(layout_.minimap_time_of(part_.press_x_), layout_.minimap_time_of(event_.x));
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
      case Drag::Op:
        if (hit().rank) session_.part<ScheduleEditor>().drag_to(session_, *hit().rank, time_in_plot());
        break;
      case Drag::None:
      case Drag::Pending:
        break;
    }
  }

  /// While the schedule is edited, an op goes along.
  [[nodiscard]] bool takes_op() {
    const bool plain = part_.button_ == MouseButton::Left && !part_.press_alt_ && !part_.press_shift_;
    ScheduleEditor& editor = session_.part<ScheduleEditor>();
    return plain && part_.press_hit_.op && editor.editing() &&
           editor.begin_drag(session_, *part_.press_hit_.op);
  }

  [[nodiscard]] double time_in_plot() const {
    return layout_.time_of(std::clamp(event_.x, layout_.plot.x0, layout_.plot.x1));
  }

  void measure() {
    // Shift keeps the far end of the range that is there.
    double from = part_.press_time_;
    if (part_.press_shift_ && session_.range) from = far_end(*session_.range, from);
    const TimeRange range = ordered(from, time_in_plot());
    session_.range = MeasuredRange{rounded(range.start), rounded(range.end)};
  }
  [[nodiscard]] static double far_end(const MeasuredRange& range, double time) {
    const auto start = static_cast<double>(range.start);
    const auto end = static_cast<double>(range.end);
    return std::abs(time - start) > std::abs(time - end) ? start : end;
  }

  void pan_to_pointer() {
    const double per_pixel = part_.press_range_.length() / std::max(1.0, layout_.plot.width());
    const double shift = (part_.press_x_ - event_.x) * per_pixel;
    const double start = part_.press_range_.start + shift;
    show_range(session_, {start, start + part_.press_range_.length()}, Gesture::Drag);
    const double scroll = part_.press_scroll_ + part_.press_y_ - event_.y;
    session_.view.scroll = std::clamp(scroll, 0.0, layout_.max_scroll());
  }

  /// A press beside the window moves its middle there; on it, the window keeps hold of the pointer.
  void start_window() {
    const double time = layout_.minimap_time_of(event_.x);
    if (time < layout_.range.start || time >= layout_.range.end) {
      const double start = time - layout_.range.length() / 2;
      show_range(session_, {start, start + layout_.range.length()}, Gesture::Drag);
    }
    part_.press_range_ = session_.view.range;
    part_.drag = Drag::Window;
  }
  void move_window() {
    const double shift = layout_.minimap_time_of(event_.x) - layout_.minimap_time_of(part_.press_x_);
    const double start = part_.press_range_.start + shift;
    show_range(session_, {start, start + part_.press_range_.length()}, Gesture::Drag);
  }

  void start_rows() {
    part_.drag = Drag::Rows;
    scroll_to_pointer();
  }
  void scroll_to_pointer() {
    const Box& strip = part_.press_hit_.area == ChartArea::Overview ? layout_.overview : layout_.scroll_bar;
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
    if (drag == Drag::Pending) click();
    if (drag == Drag::Op) session_.part<ScheduleEditor>().drop(session_);
    if (band && band->length() > 0) show_range(session_, *band);
    session_.part<Navigation>().end_gesture();
  }

  void click() {
    const Hit& at = part_.press_hit_;
    if (part_.button_ != MouseButton::Left) return;
    switch (at.area) {
      case ChartArea::Legend:
        if (at.kind) session_.view.hidden_kinds ^= 1U << index_of(*at.kind);
        break;
      case ChartArea::RowHeader:
        click_header(at);
        break;
      case ChartArea::Title:
        if (at.block) session_.active = layout_.blocks[*at.block].index;
        break;
      case ChartArea::Lane:
      case ChartArea::RowSpace:
        click_in_rows(at);
        break;
      default:
        break;
    }
  }

  void click_header(const Hit& at) {
    const std::string rank = std::to_string(at.rank->value());
    if (at.button == HeaderButton::Pin) {
      run_command(session_, "pin-rank", rank);
    } else if (at.button == HeaderButton::Collapse) {
      run_command(session_, "collapse-rank", rank);
    } else {
      const RunModel& run = *layout_.blocks[*at.block].run;
      const double middle = (layout_.range.start + layout_.range.end) / 2;
      const std::size_t op = op_near(run, *at.rank, rounded(middle));
      if (op != OpWalk::kNone) select_op(session_, {run.id, op}, Reveal::No);
    }
  }

  void click_in_rows(const Hit& at) {
    if (part_.press_shift_) {
      extend_range();
    } else if (at.op) {
      select_op(session_, *at.op, Reveal::No);
    } else if (at.gap) {
      select_gap(session_, *at.gap, Reveal::No);
    } else if (at.message) {
      // A message is what its consumer waits for.
      const RunModel& run = *layout_.blocks[*at.block].run;
      select_op(session_, {run.id, run.message_bars[*at.message].consumer}, Reveal::No);
    } else {
      session_.selection.clear();
      session_.range.reset();
    }
  }

  /// The nearer end of the range goes to the pointer; without one, a range from the selection.
  void extend_range() {
    std::optional<Span> old;
    if (session_.range)
      old = Span{session_.range->start, session_.range->end};
    else
      old = selected_span(session_);
    const double from = old ? far_end({old->start, old->end}, part_.press_time_) : part_.press_time_;
    const TimeRange range = ordered(from, part_.press_time_);
    if (range.length() > 0) session_.range = MeasuredRange{rounded(range.start), rounded(range.end)};
  }

  void double_click() {
    if (event_.button != MouseButton::Left) return;
    part_.drag = Drag::None;
    const Hit& at = hit();
    if (at.area == ChartArea::Legend && at.kind) {
      // The first click of the two has hidden it or shown it again.
      session_.view.hidden_kinds &= ~(1U << index_of(*at.kind));
      session_.selection.kind = session_.selection.kind == at.kind ? std::nullopt : std::optional(*at.kind);
    } else if (at.area == ChartArea::RowHeader && at.button == HeaderButton::None) {
      run_command(session_, "collapse-rank", std::to_string(at.rank->value()));
    } else if (at.area == ChartArea::RowHeader || at.area == ChartArea::Title) {
      click();
    } else if (at.area == ChartArea::Ruler || at.area == ChartArea::Minimap) {
      fit_all(session_);
    } else if (at.op || at.gap) {
      if (at.op) select_op(session_, *at.op, Reveal::No);
      if (at.gap) select_gap(session_, *at.gap, Reveal::No);
      fit_span(session_, *selected_span(session_));
    }
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
