#pragma once

// Small runs for tests of the window, made without a configuration.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "gui/model/run/build_run.hpp"
#include "gui/model/session/session.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "support/scenes.hpp"

namespace pipeloom::test {

/// One in the abstract unit.
inline constexpr Ticks kOne = 1'000'000'000;

/// F 1, B 2, I 1, W 1 in whole units; `delay` as given.
inline UniformCosts whole_units(Ticks delay = 0) {
  return {kOne, 2 * kOne, kOne, kOne, kOne, delay, {}, TimeUnit::Unit};
}

inline gui::RunPtr run_of(const std::shared_ptr<const Schedule>& schedule, const UniformCosts& costs,
                          int steps = 1) {
  auto run = std::make_shared<gui::RunModel>();
  run->id = gui::next_run_id();
  run->title = "scene";
  run->schedule = schedule;
  run->costs = std::make_shared<const Costs>(uniform_costs(schedule->placement(), costs));
  run->timeline = simulate(schedule, *run->costs, Steps{.count = steps});
  for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank)
    run->idle.push_back(idle_spans(run->timeline, *run->costs, rank));
  gui::index_run(*run);
  return run;
}
inline gui::RunPtr run_of(const std::string& text, const UniformCosts& costs = whole_units()) {
  return run_of(scene(text), costs);
}

/// 1F1B of two ranks and two microbatches. With whole_units(): 0F0 0-1, 0F1 1-2, idle 2-4, 0B0 4-6, idle 6-7, 0B1 7-9 on rank 0;
/// idle 0-1, 1F0 1-2, 1B0 2-4, 1F1 4-5, 1B1 5-7, idle 7-9 on rank 1.
inline constexpr const char* kScene = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

/// Frames until no job is under way and everybody has seen what jobs found.
inline void settle(gui::Session& session) {
  do {
    session.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!session.idle());
  session.update();
}

/// Opens a run and shows all of it.
inline gui::RunPtr open_in(gui::Session& session, gui::RunPtr run) {
  session.add_run(run, false);
  return run;
}

}  // namespace pipeloom::test
