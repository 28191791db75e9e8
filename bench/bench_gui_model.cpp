// What the window's model costs, in thread CPU time of the fastest pass. 64 ranks, 1F1B; the argument is the number of ops.
//
//   evaluate     a configuration to its evaluation: schedule, times, metrics, bound, critical path
//   build        an evaluation to a run for the window: idle spans, messages, level of detail
//   job          both: what follows a change of a number; `ms` is the budgeted figure
//   pyramids     level of detail alone, per op; `bytes_per_op` is what it keeps
//   frame        shares of 64 ranks in 900 bins, per bin; the second argument is how much of the run is seen, in percent
//   memory_frame the same of the bytes held
//   open         a timeline of JSON lines to a run for the window, reading the disk left out
//   visible      the ops of 64 ranks that a stretch of 1 % holds
//
// For the memory of 1e7 ops: --benchmark_filter='job/10000000' alone, counter peak_MB.

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/schedules_for_bench.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/tracks/memory_track.hpp"
#include "sim/tracks/op_track.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::bench {
namespace {

constexpr int kRanks = 64;
constexpr int kBins = 900;

io::Config config_of(std::int64_t ops) {
  io::Config config;
  config.schedule = "1f1b";
  config.ranks = kRanks;
  config.microbatches = static_cast<int>(ops / (2 * kRanks));
  return config;
}

/// Runs pass() as often as the benchmark wants and returns the seconds of the fastest; after() is not timed.
template <class Pass>
double fastest_of(benchmark::State& state, Pass&& pass) {
  double fastest = 1e9;
  for (auto _ : state) {
    const double before = thread_cpu_seconds();
    auto result = pass();
    const double seconds = thread_cpu_seconds() - before;
    benchmark::DoNotOptimize(result);
    state.SetIterationTime(seconds);
    fastest = std::min(fastest, seconds);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["ms"] = fastest * 1e3;
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  return fastest;
}

void per_op(benchmark::State& state, double seconds) {
  state.counters["ns_per_op"] = seconds * 1e9 / static_cast<double>(state.range(0));
}

gui::RunPtr run_of(Run evaluation) {
  return gui::build_run(std::move(evaluation), "bench", RunSource::Configuration, "");
}

/// One at a time: the largest take most of the memory.
gui::RunPtr cached_run(std::int64_t ops) {
  static std::pair<std::int64_t, gui::RunPtr> made{0, nullptr};
  if (made.first != ops) {
    made.second.reset();
    made = {ops, run_of(study::evaluate(config_of(ops), gui::window_limits()))};
  }
  return made.second;
}

void evaluate(benchmark::State& state) {
  const io::Config config = config_of(state.range(0));
  per_op(state, fastest_of(state, [&] { return study::evaluate(config, gui::window_limits()); }));
}

void build(benchmark::State& state) {
  const io::Config config = config_of(state.range(0));
  double fastest = 1e9;
  for (auto _ : state) {
    Run evaluation = study::evaluate(config, gui::window_limits());
    const double before = thread_cpu_seconds();
    const gui::RunPtr run = run_of(std::move(evaluation));
    const double seconds = thread_cpu_seconds() - before;
    state.SetIterationTime(seconds);
    fastest = std::min(fastest, seconds);
  }
  state.counters["ms"] = fastest * 1e3;
  per_op(state, fastest);
}

void job(benchmark::State& state) {
  const io::Config config = config_of(state.range(0));
  per_op(state, fastest_of(state, [&] { return run_of(study::evaluate(config, gui::window_limits())); }));
}

void pyramids(benchmark::State& state) {
  const gui::RunPtr run = cached_run(state.range(0));
  std::size_t bytes = 0;
  per_op(state, fastest_of(state, [&] {
           const tracks::OpTrack ops(run->timeline);
           bytes = ops.memory_bytes() +
                   tracks::MemoryTrack(run->timeline, *run->memory, ops.span()).memory_bytes();
           return bytes;
         }));
  state.counters["bytes_per_op"] = static_cast<double>(bytes) / static_cast<double>(state.range(0));
}

tracks::TimeRange seen(const benchmark::State& state, const gui::RunModel& run) {
  const auto length = static_cast<double>(run.span().length());
  const double share = static_cast<double>(state.range(1)) / 100;
  const double start = static_cast<double>(run.span().start) + length * (1 - share) / 2;
  return {start, start + share * length};
}

/// Answers the question of one rank 64 times, for a range that a pan moves a little every frame.
template <class Question>
void per_frame(benchmark::State& state, Question&& question) {
  const gui::RunPtr run = cached_run(state.range(0));
  const tracks::TimeRange at = seen(state, *run);
  int frames = 0;
  const double seconds = fastest_of(state, [&] {
    const double pan = at.length() / 1000 * (++frames % 100);
    const tracks::TimeRange range{at.start + pan, at.end + pan};
    for (Rank rank{0}; rank < Rank(kRanks); ++rank) question(*run, rank, range);
    return range;
  });
  state.counters["ns_per_bin"] = seconds * 1e9 / (kRanks * kBins);
}

void frame(benchmark::State& state) {
  std::vector<float> shares;
  per_frame(state, [&](const gui::RunModel& run, Rank rank, tracks::TimeRange range) {
    shares.assign(kBins * kOpKinds, 0);
    run.op_track->shares(rank.at(), range, kBins, shares);
  });
}

void memory_frame(benchmark::State& state) {
  std::vector<tracks::Extent> extents(kBins);
  per_frame(state, [&](const gui::RunModel& run, Rank rank, tracks::TimeRange range) {
    run.memory_track->extents(rank.at(), range, extents);
  });
}

void visible(benchmark::State& state) {
  std::size_t found = 0;
  per_frame(state, [&](const gui::RunModel& run, Rank rank, tracks::TimeRange range) {
    found += run.op_track->visible(rank, range.start, range.end).size();
  });
  benchmark::DoNotOptimize(found);
}

void open(benchmark::State& state) {
  std::ostringstream text;
  io::write_timeline_jsonl(text, cached_run(state.range(0))->timeline);
  const std::string file = std::move(text).str();
  per_op(state, fastest_of(state, [&] { return gui::read_run_text(file, "measured.jsonl"); }));
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t ops : {10'000, 100'000, 1'000'000, 10'000'000}) b->Arg(ops);
}
void views(benchmark::internal::Benchmark* b) {
  for (const std::int64_t ops : {10'000, 1'000'000, 10'000'000})
    for (const std::int64_t percent : {100, 10, 1}) b->Args({ops, percent});
}

BENCHMARK(evaluate)->Apply(sizes)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(build)->Apply(sizes)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(job)->Apply(sizes)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(pyramids)->Apply(sizes)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(frame)->Apply(views)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(memory_frame)->Apply(views)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(open)->Arg(100'000)->Arg(1'000'000)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(visible)->Apply(views)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pipeloom::bench

BENCHMARK_MAIN();
