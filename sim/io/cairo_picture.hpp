#pragma once

// Pictures as PNG and PDF, drawn by cairo from the same scene as the SVG.

#include <string>

#include "sim/draw/scene.hpp"

namespace pipeloom::io {

/// Writes a PNG of scene size * `scale` pixels, rounded up. Throws SystemError if the file cannot be written, InputError
/// if the picture would pass cairo's 32767 pixels on a side.
void write_png(const std::string& path, const draw::Scene& scene, double scale = 2.0);

/// Writes a one-page PDF; one pixel of the scene is 1/96 inch. Throws SystemError if the file cannot be written.
void write_pdf(const std::string& path, const draw::Scene& scene);

}  // namespace pipeloom::io
