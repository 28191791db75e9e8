// In place of sim/io/pictures/cairo_picture.cpp where there is no cairo.

#include <pipeloom/error.hpp>
#include "sim/io/pictures/pictures.hpp"

namespace pipeloom::io {
namespace {

[[noreturn]] void refuse(const char* format) {
  throw InputError(std::string(format) +
                   " pictures are not written by this build, which has no cairo; take svg, or the pipeloom "
                   "that is installed by a package");
}

}  // namespace

void write_png(std::ostream& /*out*/, const draw::Scene& /*scene*/, double /*scale*/) {
  refuse("PNG");
}

DrawnPixels draw_pixels(const draw::Scene& /*scene*/, double /*scale*/) {
  refuse("drawn");
}

void write_pdf(std::ostream& /*out*/, const draw::Scene& /*scene*/) {
  refuse("PDF");
}

}  // namespace pipeloom::io
