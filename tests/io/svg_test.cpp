#include <sstream>

#include "draw/scenes.hpp"
#include "sim/io/pictures/pictures.hpp"
#include "support/catch.hpp"
#include "support/xml.hpp"

namespace svg_test {

using namespace pipeloom;
using namespace pipeloom::draw;

namespace {

std::string svg_of(const Scene& scene) {
  std::ostringstream out;
  io::write_svg(out, scene);
  return out.str();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("an SVG is well-formed, of the scene's size, and has a title for every op", "[io]") {
  const Scene scene = build_scene(run(kTwoRanks), {.width = 640, .title = "Two ranks"});
  const std::string svg = svg_of(scene);
  CHECK(xml_problem(svg).empty());
  CHECK(svg.find("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\"") != std::string::npos);
  CHECK(count(svg, "<title>") == 8);
  CHECK(svg.find(">Two ranks</text>") != std::string::npos);
  CHECK(svg == svg_of(scene));
}

TEST_CASE("whatever a person writes is escaped", "[io]") {
  const std::string svg =
      svg_of(build_scene(run(kTwoRanks), {.title = "a < b & \"c\" \x01 ]]> d", .caption = "1 > 0"}));
  CHECK(xml_problem(svg).empty());
  CHECK(svg.find("a &lt; b &amp; &quot;c&quot; ? ]]&gt; d") != std::string::npos);
  CHECK(svg.find("1 &gt; 0") != std::string::npos);
}

TEST_CASE("every option yields well-formed SVG", "[io]") {
  const Timeline timeline = run("0F0 (0F1;0B0)OVERLAP_F_B 0I1 0W1");
  const Costs costs = unit_costs(timeline.schedule->placement());
  SceneOptions options;
  options.patterns = true;
  options.show_memory = true;
  options.show_idle_causes = true;
  options.show_critical_path = true;
  options.costs = &costs;
  for (const Theme theme : {Theme::Light, Theme::Dark}) {
    for (const ColourBy by : {ColourBy::Kind, ColourBy::Stage, ColourBy::Microbatch, ColourBy::Rank}) {
      options.theme = theme;
      options.colour_by = by;
      CHECK(xml_problem(svg_of(build_scene(timeline, options))).empty());
    }
  }
}

TEST_CASE("rectangles of one colour share a path where nothing tells them apart", "[io]") {
  Scene scene;
  scene.width = 100;
  scene.height = 10;
  const Colour blue{0, 0, 255};
  for (int i = 0; i < 3; ++i) {
    scene.shapes.emplace_back(
        Rectangle{.x = 10.0 * i, .y = 0.125, .width = 5, .height = 2.5, .fill = blue, .stroke = {}});
  }
  const std::string svg = svg_of(scene);
  CHECK(svg.find("<path fill=\"#0000ff\" d=\"M0 0.13h5v2.5h-5zM10 0.13h5v2.5h-5zM20 0.13h5v2.5h-5z\"/>") !=
        std::string::npos);
  CHECK(count(svg, "<rect") == 0);
}

TEST_CASE("the check itself finds broken XML", "[io]") {
  CHECK_FALSE(xml_problem("<a><b></a></b>").empty());
  CHECK_FALSE(xml_problem("<a x=1/>").empty());
  CHECK_FALSE(xml_problem("<a>&</a>").empty());
  CHECK_FALSE(xml_problem("<a/><a/>").empty());
  CHECK(xml_problem("<?xml version=\"1.0\"?>\n<a x=\"1\"><b/>t &lt;</a>\n").empty());
}

}  // namespace svg_test
