#pragma once

// A picture of a timeline as plain shapes: the one thing that SVG, PNG, PDF and the window draw.
//
// Coordinates are CSS pixels (1/96 inch), x to the right, y down, origin top left. Shapes are painted in order, later ones
// on top. Nothing here knows a file format.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/draw/palette.hpp"
#include "sim/draw/rows.hpp"
#include "sim/kinds.hpp"
#include "sim/tracks/marks.hpp"

namespace pipeloom::draw {

using tracks::BusyByKind;
using tracks::DrawnEntry;
using tracks::Mark;
using tracks::TimelineIndex;

/// The role of a shape in the picture. Writers need not look at it; tests and the window do.
enum class Role : std::uint8_t {
  Background,
  Row,
  Grid,
  Axis,
  Op,
  Merged,
  Idle,
  Critical,
  MemoryArea,
  MemoryLine,
  MemoryLimit,
  MemoryPeak,
  Mark,
  Cursor,
  Label,
  Legend,
  Title
};

/// Thin lines over a fill, for prints without colour.
using pipeloom::Pattern;

inline constexpr std::uint32_t kNoTitle = ~std::uint32_t{0};
inline constexpr std::size_t kNoOp = ~std::size_t{0};

struct Rectangle {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  std::optional<Colour> fill;
  std::optional<Colour> stroke;
  double stroke_width = 1;
  Pattern pattern = Pattern::None;
  Role role = Role::Background;
  /// Index into Scene::titles, or kNoTitle.
  std::uint32_t title = kNoTitle;
  /// Role::Op: position in timeline.start, else kNoOp.
  std::size_t op = kNoOp;
};

struct Line {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  Colour colour;
  double width = 1;
  bool dashed = false;
  Role role = Role::Axis;
};

enum class Align : std::uint8_t { Start, Middle, End };

/// One line of text; y is the baseline.
struct Text {
  double x = 0;
  double y = 0;
  double size = 10;
  std::string text;
  Colour colour;
  Align align = Align::Start;
  bool bold = false;
  Role role = Role::Label;
};

struct Point {
  double x = 0;
  double y = 0;
};

/// A line through points; with `fill` a closed area too.
struct Polyline {
  std::vector<Point> points;
  std::optional<Colour> fill;
  std::optional<Colour> stroke;
  double stroke_width = 1;
  Role role = Role::MemoryLine;
};

using Shape = std::variant<Rectangle, Line, Text, Polyline>;

/// Where time is: x_of(range.start) = x, x_of(range.end) = x + width.
struct TimeScale {
  Span range;
  double x = 0;
  double width = 0;
  [[nodiscard]] double x_of(Ticks time) const {
    return x + width * static_cast<double>(time - range.start) / static_cast<double>(range.length());
  }
};

struct Scene {
  double width = 0;
  double height = 0;
  Theme theme = Theme::Light;
  TimeScale time;
  std::vector<Row> rows;
  std::vector<Shape> shapes;
  /// Texts to show on hover.
  std::vector<std::string> titles;
};

/// Colours that the caller has in the place of kinds or series: how much slack ops have, how they differ from another run's.
struct OwnColours {
  struct LegendEntry {
    std::vector<Colour> swatches;
    std::string text;
  };
  /// Colour of the op at a position in the timeline.
  std::function<Colour(std::size_t)> of;
  /// Shown in place of the kinds; empty: the usual legend.
  std::vector<LegendEntry> legend;
};

struct SceneOptions {
  /// Width of the whole picture. 0 chooses: wide enough for the numbers of the shortest ops where that stays within 480 to
  /// 1600 pixels.
  double width = 0;
  /// 0 chooses from the number of ranks. Rows share the rest beside axis and legend; below one pixel per rank, ranks
  /// share rows. A box has its number if the longest number of the schedule would fit too.
  double height = 0;
  /// Least space left of the plot, for the numbers of ranks: pictures above each other have it in common.
  double left = 0;
  /// Visible time; no value shows everything.
  std::optional<Span> range = {};
  /// Visible ranks from the top, each once; empty: all by number. Where there are more than rows fit, all from the smallest to the largest share
  /// rows by number.
  std::vector<int> ranks = {};
  /// Ranks whose rows are low and without memory, where every rank has a row of its own that is higher.
  std::set<int> folded = {};

  ColourBy colour_by = ColourBy::Kind;
  /// Not null: ops have these, wherever a rank has a row of its own; rows that ranks share keep the colours of kinds.
  const OwnColours* own = nullptr;
  Theme theme = Theme::Light;
  Palette palette = Palette::Default;
  /// A pattern per op kind in addition to the colour.
  bool patterns = false;
  bool show_legend = true;
  /// The axis below the rows, with its times. Of pictures above each other the last one's is enough.
  bool show_axis = true;
  /// Memory curve below each rank, with limit and peak. Without `memory`: live activations (default_memory). A chosen
  /// height gives each rank room for it, 26 pixels, up to 192 ranks; where there is no room, a caption says so instead.
  bool show_memory = false;
  /// Tints gaps by cause (first step). REQUIRES costs.
  bool show_idle_causes = false;
  /// Outlines the entries of the critical path (first step). REQUIRES costs.
  bool show_critical_path = false;
  const Costs* costs = nullptr;
  /// Where messages block or queue, causes and path are the run's own: idle spans of the first step, [rank], and op indices of the
  /// critical entries. Null: found from `costs`.
  const std::vector<std::vector<IdleSpan>>* idle = nullptr;
  const std::vector<std::size_t>* critical = nullptr;
  const MemoryModel* memory = nullptr;

  std::string title = {};
  /// Shown at the end of the title's line, the most important one first: where room is short, the last ones go.
  std::vector<std::string> results = {};
  /// Vertical lines through all rows, where they are in the range.
  std::vector<Ticks> marks = {};
  std::optional<Ticks> cursor = {};
  /// Small print below the axis; '\n' separates lines.
  std::string caption = {};
  /// Hover texts are written for at most this many visible ops, else for none.
  std::size_t max_titles = 4000;
};

/// Lays the picture out. REQUIRES: options.ranks are the schedule's. The first form builds the index itself; the second
/// is for callers that draw the same timeline often. Cost without critical path and memory: O(pixels log ops).
/// Throws InputError for a range that is empty or a width or height too small to hold a picture (below 120 x 60).
[[nodiscard]] Scene build_scene(const Timeline& timeline, const SceneOptions& options);
[[nodiscard]] Scene build_scene(const Timeline& timeline, const TimelineIndex& index,
                                const SceneOptions& options);

/// Width of a text in pixels, estimated from the widest of the usual sans-serif faces: good for "does it fit".
[[nodiscard]] double text_width(std::string_view text, double size);

}  // namespace pipeloom::draw
