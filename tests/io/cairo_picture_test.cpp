#include <sstream>

#include <pipeloom/error.hpp>
#include "draw/scenes.hpp"
#include "sim/io/pictures/pictures.hpp"
#include "support/catch.hpp"

namespace cairo_picture_test {

using namespace pipeloom;
using namespace pipeloom::draw;

namespace {

/// The big-endian number at a byte offset, as PNG headers store it.
unsigned number_at(const std::string& bytes, std::size_t offset) {
  unsigned value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

}  // namespace

TEST_CASE("a PNG has the scene's size times the scale", "[io]") {
  const Scene scene = build_scene(run(kTwoRanks), {.width = 300, .height = 150});
  std::ostringstream out;
  io::write_png(out, scene, 1.5);
  const std::string png = out.str();
  REQUIRE(png.size() > 100);
  CHECK(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  CHECK(number_at(png, 16) == 450);
  CHECK(number_at(png, 20) == 225);
}

TEST_CASE("a PDF is a PDF, and equal scenes give equal bytes", "[io]") {
  const Scene scene = build_scene(run(kTwoRanks), {.patterns = true, .show_memory = true});
  std::ostringstream one;
  std::ostringstream two;
  io::write_pdf(one, scene);
  io::write_pdf(two, scene);
  CHECK(one.str().substr(0, 5) == "%PDF-");
  CHECK(one.str().find("CreationDate (D:") == std::string::npos);
  CHECK(one.str() == two.str());
}

TEST_CASE("shapes that do not touch may be painted in any order", "[io]") {
  const Shape words = Text{5, 20, 10, "words", {0, 0, 0}};
  const Shape triangle = Polyline{{{60, 60}, {90, 60}, {75, 90}}, Colour{0, 0, 255}, Colour{255, 0, 0}};
  std::ostringstream one;
  std::ostringstream two;
  io::write_png(
      one, {.width = 100, .height = 100, .time = {}, .rows = {}, .shapes = {words, triangle}, .titles = {}});
  io::write_png(
      two, {.width = 100, .height = 100, .time = {}, .rows = {}, .shapes = {triangle, words}, .titles = {}});
  CHECK(one.str() == two.str());
}

TEST_CASE("a picture too large for PNG and a stream that fails are named", "[io]") {
  const Scene scene = build_scene(run(kTwoRanks), {.width = 20'000});
  std::ostringstream out;
  CHECK_THROWS_AS(io::write_png(out, scene), InputError);
  std::ostringstream broken;
  broken.setstate(std::ios::badbit);
  const Scene small = build_scene(run(kTwoRanks), {});
  CHECK_THROWS_AS(io::write_png(broken, small), SystemError);
  CHECK_THROWS_AS(io::write_pdf(broken, small), SystemError);
}

}  // namespace cairo_picture_test
