#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/text_writer.hpp"
#include "sim/io/pictures/pictures.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::io {
namespace {

using namespace draw;

constexpr const char* kOtherFonts =
    "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif";

/// Rectangles that differ in nothing but their place share one path, so that large pictures stay small.
bool can_share_path(const Rectangle& box) {
  return box.fill && !box.stroke && box.pattern == Pattern::None && box.title == kNoTitle;
}

class SvgWriter {
 public:
  SvgWriter(std::ostream& out, const Scene& scene) : out_(out), scene_(scene) {}

  void write() {
    out_ << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"";
    number(scene_.width) << "\" height=\"";
    number(scene_.height) << "\" viewBox=\"0 0 ";
    number(scene_.width) << ' ';
    number(scene_.height) << "\" font-family=\"" << kPictureFont << ", " << kOtherFonts << "\">\n";
    write_patterns();
    for (std::size_t i = 0; i < scene_.shapes.size();) i = write_from(i);
    out_ << "</svg>\n";
    out_.flush();
  }

 private:
  /// At most two digits after the point, no trailing zeros.
  TextWriter& number(double value) {
    const auto hundredths = static_cast<long long>(std::llround(value * 100));
    const long long whole = std::llabs(hundredths) / 100;
    const long long rest = std::llabs(hundredths) % 100;
    if (hundredths < 0) out_ << '-';
    out_ << whole;
    if (rest == 0) return out_;
    out_ << '.' << rest / 10;
    if (rest % 10 != 0) out_ << rest % 10;
    return out_;
  }

  void attribute(const char* name, double value) {
    out_ << ' ' << name << "=\"";
    number(value) << '"';
  }
  void attribute(const char* name, std::string_view value) { out_ << ' ' << name << "=\"" << value << '"'; }

  /// XML text; characters that XML 1.0 cannot hold become '?'.
  void escaped(std::string_view text) {
    for (const char c : printable_lines(text)) {
      switch (c) {
        case '&':
          out_ << "&amp;";
          break;
        case '<':
          out_ << "&lt;";
          break;
        case '>':
          out_ << "&gt;";
          break;
        case '"':
          out_ << "&quot;";
          break;
        default:
          out_ << c;
      }
    }
  }

  static std::string pattern_id(Pattern pattern, Colour colour) {
    return "p" + std::to_string(static_cast<int>(pattern)) + to_hex(colour).substr(1);
  }

  void write_patterns() {
    std::set<std::string> known;
    for (const Shape& shape : scene_.shapes) {
      const auto* const box = std::get_if<Rectangle>(&shape);
      if (box == nullptr || box->pattern == Pattern::None || !box->fill) continue;
      const Colour line = pattern_colour(*box->fill);
      const std::string id = pattern_id(box->pattern, line);
      if (!known.insert(id).second) continue;
      out_ << "<pattern id=\"" << id << "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">";
      if (box->pattern == Pattern::Dotted) {
        out_ << "<circle cx=\"3\" cy=\"3\" r=\"1\" fill=\"" << to_hex(line) << "\"/>";
      } else {
        out_ << "<path d=\""
             << (box->pattern == Pattern::Rising ? "M-1 1L1-1M0 6L6 0M5 7L7 5" : "M-1 5L1 7M0 0L6 6M5-1L7 1")
             << "\" stroke=\"" << to_hex(line) << "\" stroke-width=\"0.9\"/>";
      }
      out_ << "</pattern>\n";
    }
  }

  /// Writes shape `i`, with it the following ones that share its element; returns the next to write.
  std::size_t write_from(std::size_t i) {
    const Shape& shape = scene_.shapes[i];
    if (const auto* const box = std::get_if<Rectangle>(&shape)) {
      const std::size_t last = end_of_path(i);
      if (last > i + 1) {
        write_path(i, last);
        return last;
      }
      write(*box);
    } else {
      std::visit([this](const auto& one) { write(one); }, shape);
    }
    return i + 1;
  }

  [[nodiscard]] std::size_t end_of_path(std::size_t i) const {
    const auto& first = std::get<Rectangle>(scene_.shapes[i]);
    std::size_t last = i + 1;
    if (!can_share_path(first)) return last;
    for (; last < scene_.shapes.size(); ++last) {
      const auto* const next = std::get_if<Rectangle>(&scene_.shapes[last]);
      if (next == nullptr || !can_share_path(*next) || next->fill != first.fill || next->role != first.role)
        break;
    }
    return last;
  }

  void write_path(std::size_t begin, std::size_t end) {
    out_ << "<path fill=\"" << to_hex(*std::get<Rectangle>(scene_.shapes[begin]).fill) << "\" d=\"";
    for (std::size_t i = begin; i < end; ++i) {
      const auto& box = std::get<Rectangle>(scene_.shapes[i]);
      out_ << 'M';
      number(box.x) << ' ';
      number(box.y) << 'h';
      number(box.width) << 'v';
      number(box.height) << 'h';
      number(-box.width) << 'z';
    }
    out_ << "\"/>\n";
  }

  void rectangle_element(const Rectangle& box, std::string_view fill, bool close) {
    out_ << "<rect";
    attribute("x", box.x);
    attribute("y", box.y);
    attribute("width", box.width);
    attribute("height", box.height);
    attribute("fill", fill);
    if (box.stroke) {
      attribute("stroke", to_hex(*box.stroke));
      attribute("stroke-width", box.stroke_width);
    }
    out_ << (close ? "/>\n" : ">");
  }

  void write(const Rectangle& box) {
    const bool titled = box.title != kNoTitle;
    rectangle_element(box, box.fill ? to_hex(*box.fill) : "none", !titled);
    if (titled) {
      out_ << "<title>";
      escaped(scene_.titles[box.title]);
      out_ << "</title></rect>\n";
    }
    if (box.pattern == Pattern::None || !box.fill) return;
    const std::string id = pattern_id(box.pattern, pattern_colour(*box.fill));
    Rectangle over = box;
    over.stroke.reset();
    rectangle_element(over, "url(#" + id + ")", true);
  }

  void write(const Line& line) {
    out_ << "<line";
    attribute("x1", line.x1);
    attribute("y1", line.y1);
    attribute("x2", line.x2);
    attribute("y2", line.y2);
    attribute("stroke", to_hex(line.colour));
    attribute("stroke-width", line.width);
    if (line.dashed) attribute("stroke-dasharray", "4 3");
    out_ << "/>\n";
  }

  void write(const Text& text) {
    constexpr std::array<const char*, 3> kAnchors = {"start", "middle", "end"};
    out_ << "<text";
    attribute("x", text.x);
    attribute("y", text.y);
    attribute("font-size", text.size);
    attribute("fill", to_hex(text.colour));
    if (text.align != Align::Start) attribute("text-anchor", kAnchors[static_cast<std::size_t>(text.align)]);
    if (text.bold) attribute("font-weight", "bold");
    // A number must not take the pointer from the op below it, whose title is shown.
    if (text.role == Role::Op) attribute("pointer-events", "none");
    out_ << '>';
    escaped(text.text);
    out_ << "</text>\n";
  }

  void write(const Polyline& line) {
    out_ << (line.fill ? "<polygon" : "<polyline");
    attribute("fill", line.fill ? to_hex(*line.fill) : "none");
    if (line.stroke) {
      attribute("stroke", to_hex(*line.stroke));
      attribute("stroke-width", line.stroke_width);
    }
    out_ << " points=\"";
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      if (i > 0) out_ << ' ';
      number(line.points[i].x) << ',';
      number(line.points[i].y);
    }
    out_ << "\"/>\n";
  }

  TextWriter out_;
  const Scene& scene_;
};

}  // namespace

void write_svg(std::ostream& out, const draw::Scene& scene) {
  SvgWriter(out, scene).write();
}

}  // namespace pipeloom::io
