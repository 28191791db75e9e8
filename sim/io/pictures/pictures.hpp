#pragma once

// Scenes as files: SVG 1.1, whose text stays text, so that a figure can be searched, restyled and set in the document's font; PNG and PDF,
// drawn by cairo.

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "sim/draw/scene.hpp"

namespace pipeloom::io {

/// The letters of all pictures. Where they are not installed, the system's letters without serifs take their place.
inline constexpr const char* kPictureFont = "Inter";

/// Writes a self-contained SVG document of scene.width x scene.height pixels. Equal scenes give equal bytes. Check `out`
/// afterwards, as with any stream.
void write_svg(std::ostream& out, const draw::Scene& scene);

/// Writes a PNG of scene size * `scale` pixels, rounded up. Throws InputError if a side would pass cairo's 32767 pixels,
/// SystemError if `out` fails. Equal scenes give equal bytes.
void write_png(std::ostream& out, const draw::Scene& scene, double scale = 2.0);

/// Pixels of a picture, 0xAABBGGRR, row by row from the top.
struct DrawnPixels {
  int width = 0;
  int height = 0;
  std::vector<std::uint32_t> rgba;
};
/// The picture that write_png() writes at this scale, for a screen. Throws as it does.
[[nodiscard]] DrawnPixels draw_pixels(const draw::Scene& scene, double scale);

/// Writes a one-page PDF; one pixel of the scene is 1/96 inch. Throws SystemError if `out` fails. Carries no time of
/// creation.
void write_pdf(std::ostream& out, const draw::Scene& scene);

}  // namespace pipeloom::io
