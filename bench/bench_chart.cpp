// What the chart takes of a frame: layout, list of shapes, and Dear ImGui's vertices, for 64 ranks at 1280 x 720 while panning. No
// window. Budget: about 1 ms of the 2 ms that a frame may take, at every size.

#include <benchmark/benchmark.h>
#include <imgui.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "bench/schedules_for_bench.hpp"
#include "gui/draw/chart_draw.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"

namespace pipeloom::gui {
namespace {

constexpr int kRanks = 64;
// What panels leave of 1280 x 720 would be less.
constexpr Box kArea = {0, 0, 1280, 720};

/// 1F1B whose ops are 1 and 2 units long, its memory model and message bars left out.
RunPtr run_with(std::int64_t ops) {
  static std::map<std::int64_t, RunPtr> made;
  RunPtr& known = made[ops];
  if (known) return known;
  auto run = std::make_shared<RunModel>();
  run->id = next_run_id();
  run->schedule = std::make_shared<const Schedule>(bench::one_f_one_b(kRanks, ops));
  UniformCosts costs;
  costs.forward = 1'000'000'000;
  costs.backward = 2'000'000'000;
  run->costs = std::make_shared<const Costs>(uniform_costs(run->schedule->placement(), costs));
  run->timeline = simulate(run->schedule, *run->costs);
  for (Rank rank(0); rank.value() < kRanks; ++rank)
    run->idle.push_back(idle_spans(run->timeline, *run->costs, rank));
  run->memory = std::make_shared<const MemoryModel>(default_memory(run->schedule->placement()));
  index_run(*run);
  known = run;
  return known;
}

struct Scene {
  explicit Scene(std::int64_t ops, double share) {
    session.add_run(run_with(ops), false);
    length_ = session.view.range.length();
    session.view.range.end = session.view.range.start + length_ * share;
    step_ = session.view.range.length() / 500;
  }
  void pan() {
    TimeRange& range = session.view.range;
    if (range.end + step_ > length_ * 1.2 || range.start + step_ < 0) step_ = -step_;
    range.start += step_;
    range.end += step_;
  }
  Session session;
  ChartLayout layout;
  ChartList list;

 private:
  double length_ = 0;
  double step_ = 0;
};

/// Times every frame; reports the mean, and the 95th percentile as a counter.
template <class Frame>
void measure(benchmark::State& state, Scene& scene, Frame&& frame) {
  std::vector<double> times;
  for (auto _ : state) {
    scene.pan();
    const double start = bench::thread_cpu_seconds();
    frame();
    times.push_back(bench::thread_cpu_seconds() - start);
  }
  std::sort(times.begin(), times.end());
  state.counters["p95_ms"] = 1e3 * times[times.size() * 95 / 100];
}

ChartFonts plain_fonts() {
  ChartFonts fonts;
  fonts.small.advance.fill(7);
  fonts.normal.advance.fill(8);
  fonts.strong = fonts.normal;
  return fonts;
}

/// Arguments: ops, visible part of the run in percent.
void list_of_frame(benchmark::State& state) {
  Scene scene(state.range(0), static_cast<double>(state.range(1)) / 100);
  scene.session.view.show_memory = state.range(2) != 0;
  const ChartFonts fonts = plain_fonts();
  measure(state, scene, [&] {
    lay_out_chart(scene.session, kArea, 1, scene.layout);
    build_chart_list(scene.session, scene.layout, fonts, scene.list);
  });
  state.counters["quads"] = static_cast<double>(scene.list.quads.size());
  state.counters["strips"] = static_cast<double>(scene.list.rows.strips.size());
}

/// The same with vertices.
void whole_frame(benchmark::State& state) {
  ImGui::CreateContext();
  {
    const std::unique_ptr<Platform> platform = open_null({1280, 720});
    ImGui::GetIO().DisplaySize = ImVec2(1280, 720);
    ImGui::GetIO().IniFilename = nullptr;
    ChartTextures textures;
    Scene scene(state.range(0), static_cast<double>(state.range(1)) / 100);
    scene.session.view.show_memory = state.range(2) != 0;
    ImGui::NewFrame();
    ImFont* const font = ImGui::GetFont();
    const ChartFonts fonts{measure_font(*font), measure_font(*font), measure_font(*font)};
    ImGui::EndFrame();
    measure(state, scene, [&] {
      ImGui::NewFrame();
      lay_out_chart(scene.session, kArea, 1, scene.layout);
      build_chart_list(scene.session, scene.layout, fonts, scene.list);
      draw_chart_list(scene.list, scene.layout.plot, {font, font}, *platform, textures,
                      *ImGui::GetBackgroundDrawList());
      ImGui::Render();
    });
  }
  ImGui::DestroyContext();
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t ops : {10'000, 1'000'000, 10'000'000})
    for (const std::int64_t percent : {100, 1}) bench->Args({ops, percent, 0});
  bench->Args({1'000'000, 100, 1})->Args({1'000'000, 1, 1})->Args({60'000, 100, 0})->Args({60'000, 30, 0});
  bench->ArgNames({"ops", "percent", "memory"})->Unit(benchmark::kMicrosecond);
}
BENCHMARK(list_of_frame)->Apply(sizes);
BENCHMARK(whole_frame)->Apply(sizes);

}  // namespace
}  // namespace pipeloom::gui

BENCHMARK_MAIN();
