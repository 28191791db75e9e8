#include "gui/model/commands/context_menu.hpp"

#include <algorithm>

#include "gui/chart_scene.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace context_menu_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// What the menu of a place of the chart says, and of what.
std::string opened(Chart& chart, const Hit& hit) {
  auto& menu = chart.session.part<ContextMenu>();
  menu.open_at(chart.session, chart.layout, hit);
  if (!menu.target()) return "";
  CHECK_FALSE(menu.entries().empty());
  return std::string(name_of(*menu.target())) + ": " + menu.title();
}

void run_entry(Chart& chart, std::string_view id) {
  auto& menu = chart.session.part<ContextMenu>();
  const auto entry =
      std::ranges::find_if(menu.entries(), [&](const ContextEntry& one) { return one.command->id == id; });
  REQUIRE(entry != menu.entries().end());
  menu.run(chart.session, static_cast<std::size_t>(entry - menu.entries().begin()));
  CHECK_FALSE(menu.target());
}

}  // namespace

TEST_CASE("everything in the chart has a menu of its own") {
  Chart chart(kScene);
  // 0F0 0-1, 0F1 1-2, idle 2-4, 0B0 4-6 on rank 0.
  Hit hit;
  hit.area = ChartArea::Lane;
  hit.block = 0;
  hit.rank = Rank(0);
  hit.time = 0.5 * static_cast<double>(ticks_per(TimeUnit::Unit));
  hit.op = OpRef{chart.run->id, 0};
  CHECK(opened(chart, hit) == "op: 0F0 of rank 0");
  CHECK(chart.session.selection.op == hit.op);
  hit.op.reset();
  hit.gap = GapRef{chart.run->id, Rank(0), 0};
  CHECK(opened(chart, hit) == "gap: gap of rank 0");
  CHECK(chart.session.selection.gap == hit.gap);
  hit.gap.reset();
  CHECK(opened(chart, hit) == "place: time 0.5");
  hit.area = ChartArea::RowHeader;
  CHECK(opened(chart, hit) == "rank: rank 0");
  hit.area = ChartArea::Memory;
  CHECK(opened(chart, hit) == "memory: memory");
  hit.area = ChartArea::Title;
  CHECK(opened(chart, hit) == "run: " + chart.session.runs.front().title());
  hit.message = 0;
  CHECK(opened(chart, hit) == "link: message of rank 0");
  hit.area = ChartArea::None;
  CHECK(opened(chart, hit).empty());
  CHECK(state_of(chart.session.part<ContextMenu>(), chart.session) == "null");
}

TEST_CASE("an entry runs its command with the thing as argument") {
  Chart chart(kScene);
  Hit hit;
  hit.area = ChartArea::RowHeader;
  hit.block = 0;
  hit.rank = Rank(1);
  CHECK(opened(chart, hit) == "rank: rank 1");
  run_entry(chart, "collapse-rank");
  CHECK(chart.session.view.collapsed.contains(1));
  chart.session.part<ContextMenu>().open_op(chart.session, OpRef{chart.run->id, 0});
  run_entry(chart, "select-kind");
  CHECK(chart.session.selection.kind == OpKind::Forward);
  chart.session.part<ContextMenu>().open_schedule("gpipe");
  CHECK(chart.session.part<ContextMenu>().entries().front().argument == "gpipe");
}

}  // namespace context_menu_test
