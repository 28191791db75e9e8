#include "gui/model/draw/chart_list.hpp"

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "gui/chart_scene.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "sim/kinds.hpp"
#include "sim/tracks/op_track.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/window_scenes.hpp"

namespace chart_list_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

unsigned alpha(Rgba colour) {
  return colour >> 24U;
}

}  // namespace

TEST_CASE("wide ops are boxes in their kind's colour with their microbatch", "[chart]") {
  Chart chart(kScene);
  chart.draw();
  CHECK(chart.list.rows.strips.empty());
  CHECK(chart.colour_at(kX + 50, kY + 5) == chart.fill(OpKind::Forward));
  CHECK(chart.colour_at(kX + 550, kY + 5) == chart.fill(OpKind::Backward));
  CHECK(chart.colour_at(kX + 300, kY + 5) == 0);
  // A unit is 100 pixels: room for the letter.
  CHECK(chart.labels("F0") == 2);
  CHECK(chart.labels("B1") == 2);
  // Idle time is empty. Warm-up is two units in front of 0B0, wide enough for a word, and one of rank 1, which is not.
  CHECK(chart.labels("warmup") == 1);
  CHECK(chart.ground_at(kX + 300, kY + 5) == make_ink(true).row);
}

TEST_CASE("labels lose their letter, then go, as ops get narrower", "[chart]") {
  Chart chart(kScene);
  // 900 pixels for 36 units: 25 each. A letter needs 14 and 12 of air.
  chart.session.view.range = {0, 36.0 * kOne};
  chart.draw();
  CHECK(chart.labels("F0") == 0);
  CHECK(chart.labels("0") >= 4);
  // 7.5 each: 7 for a digit and 2 of air do not fit, in a backward of 15 they do.
  chart.session.view.range = {0, 120.0 * kOne};
  chart.draw();
  CHECK(chart.labels("0") == 2 + 1);  // two backwards, and the ruler's
}

TEST_CASE("neighbours that touch have a line between them, others keep their gap", "[chart]") {
  Chart chart(kScene);
  chart.draw();
  // 0F0 ends where 0F1 begins.
  const Rgba edge = chart.colour_at(kX + 99.5, kY + 5);
  CHECK(edge != chart.fill(OpKind::Forward));
  CHECK(edge != 0);
  CHECK(chart.colour_at(kX + 100.5, kY + 5) == chart.fill(OpKind::Forward));
  // 0B0 ends a unit before 0B1 begins.
  CHECK(chart.colour_at(kX + 599.5, kY + 5) == chart.fill(OpKind::Backward));
  CHECK(chart.colour_at(kX + 600.5, kY + 5) == 0);
}

TEST_CASE("a gap shorter than a pixel is a hole between wide ops", "[chart]") {
  // Rank 1 waits a ten-thousandth of a unit for its second forward.
  UniformCosts costs = pipeloom::test::whole_units();
  costs.forward = 10 * kOne;
  auto schedule = pipeloom::test::scene("0F0 0F1 | 1F0 1F1");
  auto run = std::make_shared<RunModel>(*run_of(schedule, costs));
  run->timeline.start[3] += kOne / 10'000;
  run->timeline.end[3] += kOne / 10'000;
  index_run(*run);
  Chart chart(run);
  chart.session.view.range = {0, 30.0 * kOne};
  chart.draw();
  // 900 pixels for 30 units: 1F0 ends at 600.
  const float row = kY + 38 + 5;
  CHECK(chart.colour_at(kX + 590, row) == chart.fill(OpKind::Forward));
  CHECK(chart.colour_at(kX + 599.5, row) == make_ink(true).row);
  CHECK(chart.colour_at(kX + 600.5, row) == chart.fill(OpKind::Forward));
}

TEST_CASE("parts of an overlapped group share the height", "[chart]") {
  Chart chart("0F0 0F1 0B0 0B1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1");
  chart.draw();
  const Box box = *chart.layout.rect_of(OpRef{chart.run->id, find_op(*chart.run, "1F1")});
  CHECK(chart.colour_at(box.x0 + 5, box.y0 + 2) == chart.fill(OpKind::Forward));
  CHECK(chart.colour_at(box.x0 + 5, box.y0 + kWork / 2 + 2) == chart.fill(OpKind::Backward));
}

TEST_CASE("narrow ops and narrow gaps never vanish from a strip", "[chart]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto problem = pipeloom::test::random_problem(seed);
    auto run = std::make_shared<RunModel>();
    run->id = next_run_id();
    run->schedule = problem.schedule;
    run->timeline = simulate(problem.schedule, problem.costs);
    index_run(*run);
    Chart chart(run);
    // The run on 12 pixels.
    const auto length = static_cast<double>(run->span().length());
    chart.session.view.range = {0, length * 900 / 12};
    chart.session.view.show_idle = false;
    chart.draw();
    const double per_pixel = chart.layout.ticks_per_pixel();
    for (const ChartStrip& strip : chart.list.rows.strips) {
      const ChartRow* row = nullptr;
      for (const ChartRow& one : chart.layout.rows)
        if (one.lane(ChartLane::Work).y == static_cast<double>(strip.y0)) row = &one;
      if (row == nullptr) continue;  // further down in a hatched row
      const std::vector<Rgba> texels = chart.strip(static_cast<std::size_t>(strip.row));
      for (int x = 0; x < 14; ++x) {
        const double from = x * per_pixel;
        const double to = from + per_pixel;
        double busy = 0;
        // Where an op ends at a pixel's edge, the sums of floating point may touch the next one.
        bool near = false;
        run->op_track->for_each_visible(row->rank, from - 1e-3 * per_pixel, to + 1e-3 * per_pixel, Lane::Work,
                                        [&](std::size_t) { near = true; });
        run->op_track->for_each_visible(row->rank, from, to, Lane::Work, [&](std::size_t op) {
          const Op one = run->schedule->ops()[op];
          const tracks::DrawnGroup group = tracks::group_of(run->timeline, op);
          const double whole = std::min<double>(to, static_cast<double>(run->timeline.end[op])) -
                               std::max<double>(from, static_cast<double>(run->timeline.start[op]));
          if (whole > 0 && !is_copy(one.kind()))
            busy += whole / static_cast<double>(group.last - group.first);
        });
        const double colour_x = static_cast<double>(kX) + x + 0.5;
        const double opacity = alpha(texels[static_cast<std::size_t>(x)]);
        const bool boxed = chart.colour_at(colour_x, (strip.y0 + strip.y1) / 2) != 0;
        if (busy > per_pixel * 1e-3 && !boxed) CHECK(opacity >= 255.0 * kLeastOpaque - 1);
        if (!near && !boxed) CHECK(opacity == 0);
        if (busy < per_pixel * 0.999) CHECK(opacity <= 255.0 * kMostOpaque + 1);
      }
    }
  }
}

TEST_CASE("kinds that the legend hides, and ops that a search left out, are dimmed", "[chart]") {
  Chart chart(kScene);
  chart.session.view.hidden_kinds = 1U << index_of(OpKind::Forward);
  chart.draw();
  CHECK(chart.colour_at(kX + 50, kY + 5) == chart.colours().dimmed().fill);
  CHECK(chart.colour_at(kX + 550, kY + 5) == chart.fill(OpKind::Backward));
  CHECK(chart.labels("F0") == 0);

  chart.session.view.hidden_kinds = 0;
  chart.session.part<ChartPart>().matches[chart.run->id] =
      std::make_shared<const std::vector<std::size_t>>(std::vector<std::size_t>{find_op(*chart.run, "0F0")});
  chart.draw();
  CHECK(chart.colour_at(kX + 50, kY + 5) == chart.fill(OpKind::Forward));
  CHECK(chart.colour_at(kX + 150, kY + 5) == chart.colours().dimmed().fill);

  chart.session.part<ChartPart>().matches.clear();
  chart.session.selection.kind = OpKind::Backward;
  chart.draw();
  CHECK(chart.colour_at(kX + 50, kY + 5) == chart.colours().dimmed().fill);
  CHECK(chart.colour_at(kX + 550, kY + 5) == chart.fill(OpKind::Backward));
}

TEST_CASE("colours of differences replace the others", "[chart]") {
  Chart chart(kScene);
  std::vector<std::int8_t> levels(chart.run->schedule->num_ops(), 0);
  levels[find_op(*chart.run, "0F1")] = 127;
  chart.session.part<ChartPart>().tints[chart.run->id] =
      std::make_shared<const std::vector<std::int8_t>>(std::move(levels));
  chart.draw();
  CHECK(chart.colour_at(kX + 50, kY + 5) == chart.colours().of_tint(0).fill);
  CHECK(chart.colour_at(kX + 150, kY + 5) == chart.colours().of_tint(127).fill);
  CHECK(chart.colours().of_tint(0).fill != chart.colours().of_tint(1).fill);
  // The legend says so, and no kind has a colour of its own.
  for (const char* text : {"shorter", "longer", "equal", "only here"}) CHECK(chart.labels(text) == 1);
}

TEST_CASE("beside a run in the colours of kinds, the legend has both", "[chart]") {
  Chart chart(kScene);
  const RunPtr second = run_of(kScene);
  chart.session.add_run(second, true);
  chart.session.part<ChartPart>().tints[second->id] =
      std::make_shared<const std::vector<std::int8_t>>(second->schedule->num_ops(), 0);
  chart.draw({0, 0, 1400, 600});
  for (const char* text : {"shorter", "longer", "equal", "only here"}) CHECK(chart.labels(text) == 1);
  const ChartLabel* forward = chart.label("F forward");
  REQUIRE(forward != nullptr);
  CHECK(chart.ground_at(forward->x - 8, forward->y + 4) == chart.fill(OpKind::Forward));
}

TEST_CASE("the hovered microbatch is outlined wherever it runs", "[chart]") {
  Chart chart(kScene);
  chart.draw();
  const std::size_t before = chart.list.outlines.size();
  chart.session.selection.hover = OpRef{chart.run->id, find_op(*chart.run, "0F1")};
  chart.draw();
  // 0F1, 1F1, 0B1, 1B1, and the hovered one once more.
  CHECK(chart.list.outlines.size() == before + 5);
}

TEST_CASE("a selected op has arrows to what it waits for and what waits for it", "[chart]") {
  Chart chart(kScene);
  // 1F0 needs 0F0; 1B0 needs it.
  chart.session.selection.op = OpRef{chart.run->id, find_op(*chart.run, "1F0")};
  chart.draw();
  REQUIRE(chart.list.arrows.size() == 2);
  CHECK(chart.list.arrows[0].x0 == kX + 100);
  CHECK(chart.list.arrows[0].y0 == kY + kWork / 2);
  CHECK(chart.list.arrows[0].x1 == kX + 100);
  CHECK(chart.list.arrows[0].y1 == kY + 38 + kWork / 2);
  chart.session.view.show_arrows = false;
  chart.draw();
  CHECK(chart.list.arrows.empty());
}

TEST_CASE("a hanging run shows who waits for whom", "[chart]") {
  // Rank 0 wants 1B0 before it sends 0F1, rank 1 wants 0F1 before it runs 1F0.
  auto schedule = pipeloom::test::scene("0F0 0B0 0F1 0B1 | 1F1 1F0 1B0 1B1");
  const Costs costs = uniform_costs(schedule->placement(), pipeloom::test::whole_units());
  Chart chart(build_hanging_run(schedule, costs, "hangs", RunSource::ScheduleFile, ""));
  chart.session.view.range = {0, 9.0 * kOne};
  chart.draw();
  REQUIRE(chart.list.arrows.size() == 2);
  // Rank 0 ran 0F0 until 1, rank 1 ran nothing; arrows leave ten pixels from there and arrive at 22.
  CHECK(chart.list.arrows[0].x0 == kX + 100 + 10);
  CHECK(chart.list.arrows[0].x1 == kX + 22);
  REQUIRE(chart.list.front_labels.size() == 2);
  CHECK(chart.list.text_of(chart.list.front_labels[0]) == "blocked at 0B0, waits for 1B0 of rank 1");
  // Behind the last op that waits, where there is room: rank 0's 0B0, 0F1 and 0B1 end at 1 + 2 + 1 + 2 = 6.
  CHECK(chart.list.front_labels[0].x >= kX + 600);
  // What did not run stands behind: 0B0 from 1 to 3, 1F1 from 0 to 1.
  const auto outlined = [&](float x0, float x1) {
    return std::any_of(chart.list.outlines.begin(), chart.list.outlines.end(), [&](const ChartOutline& one) {
      return one.x0 == x0 && one.x1 == x1 - 1 && one.colour == make_ink(true).muted;
    });
  };
  CHECK(outlined(kX + 100, kX + 300));
  CHECK(outlined(kX, kX + 100));
  // No causes are guessed.
  CHECK(chart.labels("warmup") == 0);
}

TEST_CASE("the critical path is outlined", "[chart]") {
  Chart chart(kScene);
  auto run = std::make_shared<RunModel>(*chart.run);
  run->critical_path = CriticalPath{0, {find_op(*run, "0F0"), find_op(*run, "1F0")}};
  chart.session.runs.front().run = run;
  chart.draw();
  const std::size_t before = chart.list.outlines.size();
  chart.session.view.show_critical = true;
  chart.draw();
  CHECK(chart.list.outlines.size() == before + 3);  // the two, and the swatch of the legend
  CHECK(chart.list.lines.size() == 1);
  // 0.9 pixels for all: a mark at the foot of the first row, the rest is in the same pixel.
  chart.session.view.range = {0, 9'000.0 * kOne};
  const auto marks = [&] {
    return std::count_if(chart.list.quads.begin(), chart.list.quads.end(),
                         [&](const ChartQuad& quad) { return quad.colour == make_ink(true).critical; });
  };
  chart.draw();
  CHECK(marks() == 1);
}

TEST_CASE("the memory curve reaches its height and marks its peak", "[chart]") {
  Chart chart(kScene);
  auto run = std::make_shared<RunModel>(*chart.run);
  MemoryModel memory = default_memory(run->schedule->placement());
  constexpr Bytes kActivation = 1'500'000'000;
  memory.activation.assign(memory.activation.size(), kActivation);
  memory.limit.assign(static_cast<std::size_t>(run->schedule->ranks()), kActivation);
  run->memory = std::make_shared<const MemoryModel>(std::move(memory));
  index_run(*run);
  chart.session.runs.front().run = run;
  chart.session.view.show_memory = true;
  chart.draw();
  const Strip strip = chart.layout.rows.front().lane(ChartLane::Memory);
  // Rank 0 holds one activation from 0, two from 1 to 6, one until 9: the curve's top is at 1 / 1.12 of the height.
  const double top = std::round(strip.bottom() - strip.height / 1.12);
  CHECK(chart.colour_at(kX + 300, top) == make_ink(true).memory_line);
  CHECK(chart.colour_at(kX + 300, top + 2) == make_ink(true).memory_fill);
  CHECK(chart.colour_at(kX + 800, top + 2) != make_ink(true).memory_fill);
  // Above the limit.
  CHECK(chart.labels("3.0 GB") == 1);
  const double limit = std::round(strip.bottom() - strip.height / 1.12 / 2);
  CHECK(chart.colour_at(kX + 1, limit) == make_ink(true).memory_limit);
}

TEST_CASE("marks, measured range and pointer lie in front", "[chart]") {
  Chart chart(kScene);
  chart.draw();
  const std::size_t before = chart.list.front.size();
  chart.session.marks.push_back({3 * kOne, "here", true});
  chart.session.range = MeasuredRange{2 * kOne, 4 * kOne};
  chart.session.part<PointerPart>().time = 5.0 * kOne;
  chart.draw();
  // Mark: line and flag. Range: shade, two edges, flag. Pointer: line.
  CHECK(chart.list.front.size() == before + 2 + 4 + 1);
  REQUIRE(chart.list.front_labels.size() == 2);
  CHECK(chart.list.text_of(chart.list.front_labels[0]) == "2 units");
  CHECK(chart.list.text_of(chart.list.front_labels[1]) == "here");
}

TEST_CASE("minimap and overview are kept until what they show changes", "[chart]") {
  Chart chart(kScene);
  chart.draw();
  const std::uint64_t first = chart.list.minimap.version;
  // A row for each pixel between the frame's two above and two below.
  CHECK(chart.list.minimap.rows == static_cast<int>(chart.layout.minimap.height()) - 4);
  chart.session.view.range = {0, 3.0 * kOne};
  chart.draw();
  CHECK(chart.list.minimap.version == first);
  chart.session.preferences.dark = false;
  chart.draw();
  CHECK(chart.list.minimap.version != first);
}

TEST_CASE("hatching is lines inside of boxes", "[chart]") {
  Chart chart(kScene);
  chart.session.preferences.hatching = true;
  chart.draw();
  CHECK_FALSE(chart.list.lines.empty());
  for (const ChartLine& line : chart.list.lines) {
    CHECK(std::abs(line.x1 - line.x0) == Approx(std::abs(line.y1 - line.y0)));
    CHECK(line.x0 < line.x1);
  }
}

TEST_CASE("palettes: text is readable on every fill", "[chart]") {
  for (const char* palette : {"default", "colour-blind", "greyscale"})
    for (const draw::Theme theme : {draw::Theme::Light, draw::Theme::Dark})
      for (const OpKind kind : kAllOpKinds)
        for (int shade = 0; shade < 4; ++shade) {
          const draw::Colour fill = kind_colour(palette, theme, kind, shade, 4);
          CHECK(draw::contrast(fill, draw::text_on(fill)) >= 4.5);
        }
}

TEST_CASE("slack: none is 0, any is more", "[chart]") {
  Chart chart(kScene);
  const std::vector<std::uint8_t> levels = slack_levels(*chart.run);
  REQUIRE(levels.size() == chart.run->schedule->num_ops());
  // 0F0 1F0 1B0 1F1 1B1 0B1 is the longest chain: 1 + 1 + 2 + 1 + 2 + 2 = 9.
  CHECK(levels[find_op(*chart.run, "0F0")] == 0);
  CHECK(levels[find_op(*chart.run, "0B1")] == 0);
  CHECK(levels[find_op(*chart.run, "0B0")] > 0);
}

TEST_CASE("where slack is not known, the legend explains kinds", "[chart]") {
  Chart chart(kScene);
  chart.session.view.colour = GanttColour::Slack;
  auto& part = chart.session.part<ChartPart>();
  for (const std::size_t levels : {std::size_t{0}, chart.run->schedule->num_ops()}) {
    part.slack[chart.run->id] = std::make_shared<const std::vector<std::uint8_t>>(levels);
    chart.draw();
    CHECK(chart.labels("critical") == (levels == 0 ? 0 : 1));
  }
}

TEST_CASE("the legend says what colours mean", "[chart]") {
  Chart chart(kScene);
  chart.session.view.colour = GanttColour::Microbatch;
  chart.draw();
  CHECK(chart.labels("microbatch 0") == 1);
  CHECK(chart.colour_at(kX + 50, kY + 5) == chart.colours().of_series(0).fill);
  CHECK(chart.colour_at(kX + 150, kY + 5) == chart.colours().of_series(1).fill);
  chart.session.view.colour = GanttColour::Kind;
  chart.draw();
  CHECK(chart.labels("microbatch 0") == 0);
}

TEST_CASE("a gap is tinted and named once, however narrow the ops around it", "[chart]") {
  // A pixel a unit: forwards of one pixel, backwards of two, no boxes at all.
  UniformCosts costs = pipeloom::test::whole_units();
  costs.delay = 49 * kOne;
  Chart chart(run_of("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1", costs));
  chart.session.view.range = {0, 900.0 * kOne};
  chart.session.view.show_idle = true;
  chart.draw();
  CHECK(chart.list.quads.empty());
  CHECK(chart.list.rows.rows == 2);
  // Rank 0 ends 0F1 at 2; 1F0 runs from 50 to 51, 1B0 to 53; the rest of the gap is its gradient's transfer.
  const auto tints = std::count_if(
      chart.list.ground.begin(), chart.list.ground.end(),
      [](const ChartQuad& quad) { return quad.y0 == kY && quad.x0 == kX + 2 && quad.x1 == kX + 53; });
  CHECK(tints == 1);
}

TEST_CASE("runs with times of two kinds have a ruler each, and a word", "[chart]") {
  auto measured = std::make_shared<RunModel>(*run_of(kScene));
  measured->title = "measured";
  measured->timeline.unit = TimeUnit::Millisecond;
  index_run(*measured);  // the copy's times stand elsewhere
  Chart chart(measured);
  open_in(chart.session, run_of(kScene));
  chart.session.range = MeasuredRange{2 * kOne, 5 * kOne};
  chart.draw();
  // Both runs take 9: the scales from 0 to 9 have the same marks, and each says what they are of.
  CHECK(chart.labels("ms") == 1);
  CHECK(chart.labels("units") == 1);
  CHECK(chart.labels("4") == 2);
  CHECK(chart.labels("p 2 \u00b7 m 2 \u00b7 times cannot be compared: ms here, abstract units there; set "
                     "costs.time_unit") == 1);
  CHECK(chart.labels("measured") == 1);
  const auto told =
      std::any_of(chart.list.front_labels.begin(), chart.list.front_labels.end(),
                  [&](const auto& label) { return chart.list.text_of(label) == "3 ms | 3 units"; });
  CHECK(told);
}

}  // namespace chart_list_test
