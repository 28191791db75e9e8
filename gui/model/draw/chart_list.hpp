#pragma once

// The chart as plain shapes: a pass over what is visible fills vectors that are kept from frame to frame, and the view hands them to
// whatever draws. Cost follows pixels, not ops.
//
// Painted in this order: ground, strips, quads, lines, outlines, labels, arrows, front and its outlines, front labels. All but the maps,
// the ruler and titles is clipped to the plot by the model, arrows by whoever draws. Pixels are the window's.
//
// Level of detail. A row with at most two ops per pixel is drawn op by op; ops narrower than kNarrow pixels, and rows with more, are a
// strip of one texel per pixel: the colours of the ops in it mixed by their shares of its time, as opaque as the pixel is busy. A pixel
// that any op touches is at least kLeastOpaque opaque, one that a gap touches at most kMostOpaque: short ops and short gaps never vanish.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/draw/strip_cache.hpp"
#include "sim/tracks/memory_track.hpp"

namespace pipeloom::gui {

using tracks::MemoryExtent;

inline constexpr double kNarrow = 3;
inline constexpr float kLeastOpaque = 0.3F;
inline constexpr float kMostOpaque = 0.86F;

struct ChartQuad {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  Rgba colour = 0;
};

/// A rectangle's outline, inside of it.
struct ChartOutline {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  Rgba colour = 0;
  float width = 1;
};

struct ChartLine {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  Rgba colour = 0;
  float width = 1;
};

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

enum class ChartFace : std::uint8_t { Small, Normal };

/// Characters [begin, begin + length) of ChartList::text, the top left corner at (x, y).
struct ChartLabel {
  float x = 0;
  float y = 0;
  Rgba colour = 0;
  std::uint32_t begin = 0;
  std::uint16_t length = 0;
  ChartFace face = ChartFace::Small;
};

/// Row `row` of a picture's texels, [0, texels) of it, stretched over a box.
struct ChartStrip {
  float x0 = 0;
  float y0 = 0;
  float x1 = 0;
  float y1 = 0;
  int row = 0;
  int texels = 0;
};

/// A texture: `width` texels in each of `rows` rows.
struct ChartPicture {
  int width = 0;
  int rows = 0;
  std::vector<Rgba> texels;  // [row * width + x]
  /// Counts changes of the texels: a view uploads what it has not seen.
  std::uint64_t version = 0;
  std::vector<ChartStrip> strips;
};

/// Widths of letters, so that labels are placed without a window.
struct ChartFont {
  float height = 13;
  std::array<float, 128> advance{};
  [[nodiscard]] float width(std::string_view text) const {
    float sum = 0;
    for (const char letter : text) sum += advance[static_cast<unsigned char>(letter) & 0x7FU];
    return sum;
  }
};

struct ChartFonts {
  ChartFont small;
  ChartFont normal;
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
  /// Measured range, marks, pointer, windows of the maps.
  std::vector<ChartQuad> front;
  std::vector<ChartOutline> front_outlines;
  std::vector<ChartLine> front_lines;
  std::vector<ChartLabel> front_labels;
  std::vector<char> text;

  /// The layout that is drawn: that of the window, moved by half a pixel at most so that time 0 is a whole number of pixels away.
  /// Nothing flickers while the view moves, and strips can be kept.
  ChartLayout layout;
  /// Of `rows` and of memory curves, from frame to frame.
  StripCache<Rgba> kept_texels;
  StripCache<MemoryExtent> kept_extents;

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
  Rgba accent = 0;
  Rgba critical = 0;
  Rgba memory_line = 0;
  Rgba memory_fill = 0;
  Rgba memory_limit = 0;
};
[[nodiscard]] ChartInk make_ink(bool dark);

/// Fills `list` with what `layout` shows of the session. `list` may be that of an earlier frame: what is the same is kept.
void build_chart_list(Session& session, const ChartLayout& layout, const ChartFonts& fonts, ChartList& list);

/// The texel of a pixel of which `shares` are taken, channel by channel; 0 for none. REQUIRES: a colour for each.
[[nodiscard]] Rgba texel_of(std::span<const float> shares, std::span<const Rgba> colours);

}  // namespace pipeloom::gui
