#pragma once

// Signs that are drawn instead of written, so that they look alike in every font. A new one is a name here and a row in icons.cpp.

#include <cstddef>
#include <cstdint>
#include <span>

namespace pipeloom::gui {

enum class Icon : std::uint8_t {
  Cross,  ///< closes, removes
  Play,
  Pause,
  StepBack,
  StepForward,
  Pin,
  Down,  ///< a wedge: unfolded, a list, falling
  Up,
  Right,  ///< folded
  Reset,
  Many,  ///< a value for each
  One,   ///< one value for all
  Minus,
  Plus
};
inline constexpr std::size_t kIcons = 14;

/// Places are -1 .. 1 from the icon's middle, y from the top down; ends of strokes may reach a little further.
struct IconStroke {
  float x0, y0, x1, y1;
};
/// Its corners in turn; a triangle has the last one twice.
struct IconArea {
  float x0, y0, x1, y1, x2, y2, x3, y3;
};
struct IconShape {
  Icon icon;
  std::span<const IconStroke> strokes;
  std::span<const IconArea> filled;
};
[[nodiscard]] const IconShape& shape_of(Icon icon);

}  // namespace pipeloom::gui
