#include "sim/draw/scene_stack.hpp"

#include "draw/scenes.hpp"
#include "support/catch.hpp"

namespace scene_stack_test {

using namespace pipeloom;
using namespace pipeloom::draw;

TEST_CASE("stacked pictures share width, left edge and time scale", "[draw]") {
  const Timeline small = run("0F0 0B0");
  const Timeline large =
      run("0F0 0B0 | 1F0 1B0 | 2F0 2B0 | 3F0 3B0 | 4F0 4B0 | 5F0 5B0 | 6F0 6B0 | 7F0 7B0 | 8F0 8B0 | 9F0 9B0 "
          "| 10F0 10B0");
  SceneOptions options;
  options.range = Span{0, 33 * kUnit};  // 11 stages of F 1 and B 2
  const Scene scene = build_stacked_scene({{&small, options}, {&large, options}});
  REQUIRE(scene.rows.size() == 12);
  for (std::size_t i = 1; i < scene.rows.size(); ++i)
    CHECK(scene.rows[i].y >= scene.rows[i - 1].y + scene.rows[i - 1].height);
  CHECK(scene.rows.back().y + scene.rows.back().height < scene.height);
  // 0F0 runs from 0 to 1 in both, "rank 10" being the longest label.
  const auto ops = shapes_of<Rectangle>(scene, Role::Op);
  REQUIRE(ops.size() == 2 + 22);
  CHECK(ops[0].x == ops[2].x);
  CHECK(ops[0].width == ops[2].width);
  CHECK(ops[0].x == scene.time.x);
  CHECK(scene.titles[ops[2].title].starts_with("0F0"));
  CHECK(ops[2].title > ops[1].title);
}

TEST_CASE("a chosen size is that of all stacked pictures together", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  SceneOptions options;
  options.width = 600;
  options.height = 400;
  const Scene scene = build_stacked_scene({{&timeline, options}, {&timeline, options}});
  CHECK(scene.width == 600);
  CHECK(scene.height == Approx(400));
}

TEST_CASE("of stacked pictures one may have the axis of all", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  SceneOptions options;
  options.title = "above";
  options.show_axis = false;
  SceneOptions last = options;
  last.title = "below";
  last.show_axis = true;
  const Scene scene = build_stacked_scene({{&timeline, options}, {&timeline, last}});
  const Scene both = build_stacked_scene({{&timeline, last}, {&timeline, last}});
  CHECK(scene.height < both.height);
  // Each text of the axis is there once, and below all rows.
  const std::size_t with_two = shapes_of<Text>(both, Role::Axis).size();
  const auto texts = shapes_of<Text>(scene, Role::Axis);
  CHECK(2 * texts.size() == with_two);
  for (const auto& text : texts) CHECK(text.y > scene.rows.back().y + scene.rows.back().height);
}

TEST_CASE("a picture is in the colours of its palette", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  SceneOptions options;
  options.palette = Palette::Greyscale;
  const Scene scene = build_scene(timeline, options);
  for (const auto& box : shapes_of<Rectangle>(scene, Role::Op)) {
    CHECK(box.fill->red == box.fill->green);
    CHECK(box.fill->red == box.fill->blue);
  }
  CHECK(palette_named("colour-blind") == Palette::ColourBlind);
  CHECK_FALSE(palette_named("rainbow"));
}

}  // namespace scene_stack_test
