#include "gui/model/chart/chart_layout.hpp"

#include "gui/model/chart/op_walk.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace chart_layout_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

// 68 pixels of row headers, then 100 pixels for each of the nine units.
constexpr Box kArea = {0, 0, 968, 600};
constexpr double kPlotX = 68;
constexpr double kUnit = 100;
// Legend 24, minimap 22, ruler 20.
constexpr double kPlotY = 66;
// The tallest row: 34 of work, 4 of space.
constexpr double kWork = 34;
constexpr double kPitch = 38;

ChartLayout laid_out(const Session& session, const Box& area = kArea, double scale = 1) {
  ChartLayout layout;
  lay_out_chart(session, area, scale, layout);
  return layout;
}

OpRef ref(const RunPtr& run, const char* op) {
  return {run->id, find_op(*run, op)};
}

/// p ranks that each run one forward.
std::string forwards(int ranks) {
  std::string text = "0F0";
  for (int stage = 1; stage < ranks; ++stage) text += " | " + std::to_string(stage) + "F0";
  return text;
}

}  // namespace

TEST_CASE("an op's box follows from its times and its rank", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  const ChartLayout layout = laid_out(session);
  CHECK(layout.plot == Box{kPlotX, kPlotY, 968, 600});
  CHECK(layout.x_of(4.0 * kOne) == kPlotX + 4 * kUnit);
  CHECK(layout.time_of(kPlotX + 4 * kUnit) == 4.0 * kOne);
  CHECK(*layout.rect_of(ref(run, "0B0")) ==
        Box{kPlotX + 4 * kUnit, kPlotY, kPlotX + 6 * kUnit, kPlotY + kWork});
  CHECK(*layout.rect_of(ref(run, "1B0")) ==
        Box{kPlotX + 2 * kUnit, kPlotY + kPitch, kPlotX + 4 * kUnit, kPlotY + kPitch + kWork});
}

TEST_CASE("what is drawn at a point is hit there", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  const ChartLayout layout = laid_out(session);
  for (std::size_t op = 0; op < run->schedule->num_ops(); ++op) {
    const Box box = *layout.rect_of(OpRef{run->id, op});
    for (const double x : {box.x0 + 2, (box.x0 + box.x1) / 2, box.x1 - 2}) {
      const Hit hit = layout.hit(x, (box.y0 + box.y1) / 2);
      CHECK(hit.area == ChartArea::Lane);
      CHECK(hit.op == OpRef{run->id, op});
      CHECK(hit.rank == run->schedule->rank_of_op(op));
    }
  }
}

TEST_CASE("a gap is hit where no op runs", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  const ChartLayout layout = laid_out(session);
  // Rank 0 stands still from 2 to 4, then from 6 to 7.
  const Hit first = layout.hit(layout.x_of(3.0 * kOne), kPlotY + 5);
  CHECK_FALSE(first.op);
  REQUIRE(first.gap);
  CHECK(*first.gap == GapRef{run->id, Rank(0), 0});
  CHECK(*layout.rect_of(*first.gap) == Box{kPlotX + 2 * kUnit, kPlotY, kPlotX + 4 * kUnit, kPlotY + kWork});
  CHECK(layout.hit(layout.x_of(6.5 * kOne), kPlotY + 5).gap == GapRef{run->id, Rank(0), 1});
}

TEST_CASE("areas around the rows", "[chart]") {
  Session session;
  open_in(session, run_of(kScene));
  const ChartLayout layout = laid_out(session);
  CHECK(layout.hit(-1, 5).area == ChartArea::None);
  CHECK(layout.hit(500, 30).area == ChartArea::Minimap);
  CHECK(layout.hit(500, 50).area == ChartArea::Ruler);
  CHECK(layout.hit(30, kPlotY + 5).area == ChartArea::RowHeader);
  CHECK(layout.hit(500, kPlotY + kWork + 1).area == ChartArea::RowSpace);
  CHECK(layout.hit(500, 590).area == ChartArea::RowSpace);
  // Nine units on the minimap as well: the middle of the whole run.
  CHECK(layout.hit(kPlotX + 450, 30).time == 4.5 * kOne);
  REQUIRE(layout.entries.size() == 2);
  CHECK(layout.hit(layout.entries[1].box.x0 + 5, 10).kind == OpKind::Backward);
}

TEST_CASE("an overlapped group is split in its height", "[chart]") {
  Session session;
  // Rank 1 runs 1F1 with 1B0.
  const RunPtr run = open_in(session, run_of("0F0 0F1 0B0 0B1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1"));
  const ChartLayout layout = laid_out(session);
  const Box upper = *layout.rect_of(ref(run, "1F1"));
  const Box lower = *layout.rect_of(ref(run, "1B0"));
  CHECK(upper.y0 == kPlotY + kPitch);
  CHECK(upper.y1 == kPlotY + kPitch + kWork / 2);
  CHECK(lower.y0 == upper.y1);
  CHECK(lower.y1 == kPlotY + kPitch + kWork);
  CHECK(upper.x0 == lower.x0);
  CHECK(upper.x1 == lower.x1);
  const double x = (upper.x0 + upper.x1) / 2;
  CHECK(layout.hit(x, upper.y0 + 3).op == ref(run, "1F1"));
  CHECK(layout.hit(x, lower.y0 + 3).op == ref(run, "1B0"));
}

TEST_CASE("ops narrower than a pixel can still be hit", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  // 900 pixels for 90,000 units: an op is a hundredth of a pixel or two.
  session.view.range = {0, 90'000.0 * kOne};
  const ChartLayout layout = laid_out(session);
  CHECK(layout.hit(kPlotX + 0.5, kPlotY + 5).op);
  CHECK(layout.rect_of(ref(run, "0B1"))->width() == 1);
}

TEST_CASE("rows shrink until all ranks fit, then they scroll", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(forwards(100)));
  // 534 pixels of plot for 100 rows: 4 and one of space.
  ChartLayout layout = laid_out(session);
  CHECK(layout.rows.front().lane(ChartLane::Work).height == 4);
  CHECK(layout.rows.front().all.height == 5);
  CHECK(layout.overview.empty());
  CHECK(layout.max_scroll() == 0);

  // 40 pixels less, and they would be too thin: 20 and 3 of space, scrolled.
  layout = laid_out(session, {0, 0, 968, 560});
  CHECK(layout.rows.front().all.height == 23);
  CHECK(layout.content_height == 2300);
  CHECK(layout.max_scroll() == 2300 - (560 - kPlotY));
  CHECK_FALSE(layout.overview.empty());
  CHECK_FALSE(layout.scroll_bar.empty());
  CHECK(layout.plot.x1 == layout.overview.x0);

  CHECK(layout.scroll_to(run->id, Rank(0)) == 0);
  const double wanted = layout.scroll_to(run->id, Rank(60));
  CHECK(wanted == 61 * 23 - (560 - kPlotY));
  session.view.scroll = wanted;
  layout = laid_out(session, {0, 0, 968, 560});
  CHECK(layout.is_visible(*layout.row_of(run->id, Rank(60))));
  CHECK(layout.row_of(run->id, Rank(60))->all.bottom() == 560);
  CHECK_FALSE(layout.is_visible(*layout.row_of(run->id, Rank(0))));
  CHECK_FALSE(layout.rect_of(ref(run, "0F0")));
  CHECK(layout.hit(30, 555).rank == Rank(60));
}

TEST_CASE("a chosen row height holds at every scale", "[chart]") {
  Session session;
  open_in(session, run_of(kScene));
  session.view.row_height = 20;
  CHECK(laid_out(session).rows.front().lane(ChartLane::Work).height == 20);
  CHECK(laid_out(session, kArea, 2).rows.front().lane(ChartLane::Work).height == 40);
}

TEST_CASE("pinned ranks stay on top, hidden ones have no row, collapsed ones are thin", "[chart]") {
  Session session;
  const RunPtr run = open_in(session, run_of(forwards(6)));
  session.view.pinned = {4};
  session.view.hidden = {1};
  session.view.collapsed = {2};
  const ChartLayout layout = laid_out(session);
  REQUIRE(layout.rows.size() == 5);
  CHECK(layout.pinned_rows == 1);
  CHECK(layout.rows[0].rank == Rank(4));
  CHECK(layout.rows[0].all.y == kPlotY);
  CHECK(layout.rows[1].rank == Rank(0));
  CHECK(layout.rows[1].all.y == layout.body.y);
  CHECK(layout.body.y == kPlotY + kPitch + 4);
  CHECK(layout.rows[2].rank == Rank(2));
  CHECK(layout.rows[2].lane(ChartLane::Work).height == 4);
  CHECK(layout.row_of(run->id, Rank(1)) == nullptr);
  CHECK(layout.row_of(run->id, Rank(4))->pinned);
  CHECK(layout.hit(30, kPlotY + 5).rank == Rank(4));
}

TEST_CASE("runs are stacked under their titles and share the scale", "[chart]") {
  Session session;
  const RunPtr first = open_in(session, run_of(kScene));
  const RunPtr second = open_in(session, run_of(forwards(2)));
  const ChartLayout layout = laid_out(session);
  REQUIRE(layout.blocks.size() == 2);
  CHECK(layout.blocks[0].title.height == 20);
  CHECK(layout.rows[0].all.y == kPlotY + 20);
  // Two rows, eight pixels between the runs.
  CHECK(layout.blocks[1].title.y == kPlotY + 20 + 2 * kPitch + 8);
  CHECK(layout.hit(500, layout.blocks[1].title.y + 3).area == ChartArea::Title);
  CHECK(layout.hit(500, layout.blocks[1].title.y + 3).block == 1);
  CHECK(layout.rect_of(ref(first, "0F0"))->x1 == layout.rect_of(ref(second, "0F0"))->x1);
}

TEST_CASE("a run in abstract units has a ruler of its own below one in real time", "[chart]") {
  Session session;
  auto measured = std::make_shared<RunModel>(*run_of(kScene));
  measured->timeline.unit = TimeUnit::Millisecond;
  auto other = std::make_shared<RunModel>(*measured);
  other->id = next_run_id();
  other->timeline.unit = TimeUnit::Microsecond;
  open_in(session, measured);
  open_in(session, other);
  open_in(session, run_of(forwards(2)));
  const ChartLayout layout = laid_out(session);
  REQUIRE(layout.blocks.size() == 3);
  CHECK(layout.blocks[0].ruler.height == 0);
  CHECK(layout.blocks[1].ruler.height == 0);  // both are real time: one scale is right for them
  const ChartBlock& abstract = layout.blocks[2];
  CHECK(abstract.ruler == Strip{abstract.title.bottom(), 20});
  CHECK(layout.rows[abstract.first_row].all.y == abstract.ruler.bottom());
  CHECK(layout.hit(500, abstract.ruler.y + 3).area == ChartArea::Ruler);
}

TEST_CASE("strips of memory and messages stand below the work", "[chart]") {
  Session session;
  open_in(session, run_of(kScene));
  session.view.show_memory = true;
  session.view.show_messages = true;
  // The scene has neither.
  CHECK(laid_out(session).rows.front().lane(ChartLane::Memory).height == 0);
  CHECK(laid_out(session).rows.front().lane(ChartLane::Send).height == 0);

  auto with_memory = std::make_shared<RunModel>(*session.runs.front().run);
  with_memory->memory =
      std::make_shared<const MemoryModel>(default_memory(with_memory->schedule->placement()));
  with_memory->message_bars = {{kOne, 2 * kOne, Rank(0), Rank(1), 0, 4, false}};
  index_run(*with_memory);
  session.runs.front().run = with_memory;
  const ChartRow row = laid_out(session).rows.front();
  CHECK(row.lane(ChartLane::Send).y == row.lane(ChartLane::Work).bottom());
  CHECK(row.lane(ChartLane::Receive).y == row.lane(ChartLane::Send).bottom());
  CHECK(row.lane(ChartLane::Memory).y == row.lane(ChartLane::Receive).bottom());
  CHECK(row.lane(ChartLane::Memory).height == 31);  // nine tenths of 34
}

TEST_CASE("a session without runs, and one without room, can be laid out", "[chart]") {
  Session session;
  CHECK(laid_out(session).rows.empty());
  CHECK(laid_out(session).hit(500, 300).area == ChartArea::RowSpace);
  open_in(session, run_of(kScene));
  const ChartLayout tiny = laid_out(session, {0, 0, 20, 10});
  CHECK(tiny.hit(5, 5).area == ChartArea::Legend);
  CHECK(tiny.plot.width() > 0);
}

}  // namespace chart_layout_test
