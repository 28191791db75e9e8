#pragma once

// Moving through time and rows: zoom, pan, fit, earlier views.
//
// All functions change Session::view only. Views are floating point, so a zoom in and the same zoom out at one place give back the very
// same numbers: a run of zooms at one place is kept as its start and a sum of steps, and the view is computed from these.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// The cause of a change of the view. Changes of the same kind in a row are one entry of the history: a burst of the wheel, a key
/// that is held, a drag. Jumps are an entry each.
enum class Gesture : std::uint8_t { Jump, Wheel, Held, Drag };

/// The user's view.
struct ViewPlace {
  TimeRange range;
  double scroll = 0;
  friend bool operator==(const ViewPlace&, const ViewPlace&) = default;
};

class Navigation : public Part {
 public:
  explicit Navigation(Session&);

  /// The place of the pointer over the chart, as a share of its width; no value while it is elsewhere. Keys zoom there, else in the middle.
  std::optional<double> pointer_share;

  /// Call before the view changes: keeps the place for Alt+Left, unless `gesture` goes on.
  void remember(const Session& session, Gesture gesture);
  /// The gesture is over, such as by a released button.
  void end_gesture() { gesture_.reset(); }
  [[nodiscard]] const std::vector<ViewPlace>& back() const { return back_; }
  [[nodiscard]] const std::vector<ViewPlace>& forward() const { return forward_; }

  /// Counts the changes of the view that are no gesture of the hand.
  [[nodiscard]] std::uint64_t jumps() const { return jumps_; }

  /// Seconds since any fixed time; tests put their own clock here.
  std::function<double()> now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };

 private:
  friend void zoom_at(Session& session, double share, double steps, Gesture gesture);
  friend void history_back(Session& session);
  friend void history_forward(Session& session);
  friend void focus_selection(Session& session);

  /// A run of zooms at one place: view = the view `base` zoomed by `steps` steps at `share` of the width.
  struct ZoomRun {
    TimeRange base;
    TimeRange result;
    double share = 0;
    double steps = 0;
  };
  std::optional<ZoomRun> zoom_;
  std::uint64_t jumps_ = 0;
  /// The thing that F centred on last, and the view that it made.
  struct Focus {
    Span span;
    TimeRange result;
  };
  std::optional<Focus> focus_;
  std::optional<Gesture> gesture_;
  double last_change_ = 0;
  std::vector<ViewPlace> back_;
  std::vector<ViewPlace> forward_;
};

/// One step of the wheel changes the visible time by this factor.
inline constexpr double kZoomStep = 1.25;
/// More entries than this are forgotten, oldest first.
inline constexpr std::size_t kMaxHistory = 100;
/// Changes of one kind with no more than this many seconds between them are one gesture.
inline constexpr double kGesturePause = 0.5;

/// From the first start to the last end of all runs on screen; {0, 1} if there is none.
[[nodiscard]] Span span_of_runs(const Session& session);
/// The nearest view that is allowed: at least as long as the times can tell apart, at most 1.5 times all runs, and at least a tenth of
/// it, or of the runs, shows runs.
[[nodiscard]] TimeRange clamped(TimeRange range, Span runs);

/// Zooms in by `steps` (out for negative ones) so that the time at `share` of the chart's width stays where it is.
void zoom_at(Session& session, double share, double steps, Gesture gesture);
/// Moves the view by `share` of its length; positive shows later times.
void pan(Session& session, double share, Gesture gesture);
/// Shows exactly this range, clamped.
void show_range(Session& session, TimeRange range, Gesture gesture = Gesture::Jump);
/// Shows all of all runs, the rows from the top.
void fit_all(Session& session);
/// Shows a stretch of time with a margin of a tenth on both sides.
void fit_span(Session& session, Span span);

/// The stretch of time that is selected: the op, the gap, else the measured range. No value if nothing is.
[[nodiscard]] std::optional<Span> selected_span(const Session& session);
/// Moves the selection to the middle; asked again for the same one, fits it.
void focus_selection(Session& session);
/// Pans as little as needed to have all of `span` in sight, or its start where it is longer than the view; scrolls the rank's row there.
void bring_into_sight(Session& session, Span span, std::uint64_t run, Rank rank);

/// Scrolls the rows by this many pixels, as far as there are rows in the chart that was laid out last.
void scroll_rows(Session& session, double pixels, Gesture gesture);
/// Scrolls likewise, by `pages` of the height in which rows scroll.
void scroll_pages(Session& session, double pages);

/// The place before the last gesture, and the way back from there. Nothing happens at the ends.
void history_back(Session& session);
void history_forward(Session& session);

}  // namespace pipeloom::gui
