#pragma once

// The places of everything in the Gantt chart: from the runs, the view and a rectangle of the window to rows, strips and a time scale, and
// back from a point to the thing that is there. Plain numbers, made anew every frame: O(rows), no op is visited.
//
//   +-------------------------------------------------+
//   | legend                                          |
//   |        | minimap: the whole span, the window    |
//   |        | ruler                                  |
//   | title of run A -------------------------------- |  a block per run, stacked; all share the time scale
//   | rank 0 | work                             | o | |
//   |        | copies, send, receive, memory    | v | |  o v: overview of all ranks, where not all fit; scroll bar
//   | rank 1 | ...                              |   | |
//   | memory | what one rank of each run holds  |     |
//   +-------------------------------------------------+
//
// Pixels are the window's, x to the right, y down. Everything begins and ends on whole ones.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gui/model/session/session.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {

/// Pixels [x0, x1) x [y0, y1).
struct Box {
  double x0 = 0;
  double y0 = 0;
  double x1 = 0;
  double y1 = 0;
  [[nodiscard]] double width() const { return x1 - x0; }
  [[nodiscard]] double height() const { return y1 - y0; }
  [[nodiscard]] bool contains(double x, double y) const { return x >= x0 && x < x1 && y >= y0 && y < y1; }
  [[nodiscard]] bool empty() const { return x1 <= x0 || y1 <= y0; }
  friend bool operator==(const Box&, const Box&) = default;
};

/// A horizontal strip of a row; height 0: the row has none.
struct Strip {
  double y = 0;
  double height = 0;
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] bool holds(double at) const { return at >= y && at < y + height; }
  friend bool operator==(const Strip&, const Strip&) = default;
};

/// The strips of a rank's row, from the top. A message is under way between ranks: its bar is drawn in the sender's Send and the
/// receiver's Receive strip.
enum class ChartLane : std::uint8_t { Work, Copies, Send, Receive, Memory };
inline constexpr std::size_t kChartLanes = 5;

struct ChartRow {
  std::size_t block = 0;
  Rank rank;
  /// All of it, and its strips. May lie outside of the body: scrolled away.
  Strip all;
  Strip lanes[kChartLanes];
  bool pinned = false;
  bool collapsed = false;
  [[nodiscard]] const Strip& lane(ChartLane which) const { return lanes[static_cast<std::size_t>(which)]; }
};

/// One run.
struct ChartBlock {
  RunPtr run;
  /// Index in session.runs.
  std::size_t index = 0;
  /// Its line of heading; height 0 where there is one run only.
  Strip title;
  /// Its own ruler, below the title, where the one on top does not hold for its times: one of them is in abstract units, the other is not.
  /// Height 0 elsewhere.
  Strip ruler;
  /// Numbers of its steps, above its rows; height 0 where there is one step.
  Strip steps;
  /// Rows [first_row, last_row) of ChartLayout::rows that scroll; its pinned ones come before all blocks.
  std::size_t first_row = 0;
  std::size_t last_row = 0;
  /// [rank] its row of these, where rows are not in order of rank; kNoRow if it is none of them. Empty where they are.
  std::vector<std::size_t> row_by_rank = {};
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
};

/// An entry of the legend: a kind that occurs in the runs on screen.
struct LegendEntry {
  OpKind kind = OpKind::Forward;
  Box box;
};

enum class ChartArea : std::uint8_t {
  None,
  Legend,     ///< Hit::kind if on an entry
  Minimap,    ///< Hit::time on the scale of the whole span
  Ruler,      ///< the one on top or a block's own: Hit::time
  Title,      ///< of a block
  RowHeader,  ///< Hit::rank, Hit::button
  Lane,       ///< Hit::rank, lane, time; op or gap where there is one (Work and Copies)
  RowSpace,   ///< plot, but between strips or below the last row
  Memory,     ///< the track under all rows: Hit::time
  Overview,   ///< Hit::share of the rows' height
  ScrollBar,  ///< Hit::share of the rows' height
};
/// The buttons of a row header.
enum class HeaderButton : std::uint8_t { None, Pin, Collapse };

struct HeaderButtons {
  Box pin;
  Box collapse;
};

/// The thing at a point.
struct Hit {
  ChartArea area = ChartArea::None;
  /// An index of ChartLayout::blocks.
  std::optional<std::size_t> block;
  std::optional<Rank> rank;
  ChartLane lane = ChartLane::Work;
  std::optional<OpRef> op;
  std::optional<GapRef> gap;
  /// An op that its run does not reach, as it hangs.
  std::optional<Op> waiting;
  /// An index of RunModel::message_bars.
  std::optional<std::size_t> message;
  std::optional<OpKind> kind;
  HeaderButton button = HeaderButton::None;
  /// Ticks under the pointer.
  double time = 0;
  /// 0 .. 1 from top to bottom of everything that scrolls.
  double share = 0;
};

struct ChartLayout {
  Box all;
  double scale = 1;
  TimeRange range;
  /// From the first start to the last end of all runs: the span of the minimap.
  TimeRange span;

  Box legend;
  Box minimap;
  Box ruler;
  /// Row headers on the left, ops in the plot, both as tall as the pinned and the scrolling rows together.
  Box headers;
  Box plot;
  /// The part of the plot's height in which rows scroll; the pinned ones are above it.
  Strip body;
  /// Memory of one rank of each run, below the rows; empty where it is not shown.
  Box memory;
  Box overview;    ///< empty where all ranks fit
  Box scroll_bar;  ///< empty where all ranks fit

  std::vector<ChartBlock> blocks;
  /// Pinned rows [0, pinned_rows), then block by block in the order of ViewState::order. Ranks that the filter hides have none.
  std::vector<ChartRow> rows;
  std::size_t pinned_rows = 0;
  std::vector<LegendEntry> entries;

  /// Height of everything that scrolls, and the scroll in use (ViewState::scroll, clamped).
  double content_height = 0;
  double scroll = 0;
  [[nodiscard]] double max_scroll() const {
    return content_height > body.height ? content_height - body.height : 0;
  }

  /// The foot of lines that go through everything on the time scale.
  [[nodiscard]] double foot() const { return memory.empty() ? plot.y1 : memory.y1; }
  [[nodiscard]] double x_of(double time) const {
    return plot.x0 + (time - range.start) / range.length() * plot.width();
  }
  [[nodiscard]] double time_of(double x) const {
    return range.start + (x - plot.x0) / plot.width() * range.length();
  }
  [[nodiscard]] double ticks_per_pixel() const { return range.length() / plot.width(); }
  /// The x of a time on the minimap.
  [[nodiscard]] double minimap_x_of(double time) const {
    return minimap.x0 + (time - span.start) / span.length() * minimap.width();
  }
  [[nodiscard]] double minimap_time_of(double x) const {
    return span.start + (x - minimap.x0) / minimap.width() * span.length();
  }

  [[nodiscard]] const ChartBlock* block_of(std::uint64_t run) const;
  /// A pinned row before a scrolling one. Null for ranks that are hidden.
  [[nodiscard]] const ChartRow* row_of(std::uint64_t run, Rank rank) const;
  /// The rows that any pixel of the plot shows: pinned ones, then of [pinned_rows, rows.size()).
  [[nodiscard]] bool is_visible(const ChartRow& row) const;
  /// The part of a strip of `row` that is inside the plot.
  [[nodiscard]] Box clipped(const ChartRow& row, const Strip& strip) const;

  /// All rows of a run that are in sight, empty if none is.
  [[nodiscard]] Box rows_of(std::uint64_t run) const;

  /// The buttons of a row's header; their boxes are empty where the row is too thin.
  [[nodiscard]] HeaderButtons header_buttons(const ChartRow& row) const;

  /// O(log ops) in the rows, else O(rows).
  [[nodiscard]] Hit hit(double x, double y) const;
  /// The box of an op or a gap, clipped to the plot; no value if nothing of it is visible. At least one pixel wide.
  [[nodiscard]] std::optional<Box> rect_of(const OpRef& op) const;
  [[nodiscard]] std::optional<Box> rect_of(const GapRef& gap) const;
  /// The outline of an op that the run does not reach; no value where it is not in sight, or reached.
  [[nodiscard]] std::optional<Box> rect_of_waiting(std::uint64_t run, Rank rank, Op op) const;
  /// The scroll that brings a rank's row into the body with the least motion.
  [[nodiscard]] double scroll_to(std::uint64_t run, Rank rank) const;
};

/// Lays the chart of the session out in `area`. Lengths are multiplied by `scale`. Works for a session without runs too.
void lay_out_chart(const Session& session, const Box& area, double scale, ChartLayout& out);

/// Part of a work strip that each op of an overlapped group is drawn in: the strip cut into `count` equal parts, `part` from the top.
[[nodiscard]] Strip part_of(const Strip& strip, std::size_t part, std::size_t count);

}  // namespace pipeloom::gui
