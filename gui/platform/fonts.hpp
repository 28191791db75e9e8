#pragma once

// The interface's letters: Inter, or DejaVu Sans where the build did not find it, and DejaVu's signs; carried in the program, rasterised at
// the size in use. All digits have the same width, so that numbers line up in columns and do not jump.
//
// Dear ImGui 1.86 has no fonts of changing size, so that every scale has an atlas of its own. Making one takes some 10 ms of a
// processor, which no frame has: it may be made on any thread, and becomes the frame thread's when it is used.

#include <memory>

#include "gui/platform/platform.hpp"

struct ImFont;
struct ImFontAtlas;

namespace pipeloom::gui {

/// Sizes of letters in pixels at scale 1, as typographers count them: lines are a fifth higher.
inline constexpr float kLargeFontPixels = 20;
inline constexpr float kStrongFontPixels = 15;
inline constexpr float kFontPixels = 13;
inline constexpr float kSmallFontPixels = 11;

struct AtlasDeleter {
  void operator()(ImFontAtlas* atlas) const;
};

struct Fonts {
  std::unique_ptr<ImFontAtlas, AtlasDeleter> atlas;
  ImFont* large = nullptr;   ///< for Skin::large
  ImFont* strong = nullptr;  ///< for Skin::strong
  ImFont* font = nullptr;    ///< for Skin::font
  ImFont* small = nullptr;   ///< for Skin::small
  float scale = 0;
};

/// Rasterises all sizes at `scale`: Latin letters with accents, Greek, arrows, and the mathematical and geometric signs that the
/// interface uses. REQUIRES: 0.5 <= scale <= 8. Any thread.
[[nodiscard]] Fonts build_fonts(float scale);

/// Makes `fonts` those of the ImGui context, whose former atlas is freed, and uploads their picture. Frame thread, between frames.
/// Fonts::atlas is the context's afterwards (null in the result); the pointers for the skin stay.
Fonts use_fonts(Fonts fonts, Platform& platform);

}  // namespace pipeloom::gui
