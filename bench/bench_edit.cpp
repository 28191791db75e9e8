// From an edit of a run of 100,000 ops to its picture: CPU time of the whole process, as nothing else runs in it, from the change of a cost until
// the frame that shows the new run is drawn. 16 ranks, 1280x720, the panels of the first start, null platform.
//
//   to_picture   the budgeted figure: `ms`, of the fastest edit
//   settled      until everything that follows is known too: answers, causes, the table of schedules
//
// Argument 0: which schedule, an index of kSchedules. Argument 1: 0 changes a number of all stages, 1 the time of one op, which gives every op
// a time of its own.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>

#include "gui/app.hpp"
#include "gui/model/edit/config_model.hpp"

namespace {

using namespace pipeloom::gui;

constexpr int kRanks = 16;
constexpr std::int64_t kOps = 100'000;
struct Case {
  const char* schedule;
  int ops_per_microbatch;  ///< on each rank
};
constexpr std::array<Case, 4> kSchedules = {{{"1f1b", 2}, {"interleaved-1f1b", 4}, {"zb-h1", 3}, {"zbv", 6}}};

double process_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void settle(App& app) {
  do {
    app.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!app.session().idle() || app.wants_frame());
}

App& window() {
  static const ImGuiScope scope;
  static App app(open_null({1280, 720}));
  return app;
}

void open_case(App& app, const Case& wanted) {
  auto& config = app.session().part<ConfigModel>();
  const auto microbatches = kOps / (kRanks * wanted.ops_per_microbatch) / kRanks * kRanks;
  config.replace(app.session(), {{"schedule", fmt::format("\"{}\"", wanted.schedule)},
                                 {"ranks", std::to_string(kRanks)},
                                 {"microbatches", std::to_string(microbatches)},
                                 {"costs.forward", "1"},
                                 {"costs.backward_input", "1"},
                                 {"costs.backward_weight", "1"}});
  settle(app);
}

/// The n-th edit differs from those before.
void edit(App& app, bool of_one_op, int n) {
  auto& config = app.session().part<ConfigModel>();
  const std::string time = fmt::format("{}.{:03}", 1 + n % 2, n % 1000);
  if (of_one_op)
    config.set(app.session(), "costs.exceptions",
               fmt::format(R"([{{"kind": "F", "stage": 3, "microbatch": 5, "time": {}}}])", time));
  else
    config.set(app.session(), "costs.forward", time);
}

void run_edits(benchmark::State& state, bool until_settled) {
  App& app = window();
  open_case(app, kSchedules.at(static_cast<std::size_t>(state.range(0))));
  double fastest = 1e9;
  int n = 0;
  for (auto unused : state) {
    (void)unused;
    const std::uint64_t before = app.session().active_run()->id;
    const double start = process_seconds();
    edit(app, state.range(1) == 1, ++n);
    // Where nothing is to be shown no frame is drawn, as App::run() does it.
    while (app.session().active_run()->id == before) {
      while (!app.session().jobs.has_results()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      app.frame();
    }
    if (until_settled) settle(app);
    const double seconds = process_seconds() - start;
    state.SetIterationTime(seconds);
    fastest = std::min(fastest, seconds);
    settle(app);
  }
  state.counters["ms"] = fastest * 1e3;
  state.counters["ops"] = static_cast<double>(app.session().active_run()->schedule->num_ops());
  state.SetLabel(kSchedules.at(static_cast<std::size_t>(state.range(0))).schedule);
}

void to_picture(benchmark::State& state) {
  run_edits(state, false);
}
void settled(benchmark::State& state) {
  run_edits(state, true);
}

}  // namespace

BENCHMARK(to_picture)
    ->ArgsProduct({{0, 1, 2, 3}, {0, 1}})
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(settled)->ArgsProduct({{0, 3}, {0}})->Iterations(5)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
