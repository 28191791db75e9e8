#pragma once

// The chart as plain shapes: a pass over the visible part fills vectors that are kept from frame to frame, and the view gives them to
// the renderer. Cost follows pixels, not ops.
//
// Painted in this order: ground, strips, quads, lines, outlines, labels, arrows, front and its outlines, front labels. The model clips
// all but the maps, the ruler and titles to the plot; the renderer clips arrows. Pixels are the window's.
//
// Level of detail. A row with at most two ops per pixel is drawn op by op; ops narrower than kNarrow pixels, and rows with more, are a
// strip of texels (gui/model/draw/hatch.hpp), as opaque as their pixel is busy; where kinds share pixels, bands of their colours.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/draw/hatch.hpp"
#include "sim/tracks/memory_track.hpp"

namespace pipeloom::gui {

using tracks::Extent;

inline constexpr double kNarrow = 3;

struct ChartQuad {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  Rgba colour = 0;
};

struct ChartLine {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  Rgba colour = 0;
  float width = 1;
};

/// A rectangle's outline, inside of it, from corner to corner.
using ChartOutline = ChartLine;

/// A curve, or a straight line, from (x0, y0) to a head at (x1, y1).
struct ChartArrow {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  Rgba colour = 0;
  float width = 1;
  bool straight = false;
};

/// A filled circle.
struct ChartDot {
  float x = 0;
  float y = 0;
  float radius = 0;
  Rgba colour = 0;
};

enum class ChartFace : std::uint8_t { Small, Normal, Strong };

/// Characters [begin, begin + length) of ChartList::text, the top left corner at (x, y).
struct ChartLabel {
  float x = 0;
  float y = 0;
  Rgba colour = 0;
  std::uint32_t begin = 0;
  std::uint16_t length = 0;
  ChartFace face = ChartFace::Small;
};

/// Rows of a picture's texels, [0, texels) of each, stretched over a box: from `row` to `row_end`, which are between rows where a box is cut.
struct ChartStrip {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  float row = 0;
  float row_end = 1;
  int texels = 0;
};

/// A texture: `width` texels in each of `rows` rows.
struct ChartPicture {
  int width = 0;
  int rows = 0;
  std::vector<Rgba> texels;  // [row * width + x]
  /// Counts changes of the texels: a view uploads the versions that it has not seen.
  std::uint64_t version = 0;
  std::vector<ChartStrip> strips;
};

/// Widths of letters, so that labels are placed without a window: of Latin-1, others as wide as an "m".
struct ChartFont {
  float height = 13;
  std::array<float, 256> advance{};
  [[nodiscard]] float width(std::string_view text) const;
};

struct ChartFonts {
  ChartFont small;
  ChartFont normal;
  ChartFont strong;
};

/// Pixels of rows that stay when the view pans, columns of `planes` values, row by row. Columns of a row are numbered from time 0: column k is
/// [k, k + 1) times ticks_per_pixel, so that a view that moved by a few pixels needs these few only.
template <class Value, std::size_t planes = 1>
class StripCache {
 public:
  /// Run, rank, lane.
  using Row = std::tuple<std::uint64_t, int, int>;

  /// `look` is a fingerprint of everything else that values depend on. REQUIRES: columns >= 1.
  void begin_frame(std::uint64_t look, double ticks_per_pixel, std::int64_t first, int columns) {
    // Sums of floating point: the same scale may differ in its last digits.
    const bool same_scale = std::abs(ticks_per_pixel - scale_) <= 1e-12 * scale_;
    if (look != look_ || !same_scale || columns != columns_) rows_.clear();
    if (rows_.empty()) scale_ = ticks_per_pixel;
    look_ = look;
    first_ = first;
    columns_ = columns;
    ++frame_;
  }
  /// Rows that this frame did not ask for are forgotten.
  void end_frame() {
    std::erase_if(rows_, [this](const auto& row) { return row.second.frame != frame_; });
  }

  using Column = std::conditional_t<planes == 1, Value, std::array<Value, planes>>;

  /// The values of columns [first, first + columns), plane by plane: [plane * columns + column]. `fill(range, bins, out)` writes the columns of
  /// `bins` equal parts of `range`.
  template <class Fill>
  [[nodiscard]] const std::vector<Value>& of(const Row& row, Fill&& fill) {
    Kept& kept = rows_[row];
    const std::int64_t moved = first_ - kept.first;
    if (kept.values.empty() || moved >= columns_ || moved <= -columns_) {
      kept.values.assign(static_cast<std::size_t>(columns_) * planes, Value{});
      write(kept, 0, columns_, fill);
    } else if (moved != 0) {
      for (std::size_t plane = 0; plane < planes; ++plane) shift(plane_of(kept, plane), moved);
      if (moved > 0)
        write(kept, columns_ - moved, columns_, fill);
      else
        write(kept, 0, -moved, fill);
    }
    kept.first = first_;
    kept.frame = frame_;
    return kept.values;
  }

 private:
  struct Kept {
    std::int64_t first = 0;
    std::uint64_t frame = 0;
    std::vector<Value> values;
  };

  [[nodiscard]] std::span<Value> plane_of(Kept& kept, std::size_t plane) const {
    const auto columns = static_cast<std::size_t>(columns_);
    return std::span(kept.values).subspan(plane * columns, columns);
  }

  static void shift(std::span<Value> values, std::int64_t moved) {
    if (moved > 0)
      std::copy(values.begin() + moved, values.end(), values.begin());
    else
      std::copy_backward(values.begin(), values.end() + moved, values.end());
  }

  template <class Fill>
  void write(Kept& kept, std::int64_t begin, std::int64_t end, Fill&& fill) {
    const TimeRange range{static_cast<double>(first_ + begin) * scale_,
                          static_cast<double>(first_ + end) * scale_};
    const auto bins = static_cast<std::size_t>(end - begin);
    const auto at = static_cast<std::size_t>(begin);
    if constexpr (planes == 1) {
      fill(range, static_cast<int>(bins), kept.values.data() + at);
    } else {
      filled_.assign(bins, Column{});
      fill(range, static_cast<int>(bins), filled_.data());
      for (std::size_t plane = 0; plane < planes; ++plane) {
        const std::span<Value> values = plane_of(kept, plane);
        for (std::size_t i = 0; i < bins; ++i) values[at + i] = filled_[i][plane];
      }
    }
  }

  std::map<Row, Kept> rows_;
  std::vector<Column> filled_;
  std::uint64_t look_ = 0;
  double scale_ = 0;
  std::int64_t first_ = 0;
  int columns_ = 0;
  std::uint64_t frame_ = 0;
};

struct ChartList {
  /// Row grounds, tints of gaps, ruler lines.
  std::vector<ChartQuad> ground;
  /// Rows that are too dense for quads; minimap; overview. The last two change when runs or sizes do.
  ChartPicture rows;
  ChartPicture minimap;
  ChartPicture overview;
  /// Ops, messages, memory.
  std::vector<ChartQuad> quads;
  std::vector<ChartOutline> outlines;
  std::vector<ChartLine> lines;
  std::vector<ChartLabel> labels;
  std::vector<ChartArrow> arrows;
  std::vector<ChartDot> dots;
  /// Measured range, marks, pointer, windows of the maps.
  std::vector<ChartQuad> front;
  std::vector<ChartOutline> front_outlines;
  /// With round ends.
  std::vector<ChartQuad> pills;
  std::vector<ChartLine> front_lines;
  std::vector<ChartLabel> front_labels;
  std::vector<char> text;

  /// The layout that is drawn: that of the window, moved by half a pixel at most so that time 0 is a whole number of pixels away.
  /// Nothing flickers while the view moves, and strips can be kept.
  ChartLayout layout;
  /// Strips of `rows` and of memory curves, which frames keep from one to the next.
  StripCache<Rgba, kHatch> kept_texels;
  StripCache<Extent> kept_extents;

  [[nodiscard]] std::string_view text_of(const ChartLabel& label) const {
    return {text.data() + label.begin, label.length};
  }
  void clear();
};

/// The colours of everything that is not an op.
struct ChartInk {
  Rgba background = 0;
  Rgba row = 0;
  Rgba grid = 0;
  Rgba text = 0;
  Rgba muted = 0;
  Rgba good = 0;
  Rgba bad = 0;
  Rgba accent = 0;
  Rgba critical = 0;
  Rgba memory_line = 0;
  Rgba memory_fill = 0;
  Rgba memory_limit = 0;
};
[[nodiscard]] ChartInk make_ink(bool dark);

/// Fills `list` with the part of the session that `layout` shows. `list` may be that of an earlier frame: unchanged parts are kept.
void build_chart_list(Session& session, const ChartLayout& layout, const ChartFonts& fonts, ChartList& list);

}  // namespace pipeloom::gui
