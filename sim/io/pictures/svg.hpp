#pragma once

// Pictures as SVG 1.1: text stays text, so a figure can be searched, restyled and set in the document's font.

#include <iosfwd>

#include "sim/draw/scene.hpp"

namespace pipeloom::io {

/// Writes a self-contained SVG document of scene.width x scene.height pixels. Equal scenes give equal bytes. Check `out`
/// afterwards, as with any stream.
void write_svg(std::ostream& out, const draw::Scene& scene);

}  // namespace pipeloom::io
