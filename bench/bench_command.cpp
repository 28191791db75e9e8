// What a command costs, pass by pass, in thread CPU time per op of the fastest pass. Rows are NAME/RANKS/OPS:
//
//   simulate/generate, times, walk, memory, bound, path, report   the passes of `pipeloom simulate`
//   simulate/whole      all of it, configuration to report
//   convert/FORMAT      writing one format, what it is made from left out
//   window/build_run    an evaluation to a run for the window
//   window/job          a change of a number to a picture that can be drawn
//
// `bytes_per_op` is the most that a pass held at once beyond what was there before it. 1F1B.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <ostream>
#include <streambuf>
#include <string>

#include "bench/schedules_for_bench.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/analysis/bounds.hpp"
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/memory.hpp"
#include "study/report/report.hpp"
#include "study/run/evaluate.hpp"

namespace {

/// Bytes on the heap, now and at most; the passes run on one thread.
std::size_t heap_now = 0;
std::size_t heap_peak = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  heap_now += malloc_usable_size(memory);
  heap_peak = std::max(heap_peak, heap_now);
  return memory;
}
void operator delete(void* memory) noexcept {
  heap_now -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace pipeloom::bench {
namespace {

io::Config config_of(const benchmark::State& state) {
  io::Config config;
  config.schedule = "1f1b";
  config.ranks = static_cast<int>(state.range(0));
  config.microbatches = static_cast<int>(state.range(1) / (2 * state.range(0)));
  return config;
}

/// Times pass() as often as the benchmark wants; what before() makes is not counted, neither in time nor in bytes.
template <class Before, class Pass>
void measure(benchmark::State& state, Before&& before, Pass&& pass) {
  double fastest = 1e9;
  std::size_t most = 0;
  for (auto _ : state) {
    auto input = before();
    const std::size_t bytes_before = heap_now;
    heap_peak = heap_now;
    const double start = thread_cpu_seconds();
    auto result = pass(input);
    const double seconds = thread_cpu_seconds() - start;
    benchmark::DoNotOptimize(result);
    most = std::max(most, heap_peak - bytes_before);
    fastest = std::min(fastest, seconds);
    state.SetIterationTime(seconds);
  }
  const auto ops = static_cast<double>(state.range(1));
  state.counters["ns_per_op"] = fastest * 1e9 / ops;
  state.counters["bytes_per_op"] = static_cast<double>(most) / ops;
}

class Nowhere : public std::streambuf {
 protected:
  std::streamsize xsputn(const char*, std::streamsize n) override { return n; }
  int overflow(int c) override { return c == EOF ? 0 : c; }
};

/// A pass over an evaluated run.
template <class Pass>
void of_run(benchmark::State& state, Pass&& pass) {
  const Run run = study::evaluate(config_of(state));
  measure(
      state, [&] { return &run; }, [&](const Run* known) { return pass(*known); });
}

void generate(benchmark::State& state) {
  const io::Config config = config_of(state);
  measure(
      state, [] { return 0; },
      [&](int) {
        io::EffectiveConfig effective;
        return study::make_schedule(config, {}, effective);
      });
}
void times(benchmark::State& state) {
  of_run(state, [](const Run& run) { return simulate(run.schedule, *run.costs, run.effective->step); });
}
void walk(benchmark::State& state) {
  of_run(state, [](const Run& run) { return walk_ranks(run.timeline, run.costs.get()); });
}
void memory(benchmark::State& state) {
  of_run(state, [](const Run& run) { return measure_memory(run.timeline, *run.memory); });
}
void bound(benchmark::State& state) {
  of_run(state, [](const Run& run) { return lower_bound(*run.schedule, *run.costs, run.effective->step); });
}
void path(benchmark::State& state) {
  of_run(state, [](const Run& run) { return critical_path(run.timeline, *run.costs); });
}
void report(benchmark::State& state) {
  of_run(state, [](const Run& run) {
    Nowhere nowhere;
    std::ostream out(&nowhere);
    study::write_report(out, run, {});
    return out.good();
  });
}
void whole(benchmark::State& state) {
  const io::Config config = config_of(state);
  measure(
      state, [] { return 0; },
      [&](int) {
        const Run run = study::evaluate(config);
        Nowhere nowhere;
        std::ostream out(&nowhere);
        study::write_report(out, run, {});
        return out.good();
      });
}

void convert(benchmark::State& state, const io::Format& format) {
  of_run(state, [&](const Run& run) {
    const auto report = [&run](std::ostream& out) { study::write_report(out, run, {true, true}); };
    const io::Exported exported{run.schedule.get(), &run.timeline, run.costs.get(), run.memory.get(), report};
    Nowhere nowhere;
    std::ostream out(&nowhere);
    format.write(out, exported);
    return out.good();
  });
}

gui::RunPtr run_of(Run evaluation) {
  return gui::build_run(std::move(evaluation), "bench", RunSource::Configuration, "");
}
void build_run(benchmark::State& state) {
  const io::Config config = config_of(state);
  measure(
      state, [&] { return study::evaluate(config, gui::window_limits()); },
      [](Run& run) { return run_of(std::move(run)); });
}
void job(benchmark::State& state) {
  const io::Config config = config_of(state);
  measure(
      state, [] { return 0; }, [&](int) { return run_of(study::evaluate(config, gui::window_limits())); });
}

constexpr std::int64_t kPassOps = 1 << 20;
constexpr std::int64_t kFileOps = 1 << 17;  // pictures of more are nothing that anyone waits for

template <class Function>
void add(const std::string& name, Function&& function, std::int64_t ops) {
  auto* const row = benchmark::RegisterBenchmark(name.c_str(), std::forward<Function>(function));
  row->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const std::int64_t ranks : {8, 64, 512}) row->Args({ranks, ops});
}

void add_all() {
  add("simulate/generate", generate, kPassOps);
  add("simulate/times", times, kPassOps);
  add("simulate/walk", walk, kPassOps);
  add("simulate/memory", memory, kPassOps);
  add("simulate/bound", bound, kPassOps);
  add("simulate/path", path, kPassOps);
  add("simulate/report", report, kPassOps);
  add("simulate/whole", whole, kPassOps);
  for (const io::Format& format : io::all_formats())
    if (format.write)
      add(
          "convert/" + format.name, [&format](benchmark::State& state) { convert(state, format); }, kFileOps);
  add("window/build_run", build_run, kFileOps);
  add("window/job", job, kFileOps);
}

}  // namespace
}  // namespace pipeloom::bench

int main(int argc, char** argv) {
  pipeloom::bench::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
