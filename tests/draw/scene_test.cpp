#include "sim/draw/scene.hpp"

#include <cmath>

#include <pipeloom/error.hpp>
#include "draw/scenes.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace scene_test {

using namespace pipeloom;
using namespace pipeloom::draw;

namespace {

std::vector<std::string> words_of(const Scene& scene, Role role) {
  std::vector<std::string> words;
  for (const Text& text : shapes_of<Text>(scene, role)) words.push_back(text.text);
  return words;
}

}  // namespace

TEST_CASE("an op's rectangle stands where its times say", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  SceneOptions options;
  options.width = 700;
  const Scene scene = build_scene(timeline, options);
  const auto ops = shapes_of<Rectangle>(scene, Role::Op);
  REQUIRE(ops.size() == 8);
  // 9 units share the plot's width; B1 of rank 0 is op 3 and runs from 7 to 9.
  const double unit = scene.time.width / 9;
  const Rectangle& last = ops[3];
  CHECK(last.op == 3);
  CHECK(last.x == Approx(scene.time.x + 7 * unit));
  CHECK(last.width == Approx(2 * unit - 1));  // a hairline keeps neighbours apart
  CHECK(last.y == scene.rows[0].y);
  CHECK(last.height == scene.rows[0].height);
  CHECK(last.fill == kind_colour(Theme::Light, OpKind::Backward));
  CHECK(scene.titles[last.title] == "0B1: rank 0, stage 0, microbatch 1\n7.0 to 9.0, 2.0 unit");
  CHECK(words_of(scene, Role::Op) == std::vector<std::string>{"0", "1", "0", "1", "0", "0", "1", "1"});
}

TEST_CASE("rows lie below each other inside the picture, and ops inside their rows", "[draw]") {
  for (const double height : {0.0, 130.0, 400.0}) {
    SceneOptions options;
    options.height = height;
    options.title = "Two ranks";
    options.show_memory = true;
    const Scene scene = build_scene(run(kTwoRanks), options);
    REQUIRE(scene.rows.size() == 2);
    CHECK(scene.rows[0].memory_y >= scene.rows[0].y + scene.rows[0].height);
    CHECK(scene.rows[1].y >= scene.rows[0].memory_y + scene.rows[0].memory_height);
    CHECK(scene.rows[1].memory_y + scene.rows[1].memory_height < scene.height);
    if (height > 0) CHECK(scene.height == height);
    for (const Rectangle& op : shapes_of<Rectangle>(scene, Role::Op)) {
      CHECK(op.x >= scene.time.x);
      CHECK(op.x + op.width <= scene.time.x + scene.time.width + 1e-9);
    }
  }
}

TEST_CASE("no number is wider than its op", "[draw]") {
  for (const double width : {200.0, 300.0, 480.0, 900.0}) {
    SceneOptions options;
    options.width = width;
    const Scene scene = build_scene(run(kTwoRanks), options);
    const Rectangle* box = nullptr;
    for (const Shape& shape : scene.shapes) {
      if (const auto* const one = std::get_if<Rectangle>(&shape)) box = one;
      const auto* const text = std::get_if<Text>(&shape);
      if (text == nullptr || text->role != Role::Op) continue;
      REQUIRE(box != nullptr);
      CHECK(text_width(text->text, text->size) <= box->width);
      CHECK(text->size <= box->height);
    }
  }
}

TEST_CASE("boxes of one size have all their numbers or none", "[draw]") {
  // Twelve forwards of one width, then twelve backwards twice as wide. "10" needs 2 * 0.64 * 6 + 1.5 = 9.2 pixels.
  std::string text;
  for (const char* const kind : {"F", "B"}) {
    for (int k = 0; k < 12; ++k) text += "0" + std::string(kind) + std::to_string(k) + " ";
  }
  const Timeline timeline = run(text);
  // 36 units; beside the plot are 12 + 39 + 8 and 16 pixels: some 5, 10 and 19 pixels a unit.
  const std::vector<std::pair<double, std::size_t>> labels_at_width = {{260, 12}, {440, 24}, {760, 24}};
  for (const auto& [width, labels] : labels_at_width) {
    SceneOptions options;
    options.width = width;
    CHECK(words_of(build_scene(timeline, options), Role::Op).size() == labels);
  }
}

TEST_CASE("the parts of a group share its time: forward above, backward below", "[draw]") {
  const Timeline timeline = run("0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  const Scene scene = build_scene(timeline, {});
  const auto ops = shapes_of<Rectangle>(scene, Role::Op);
  REQUIRE(ops.size() == 4);
  CHECK(ops[1].x == ops[2].x);
  CHECK(ops[1].width == ops[2].width);
  CHECK(ops[2].y == Approx(scene.rows[0].y + scene.rows[0].height / 2));
  CHECK(ops[1].y + ops[1].height <= ops[2].y);
  CHECK(ops[1].fill == kind_colour(Theme::Light, OpKind::Forward));
}

TEST_CASE("a visible range clips ops and moves the axis", "[draw]") {
  SceneOptions options;
  options.range = Span{5 * kUnit, 8 * kUnit};
  options.ranks = {0};
  const Scene scene = build_scene(run(kTwoRanks), options);
  // Of rank 0, B0 shows from 5 to 6 and B1 from 7 to 8.
  const auto ops = shapes_of<Rectangle>(scene, Role::Op);
  REQUIRE(ops.size() == 2);
  const double unit = scene.time.width / 3;
  CHECK(ops[0].x == Approx(scene.time.x));
  CHECK(ops[0].width == Approx(unit - 1));
  CHECK(ops[1].x == Approx(scene.time.x + 2 * unit));
  CHECK(scene.rows.size() == 1);
  CHECK_THROWS_AS(build_scene(run(kTwoRanks), {.range = Span{kUnit, kUnit}}), InputError);
  CHECK_THROWS_AS(build_scene(run(kTwoRanks), {.width = 50}), InputError);
  CHECK_THROWS_AS(build_scene(run(kTwoRanks), {.height = 20}), InputError);
}

TEST_CASE("ranks stand in the order that is asked for, those left out not at all", "[draw]") {
  const Scene plain = build_scene(run(kTwoRanks), {});
  const Scene turned = build_scene(run(kTwoRanks), {.ranks = {1, 0}});
  REQUIRE(turned.rows.size() == 2);
  CHECK(turned.rows[0].first == Rank(1));
  CHECK(turned.rows[1].first == Rank(0));
  // As many ops as before: those of rank 1 now above those of rank 0.
  const auto above = [](const Scene& scene) {
    const auto ops = shapes_of<Rectangle>(scene, Role::Op);
    return std::count_if(ops.begin(), ops.end(), [&](const Rectangle& op) { return op.y < scene.rows[1].y; });
  };
  const auto ops = static_cast<long>(shapes_of<Rectangle>(plain, Role::Op).size());
  CHECK(above(turned) == ops - above(plain));
  const Scene one = build_scene(run(kTwoRanks), {.ranks = {1}});
  REQUIRE(one.rows.size() == 1);
  CHECK(one.rows[0].first == Rank(1));
  CHECK(static_cast<long>(shapes_of<Rectangle>(one, Role::Op).size()) == ops - above(plain));
}

TEST_CASE("far more ops than pixels: as many shapes as pixels, each as tall as its bin is busy", "[draw]") {
  // One rank, 20000 forwards of one unit, an idle unit after each: every bin is half busy.
  constexpr int kOps = 20'000;
  ScheduleBuilder out(Placement::linear(1), kOps);
  out.begin_rank(Rank(0));
  Timeline timeline;
  for (int k = 0; k < kOps; ++k) {
    out.add(forward(Stage(0), Microbatch(k)));
    timeline.start.push_back(2 * k * kUnit);
    timeline.end.push_back((2 * k + 1) * kUnit);
  }
  timeline.schedule = std::make_shared<const Schedule>(std::move(out).build());
  SceneOptions options;
  options.width = 600;
  const Scene scene = build_scene(timeline, options);
  CHECK(shapes_of<Rectangle>(scene, Role::Op).empty());
  const auto bars = shapes_of<Rectangle>(scene, Role::Merged);
  CHECK(bars.size() <= 600 / 3);
  CHECK(bars.size() >= 150);
  for (const Rectangle& bar : bars) {
    CHECK(bar.height == Approx(scene.rows[0].height / 2).epsilon(0.05));
    CHECK(bar.y + bar.height == Approx(scene.rows[0].y + scene.rows[0].height));
    // Of whole pixels, so that neighbours meet without a line of ground between them.
    CHECK(bar.x == std::round(bar.x));
    CHECK(bar.width == std::round(bar.width));
  }
}

TEST_CASE("one short op in a long idle time is still there", "[draw]") {
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0F2"));
  timeline.start = {0, 500'000, 999'999};
  timeline.end = {1, 500'001, 1'000'000};
  const auto bars = shapes_of<Rectangle>(build_scene(timeline, {}), Role::Merged);
  REQUIRE(bars.size() == 3);
  for (const Rectangle& bar : bars) {
    CHECK(bar.height >= 1);
    CHECK(bar.width >= 1);
  }
}

TEST_CASE("more ranks than pixels share rows", "[draw]") {
  std::string text;
  for (int r = 0; r < 300; ++r) text += (r > 0 ? " | " : "") + std::to_string(r) + "F0";
  SceneOptions options;
  options.height = 200;
  const Scene scene = build_scene(run(text), options);
  CHECK(scene.rows.size() < 200);
  CHECK(scene.rows.front().first == Rank(0));
  CHECK(scene.rows.back().last == Rank(300));
  // Stage r runs from r to r + 1: a row of ranks a to b - 1 is busy from a to b, to a bin of some pixels, and nowhere else.
  constexpr double kBin = 4;
  const auto bars = shapes_of<Rectangle>(scene, Role::Merged);
  for (const Row& row : scene.rows) {
    double left = scene.width;
    double right = 0;
    for (const Rectangle& bar : bars)
      if (bar.y >= row.y - 0.01 && bar.y < row.y + row.height) {
        left = std::min(left, bar.x);
        right = std::max(right, bar.x + bar.width);
      }
    CAPTURE(row.first.value());
    CHECK(left == Approx(scene.time.x_of(row.first.value() * kUnit)).margin(kBin));
    CHECK(right == Approx(scene.time.x_of(row.last.value() * kUnit)).margin(kBin));
  }
}

TEST_CASE("the memory strip has its peak where most activations are alive", "[draw]") {
  SceneOptions options;
  options.show_memory = true;
  const Scene scene = build_scene(run(kTwoRanks), options);
  // Rank 0 holds both microbatches from F1's start at 1, rank 1 one at a time from 1.
  const auto peaks = words_of(scene, Role::MemoryPeak);
  CHECK(peaks == std::vector<std::string>{"peak 2", "peak 1"});
  const auto tips = shapes_of<Polyline>(scene, Role::MemoryPeak);
  REQUIRE(tips.size() == 2);
  CHECK(tips[0].points[0].x == Approx(scene.time.x_of(kUnit)));
  const auto lines = shapes_of<Polyline>(scene, Role::MemoryLine);
  REQUIRE(lines.size() == 2);
  double top = 1e9;
  for (const Point& point : lines[0].points) top = std::min(top, point.y);
  CHECK(top == Approx(tips[0].points[0].y));
}

TEST_CASE("a picture with memory grows with the ranks, and leaves the curves out where they would overlap",
          "[draw]") {
  for (const int ranks : {2, 64, 192, 193, 600}) {
    std::string text;
    for (int r = 0; r < ranks; ++r) text += (r > 0 ? " | " : "") + std::to_string(r) + "F0";
    SceneOptions options;
    options.show_memory = true;
    options.caption = "A caption";
    const Scene scene = build_scene(run(text), options);
    const bool fits = ranks <= 192;  // 26 pixels each, 5000 in all
    CHECK(shapes_of<Polyline>(scene, Role::MemoryLine).size() == (fits ? scene.rows.size() : 0));
    CHECK((words_of(scene, Role::Label).back() == "A caption") == fits);
    CHECK(words_of(scene, Role::Legend).size() == (fits ? 2 : 1));
    if (!fits) continue;
    CHECK(scene.rows[0].height >= 10);
    const double pitch = scene.rows[1].y - scene.rows[0].y;
    const auto peaks = shapes_of<Polyline>(scene, Role::MemoryPeak);
    REQUIRE(peaks.size() == scene.rows.size());
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      for (const Point& point : peaks[i].points) {
        CHECK(point.y >= scene.rows[i].memory_y);
        CHECK(point.y <= scene.rows[i].y + pitch);
      }
    }
  }
}

TEST_CASE("folded ranks have low rows with their names and no memory, and the others take the room",
          "[draw]") {
  const std::string text = "0F0 0B0 | 1F0 1B0 | 2F0 2B0 | 3F0 3B0";
  for (const double height : {0.0, 300.0}) {
    CAPTURE(height);
    SceneOptions options;
    options.height = height;
    options.show_memory = true;
    const Scene open = build_scene(run(text), options);
    options.folded = {1, 3};
    const Scene scene = build_scene(run(text), options);
    REQUIRE(scene.rows.size() == 4);
    CHECK(scene.rows[1].height == 6);
    CHECK(scene.rows[3].height == 6);
    CHECK(scene.rows[2].y - scene.rows[1].y == Approx(10));
    CHECK(scene.rows[0].height == Approx(scene.rows[2].height));
    CHECK(shapes_of<Polyline>(scene, Role::MemoryLine).size() == 2);
    const auto names = words_of(scene, Role::Label);
    CHECK(std::ranges::count_if(names, [](const std::string& word) { return word.starts_with("rank "); }) ==
          4);
    // Two rows of four are low: a picture that chooses its height is lower by what they save, another has higher rows.
    const double pitch = open.rows[1].y - open.rows[0].y;
    const double now = scene.rows[1].y - scene.rows[0].y;
    if (height > 0) {
      CHECK(scene.height == open.height);
      CHECK(now == Approx((4 * pitch - 2 * 10) / 2));
    } else {
      CHECK(now == Approx(pitch));
      CHECK(open.height - scene.height == Approx(2 * (pitch - 10)).margin(1));
    }
  }
  // Rows as low as folded ones stay as they are.
  std::string many;
  for (int r = 0; r < 100; ++r) many += (r > 0 ? " | " : "") + std::to_string(r) + "F0";
  const Scene low = build_scene(run(many), {.folded = {5}});
  CHECK(low.rows[5].height == low.rows[6].height);
}

TEST_CASE("a memory limit is a line on the curve's scale", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  MemoryModel memory = default_memory(timeline.schedule->placement());
  memory.limit.assign(static_cast<std::size_t>(timeline.schedule->ranks()), 4);
  SceneOptions options;
  options.show_memory = true;
  options.memory = &memory;
  const Scene scene = build_scene(timeline, options);
  const auto limits = shapes_of<Line>(scene, Role::MemoryLimit);
  REQUIRE(limits.size() == 2);
  // The limit of 4 bytes is twice as high as the peak of 2.
  const double base = scene.rows[0].memory_y + scene.rows[0].memory_height;
  const double peak = shapes_of<Polyline>(scene, Role::MemoryPeak)[0].points[0].y;
  CHECK(base - limits[0].y1 == Approx(2 * (base - peak)));
}

TEST_CASE("idle causes tint exactly the gaps and the critical path outlines a chain", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  const Costs costs = unit_costs(timeline.schedule->placement());
  SceneOptions options;
  options.show_idle_causes = true;
  options.show_critical_path = true;
  options.costs = &costs;
  const Scene scene = build_scene(timeline, options);
  double idle = 0;
  for (const Rectangle& gap : shapes_of<Rectangle>(scene, Role::Idle)) idle += gap.width;
  // Makespan 9, each rank busy 6: 3 + 3 idle.
  CHECK(idle == Approx(6 * scene.time.width / 9));
  // 0F0 1F0 1B0 1F1 1B1 0B1: six entries.
  CHECK(shapes_of<Rectangle>(scene, Role::Critical).size() == 6);
}

TEST_CASE("the legend names what is drawn and nothing else", "[draw]") {
  const auto one = words_of(build_scene(run(kTwoRanks), {}), Role::Legend);
  CHECK(one == std::vector<std::string>{"Forward (F)", "Backward (B)"});
  const auto wave = words_of(build_scene(run("0F0 1F0 1I0 1W0 0I0 0W0"), {}), Role::Legend);
  CHECK(wave == std::vector<std::string>{"Forward (F)", "Input gradient (I)", "Weight gradient (W)",
                                         "Shades: chunk 0, 1"});
  const auto stages = words_of(build_scene(run(kTwoRanks), {.colour_by = ColourBy::Stage}), Role::Legend);
  CHECK(stages == std::vector<std::string>{"Stage 0", "Stage 1", "Full colour: forward, paler: backward"});
  CHECK(words_of(build_scene(run(kTwoRanks), {.show_legend = false}), Role::Legend).empty());
}

TEST_CASE("texts outside the plot do not overlap", "[draw]") {
  SceneOptions options;
  options.title = "A title";
  options.caption = "A caption";
  options.show_memory = true;
  for (const double width : {300.0, 480.0, 1200.0}) {
    options.width = width;
    const Scene scene = build_scene(run(kTwoRanks), options);
    std::vector<Rectangle> boxes;
    for (const Shape& shape : scene.shapes) {
      const auto* const text = std::get_if<Text>(&shape);
      if (text == nullptr || text->role == Role::Op) continue;
      const double length = text_width(text->text, text->size);
      const double shift = text->align == Align::Start ? 0 : text->align == Align::Middle ? 0.5 : 1;
      const Rectangle box{.x = text->x - shift * length,
                          .y = text->y - 0.75 * text->size,
                          .width = length,
                          .height = 0.75 * text->size,
                          .fill = {},
                          .stroke = {}};
      CHECK(box.x >= 0);
      for (const Rectangle& other : boxes) {
        const bool apart = box.x >= other.x + other.width || other.x >= box.x + box.width ||
                           box.y >= other.y + other.height || other.y >= box.y + box.height;
        INFO(text->text);
        CHECK(apart);
      }
      boxes.push_back(box);
    }
  }
}

}  // namespace scene_test
