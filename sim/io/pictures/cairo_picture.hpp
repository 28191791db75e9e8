#pragma once

// Pictures as PNG and PDF, drawn by cairo from the same scene as the SVG.

#include <iosfwd>

#include "sim/draw/scene.hpp"

namespace pipeloom::io {

/// Writes a PNG of scene size * `scale` pixels, rounded up. Throws InputError if a side would pass cairo's 32767 pixels,
/// SystemError if `out` fails. Equal scenes give equal bytes.
void write_png(std::ostream& out, const draw::Scene& scene, double scale = 2.0);

/// Writes a one-page PDF; one pixel of the scene is 1/96 inch. Throws SystemError if `out` fails. Carries no time of
/// creation.
void write_pdf(std::ostream& out, const draw::Scene& scene);

}  // namespace pipeloom::io
