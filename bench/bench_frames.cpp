// Frames of the whole window: CPU time from ImGui::NewFrame to ImGui::Render while the view pans, 64 ranks, 1280x720, every panel open, on the
// null platform. Counters: p95_ms and max_ms of the latest 200 frames, rss_MB of the process, job_ms of CPU for the last simulation.
//
// Argument 0: microbatches per run of 1F1B (80, 7812, 78125 make 10k, 1M and 10M ops). Argument 1: visible share in percent (100 or 1).

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <thread>

#include "gui/app.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"

namespace {

using namespace pipeloom::gui;

void settle(App& app) {
  do {
    app.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!app.session().idle() || app.wants_frame());
}

double resident_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// One window for all benchmarks of a size: making 10M ops takes seconds.
App& window_of(int microbatches) {
  static const ImGuiScope scope;
  static App app(open_null({1280, 720}));
  static int shown = 0;
  if (shown == microbatches) return app;
  for (const View& view : all_views()) app.session().preferences.panels[view.id] = true;
  auto& config = app.session().part<ConfigModel>();
  config.set(app.session(), "microbatches", std::to_string(microbatches));
  config.set(app.session(), "ranks", "64");
  settle(app);
  shown = microbatches;
  return app;
}

void show_share(App& app, double share) {
  const pipeloom::Span span = app.session().active_run()->span();
  const double length = static_cast<double>(span.length()) * share;
  const double start = static_cast<double>(span.start) + (static_cast<double>(span.length()) - length) / 2;
  app.session().view.range = {start, start + length};
}

void panning(benchmark::State& state) {
  App& app = window_of(static_cast<int>(state.range(0)));
  show_share(app, static_cast<double>(state.range(1)) / 100);
  settle(app);
  app.times().clear();
  for (auto unused : state) {
    (void)unused;
    TimeRange& range = app.session().view.range;
    const double step = range.length() / 400;
    range = {range.start + step, range.end + step};
    app.frame();
  }
  state.counters["p95_ms"] = app.times().p95();
  state.counters["max_ms"] = app.times().max();
  state.counters["rss_MB"] = resident_mb();
  state.counters["ops"] = static_cast<double>(app.session().active_run()->schedule->num_ops());
}

}  // namespace

BENCHMARK(panning)
    ->ArgsProduct({{80, 7812, 78125}, {100, 1}})
    ->Iterations(200)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
