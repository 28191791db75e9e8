#pragma once

// Colours of rows with more ops than pixels. Where kinds share pixels, diagonal bands have their colours, as wide as their shares of the
// time around: a steady state is two or three clear colours and no blend of them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gui/model/chart/chart_colours.hpp"

namespace pipeloom::gui {

/// A pixel that any op touches is at least so opaque, one that a gap touches at most so: short ops and short gaps never vanish.
inline constexpr float kLeastOpaque = 0.3F;
inline constexpr float kMostOpaque = 0.86F;

/// The texels of one column from the top, over and over: diagonals where neighbours are alike. Bands of all kinds together are so wide.
inline constexpr std::size_t kHatch = 12;
using HatchedTexel = std::array<Rgba, kHatch>;

/// Columns next to the coloured ones that influence their colours.
inline constexpr std::size_t kHatchMargin = 20;

/// Writes the texels of columns, of which the first is number `first` of all, so that bands go on where the view moves; a band moves by
/// one texel every `step` columns. `shares` are those that each of `colours` takes of a column, [column * colours + colour], with
/// kHatchMargin columns more before and after. REQUIRES: colours.size() <= kHatch, step >= 1.
void hatch(std::span<const float> shares, std::span<const Rgba> colours, std::int64_t first, int step,
           std::span<HatchedTexel> out);

}  // namespace pipeloom::gui
