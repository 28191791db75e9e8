// Any bytes as a search over small runs: understood or refused with a place; what it finds are ops of the run, and its negation the others;
// and what the window shows of it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/panels/search.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/fuzz/window.hpp"

namespace {

using namespace pipeloom;
using fuzz::require;

/// Two ranks, a group, two steps, times in the given unit: what terms look at.
gui::RunPtr make_run(TimeUnit unit) {
  constexpr Ticks kOne = 1'000'000'000;
  auto run = std::make_shared<gui::RunModel>();
  run->id = gui::next_run_id();
  run->title = "scene";
  run->schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1I2 1W2"));
  run->costs = std::make_shared<const Costs>(
      uniform_costs(run->schedule->placement(), {kOne, 2 * kOne, kOne, kOne, kOne, kOne / 2, {}, unit}));
  run->timeline = simulate(run->schedule, *run->costs, Steps{.count = 2});
  run->idle = all_idle_spans(run->timeline, *run->costs);
  run->critical_path = CriticalPath{0, {0, 3}};
  gui::index_run(*run);
  return run;
}

using Positions = std::vector<std::size_t>;

/// Ascending, each once, of ops that are there.
void check_positions(const Positions& found, const gui::RunModel& run) {
  std::size_t next = 0;
  for (const std::size_t position : found) {
    require(position >= next && position < run.timeline.start.size());
    next = position + 1;
  }
}

/// Either the query or its negation finds an op.
void check_negation(const std::string& text, const Positions& found, const gui::RunModel& run,
                    const std::vector<Ticks>& slack) {
  try {
    const auto negated = gui::SearchQuery::parse("not (" + text + ")", run.timeline.unit);
    Positions all = negated.find(run, slack, gui::Cancelled());
    check_positions(all, run);
    all.insert(all.end(), found.begin(), found.end());
    std::sort(all.begin(), all.end());
    check_positions(all, run);
    require(all.size() == run.timeline.start.size());
  } catch (const InputError&) {
    return;  // too long or too deep
  }
}

void check_query(const std::string& text, const gui::RunModel& run) {
  try {
    const auto query = gui::SearchQuery::parse(text, run.timeline.unit);
    for (const std::vector<Ticks>& slack : {std::vector<Ticks>(), gui::run_slack(run)}) {
      const Positions found = query.find(run, slack, gui::Cancelled());
      check_positions(found, run);
      if (!query.empty()) check_negation(text, found, run, slack);
    }
  } catch (const InputError& error) {
    const int column = error.where().column;
    require(column >= 1 && static_cast<std::size_t>(column) <= text.size() + 1);
    fuzz::require_one_line(error.line());
  }
}

void settle(gui::Session& session) {
  do {
    session.update();
    std::this_thread::yield();
  } while (!session.idle());
}

/// Typed into the window: what is found there, the op to which each step goes, and a frame in which the others are dim.
void check_typed(const std::string& text, const std::vector<gui::RunPtr>& runs) {
  gui::Session session;
  for (const gui::RunPtr& run : runs) session.add_run(run, true);
  auto& search = session.part<gui::SearchModel>();
  search.set(session, text);
  settle(session);
  require(search.error().empty() || !search.active());
  const gui::RunModel& run = *session.active_run();
  const gui::Found found = search.found(run.id);
  for (const bool forward : {true, true, false}) {
    search.step(session, forward);
    require(!found || found->empty() || search.current(session).has_value());
  }
  fuzz::check_frame(session, {0, 0, 240, 160});
  require(!gui::state_dump(session, {}).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<gui::RunPtr> runs = {make_run(TimeUnit::Unit), make_run(TimeUnit::Millisecond)};
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const gui::RunPtr& run : runs) check_query(text, *run);
  check_typed(text, runs);
  return 0;
}
