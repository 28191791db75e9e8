#include <cairo-pdf.h>
#include <cairo.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <variant>

#include <pipeloom/error.hpp>
#include "sim/io/pictures/pictures.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::io {
namespace {

using namespace draw;

constexpr double kPointsPerPixel = 72.0 / 96.0;
constexpr double kMaxPixels = 32767;

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Cairo = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;

cairo_status_t write_to_stream(void* closure, const unsigned char* data, unsigned int length) {
  auto& out = *static_cast<std::ostream*>(closure);
  out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(length));
  return out ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

void require(cairo_status_t status, const char* what) {
  if (status != CAIRO_STATUS_SUCCESS) {
    throw SystemError(fmt::format("cannot write the {}: {}", what, cairo_status_to_string(status)));
  }
}

class Painter {
 public:
  explicit Painter(cairo_t* cairo) : cairo_(cairo) {}

  void operator()(const Rectangle& box) const {
    if (box.fill) {
      ink(*box.fill);
      cairo_rectangle(cairo_, box.x, box.y, box.width, box.height);
      cairo_fill(cairo_);
      if (box.pattern != Pattern::None) pattern(box);
    }
    if (box.stroke) {
      ink(*box.stroke);
      cairo_set_line_width(cairo_, box.stroke_width);
      cairo_rectangle(cairo_, box.x, box.y, box.width, box.height);
      cairo_stroke(cairo_);
    }
  }

  void operator()(const Line& line) const {
    constexpr double kDash[] = {4, 3};
    ink(line.colour);
    cairo_set_line_width(cairo_, line.width);
    cairo_set_dash(cairo_, kDash, line.dashed ? 2 : 0, 0);
    cairo_move_to(cairo_, line.x1, line.y1);
    cairo_line_to(cairo_, line.x2, line.y2);
    cairo_stroke(cairo_);
    cairo_set_dash(cairo_, nullptr, 0, 0);
  }

  void operator()(const Text& text) const {
    cairo_select_font_face(cairo_, kPictureFont, CAIRO_FONT_SLANT_NORMAL,
                           text.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo_, text.size);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, text.text.c_str(), &extents);
    const double share = text.align == Align::Start ? 0 : text.align == Align::Middle ? 0.5 : 1;
    ink(text.colour);
    cairo_move_to(cairo_, text.x - share * extents.x_advance, text.y);
    cairo_show_text(cairo_, text.text.c_str());
  }

  void operator()(const Polyline& line) const {
    cairo_new_path(cairo_);  // a text leaves its end as the current point
    for (const Point& point : line.points) cairo_line_to(cairo_, point.x, point.y);
    if (line.fill) {
      ink(*line.fill);
      cairo_close_path(cairo_);
      cairo_fill_preserve(cairo_);
    }
    if (line.stroke) {
      ink(*line.stroke);
      cairo_set_line_width(cairo_, line.stroke_width);
      cairo_stroke_preserve(cairo_);
    }
    cairo_new_path(cairo_);
  }

 private:
  void ink(Colour colour) const {
    cairo_set_source_rgb(cairo_, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
  }

  /// The same lines and dots as in SVG, on a grid fixed to the page.
  void pattern(const Rectangle& box) const {
    constexpr double kPitch = 6;
    cairo_save(cairo_);
    cairo_rectangle(cairo_, box.x, box.y, box.width, box.height);
    cairo_clip(cairo_);
    ink(pattern_colour(*box.fill));
    cairo_set_line_width(cairo_, 0.9);
    const double right = box.x + box.width;
    const double bottom = box.y + box.height;
    if (box.pattern == Pattern::Dotted) {
      for (double y = std::floor(box.y / kPitch) * kPitch + 3; y < bottom + 1; y += kPitch) {
        for (double x = std::floor(box.x / kPitch) * kPitch + 3; x < right + 1; x += kPitch) {
          cairo_arc(cairo_, x, y, 1, 0, 7);
          cairo_fill(cairo_);
        }
      }
    } else {
      // Rising lines keep x + y, falling ones x - y at multiples of the pitch.
      const bool rising = box.pattern == Pattern::Rising;
      const double low = rising ? box.x + box.y : box.x - bottom;
      const double high = rising ? right + bottom : right - box.y;
      for (double c = std::floor(low / kPitch) * kPitch; c <= high; c += kPitch) {
        cairo_move_to(cairo_, rising ? c - box.y : c + box.y, box.y);
        cairo_line_to(cairo_, rising ? c - bottom : c + bottom, bottom);
      }
      cairo_stroke(cairo_);
    }
    cairo_restore(cairo_);
  }

  cairo_t* cairo_;
};

void paint(cairo_surface_t* surface, const Scene& scene, double scale, const char* what) {
  const Cairo cairo(cairo_create(surface), &cairo_destroy);
  // Also the fraction of a pixel by which the surface is larger than the scene.
  const Colour ground = surface_of(scene.theme).background;
  cairo_set_source_rgb(cairo.get(), ground.red / 255.0, ground.green / 255.0, ground.blue / 255.0);
  cairo_paint(cairo.get());
  cairo_scale(cairo.get(), scale, scale);
  const Painter painter(cairo.get());
  for (const Shape& shape : scene.shapes) std::visit(painter, shape);
  require(cairo_status(cairo.get()), what);
}

/// The picture in memory.
Surface png_surface(const Scene& scene, double scale) {
  const double width = std::ceil(scene.width * scale);
  const double height = std::ceil(scene.height * scale);
  if (width > kMaxPixels || height > kMaxPixels) {
    throw InputError(
        fmt::format("a PNG of {:.0f} x {:.0f} pixels is too large; a side may have {:.0f}, "
                    "take a smaller width or write SVG or PDF",
                    width, height, kMaxPixels));
  }
  Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)),
      &cairo_surface_destroy);
  require(cairo_surface_status(surface.get()), "PNG");
  paint(surface.get(), scene, scale, "PNG");
  return surface;
}

}  // namespace

void write_png(std::ostream& out, const Scene& scene, double scale) {
  const Surface surface = png_surface(scene, scale);
  require(cairo_surface_write_to_png_stream(surface.get(), &write_to_stream, &out), "PNG");
}

DrawnPixels draw_pixels(const Scene& scene, double scale) {
  const Surface surface = png_surface(scene, scale);
  cairo_surface_flush(surface.get());
  DrawnPixels out;
  out.width = cairo_image_surface_get_width(surface.get());
  out.height = cairo_image_surface_get_height(surface.get());
  out.rgba.reserve(static_cast<std::size_t>(out.width) * static_cast<std::size_t>(out.height));
  const unsigned char* line = cairo_image_surface_get_data(surface.get());
  for (int y = 0; y < out.height; ++y, line += cairo_image_surface_get_stride(surface.get()))
    for (int x = 0; x < out.width; ++x) {
      std::uint32_t pixel = 0;  // 0x00RRGGBB in the machine's order
      std::memcpy(&pixel, line + 4 * static_cast<std::ptrdiff_t>(x), sizeof pixel);
      out.rgba.push_back(0xFF000000U | (pixel & 0xFFU) << 16U | (pixel & 0xFF00U) | (pixel >> 16U & 0xFFU));
    }
  return out;
}

void write_pdf(std::ostream& out, const Scene& scene) {
  const Surface surface(
      cairo_pdf_surface_create_for_stream(&write_to_stream, &out, scene.width * kPointsPerPixel,
                                          scene.height * kPointsPerPixel),
      &cairo_surface_destroy);
  require(cairo_surface_status(surface.get()), "PDF");
  // Equal pictures give equal bytes: cairo would write the current time.
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");
  paint(surface.get(), scene, kPointsPerPixel, "PDF");
  cairo_surface_finish(surface.get());
  require(cairo_surface_status(surface.get()), "PDF");
}

}  // namespace pipeloom::io
