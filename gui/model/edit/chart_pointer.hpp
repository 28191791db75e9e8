#pragma once

// Actions of the mouse in the chart.
//
//   on ops       click selects, double click fits; on a gap the same. An op that a hanging run does not reach is selected, too
//   in the rows  left drag measures a range, Alt + drag and middle drag zoom to it, right drag pans, Shift + click extends the range
//   wheel        scrolls rows, Shift pans, Ctrl zooms at the pointer (preferences.wheel_zooms: plain zooms, Ctrl scrolls)
//   ruler        drag zooms to the range, double click fits all, click puts the time cursor there; its handle is dragged
//   minimap      drag moves the window, a click elsewhere centres it there, right or Alt + drag draws a new one
//   overview     click and drag scroll the rows; so does the scroll bar
//   legend       click hides or shows a kind, double click selects all ops of it
//   row header   click selects the rank's op in sight; its buttons pin and collapse, a double click collapses
//   op's end     a drag changes how long it takes: its kind on its stage, with Shift the op alone, with Ctrl its rank (what_if.hpp)
//
// While the schedule is edited, a left drag that starts on an op of the edited run moves that op instead (schedule_editor.hpp).

#include <cstdint>
#include <optional>

#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/chart/rank_drop.hpp"
#include "gui/model/session/keys.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

struct ChartPointer {
  enum class Type : std::uint8_t { Move, Press, Release, DoubleClick, Wheel, Leave };
  Type type = Type::Move;
  /// Pixels of the layout.
  double x = 0;
  double y = 0;
  MouseButton button = MouseButton::Left;  ///< of Press, Release, DoubleClick
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
  double wheel_x = 0;  ///< steps to the right
  double wheel_y = 0;  ///< steps up
};

/// Changes selection, hover, view, range and rows. A drag goes on outside of the chart until Release; pass Move there too. DoubleClick
/// comes instead of the second Press.
void chart_pointer(Session& session, const ChartLayout& layout, const ChartPointer& event);

/// The place of the button's press, and its modifiers.
struct ChartPress {
  MouseButton button = MouseButton::Left;
  double x = 0;
  double y = 0;
  double time = 0;
  Hit hit;
  bool alt = false;
  bool shift = false;
  std::optional<OpRef> edge;
  /// View when the drag started: drags are computed from it, so that they return exactly.
  TimeRange range;
  double scroll = 0;
};

/// The parts of the pointer's state that the chart draws.
class PointerPart : public Part {
 public:
  explicit PointerPart(Session&) {}

  enum class Drag : std::uint8_t {
    None,
    Pending,
    Measure,
    Zoom,
    Pan,
    Window,
    NewWindow,
    Rows,
    Op,
    Edge,
    Refused,
    Cursor,
    Rank
  };

  /// The thing under the pointer; no value outside of the chart.
  std::optional<Hit> hit;
  /// Time under the pointer, where the line through all rows is; no value outside of plot and ruler.
  std::optional<double> time;
  Drag drag = Drag::None;
  /// The op whose end is under the pointer: a drag takes it along.
  std::optional<OpRef> edge;
  /// The stretch that a Zoom or NewWindow drag has covered so far, in ticks, start <= end.
  std::optional<TimeRange> band;
  /// The place that the rank of a Rank drag would get.
  std::optional<RankDrop> drop;

 private:
  friend class PointerEvent;
  ChartPress press_;
};

/// A press that moves less than this many pixels, at scale 1, is a click.
inline constexpr double kDragThreshold = 4;
/// So far on both sides of the time cursor its handle on the ruler is taken, at scale 1.
inline constexpr double kCursorReach = 24;

}  // namespace pipeloom::gui
