// How fast many runs are evaluated.
//
//   shapes     eight schedules, p 4 .. 32, m 8 .. 256 (every integer), two sets of costs: 115,536 points, the illegal ones among them;
//              arguments: threads, and every how manieth p is taken (1 for all). Time is wall-clock time, CPU that of all threads.
//   generate   the schedules of it alone, each once
//   costs      p = 16, m = 128, 1F1B, F and B vary: time per point; argument: whether the configuration comes from a grid and its line
//              is written (1), or only the evaluation counts (0)
//
// Counters: points per second, nanoseconds per op evaluated, megabytes resident at most.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/sweep/grid/grid.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/run/evaluator.hpp"
#include "study/sweep/run/piece.hpp"

namespace pipeloom::bench {
namespace {

using sweep::Evaluator;
using sweep::Outcome;

constexpr const char* kSchedules[] = {"gpipe", "1f1b",     "interleaved-1f1b", "zb-h1",
                                      "zbv",   "dualpipe", "dualpipe-v",       "v-half"};

io::Config config_of(const std::string& text) {
  return io::read_run_config(io::Document::parse(text, "bench").root());
}

void report_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Calls fn(config) for every point with these p, costs fastest.
template <class Fn>
void each_point(int p, const Fn& fn) {
  for (const char* schedule : kSchedules) {
    io::Config configs[] = {
        config_of(fmt::format(R"({{"schedule": "{}", "ranks": {}, "microbatches": 8}})", schedule, p)),
        config_of(fmt::format(R"({{"schedule": "{}", "ranks": {}, "microbatches": 8,
                                "costs": {{"forward": 1, "backward_input": 1.1, "backward_weight": 0.9}}}})",
                              schedule, p))};
    for (int m = 8; m <= 256; ++m)
      for (io::Config& config : configs) {
        config.microbatches = m;
        fn(config);
      }
  }
}

void shapes(benchmark::State& state) {
  const auto step = static_cast<int>(state.range(1));
  std::atomic<std::uint64_t> points = 0;
  std::atomic<std::uint64_t> refused = 0;
  for (auto _ : state) {
    const auto cache = Evaluator::make_cache();
    std::atomic<int> next = 32;
    std::vector<std::thread> threads;
    for (std::int64_t t = 0; t < state.range(0); ++t)
      threads.emplace_back([&] {
        Evaluator evaluator(sweep::default_metrics(), {}, cache);
        Outcome outcome;
        for (int p = next.fetch_sub(step); p >= 4; p = next.fetch_sub(step))
          each_point(p, [&](const io::Config& config) {
            evaluator.evaluate(config, outcome);
            ++points;
            if (outcome.status == sweep::Status::Illegal) ++refused;
          });
      });
    for (std::thread& thread : threads) thread.join();
  }
  state.counters["points"] = benchmark::Counter(static_cast<double>(points), benchmark::Counter::kIsRate);
  state.counters["refused"] = static_cast<double>(refused) / static_cast<double>(state.iterations());
  report_memory(state);
}
BENCHMARK(shapes)
    ->Args({1, 1})
    ->Args({2, 1})
    ->Args({1, 8})
    ->Args({2, 8})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

void generate(benchmark::State& state) {
  double ops = 0;
  for (auto _ : state)
    for (int p = 4; p <= 32; ++p)
      for (const char* name : kSchedules)
        for (int m = 8; m <= 256; ++m) {
          const auto& generator = *schedules::find(name).generator;
          Params params{.ranks = p, .microbatches = m};
          params.chunks = schedules::default_chunks(generator.requirements, "");
          if (!schedules::refusal(generator, params).empty()) continue;
          ops += static_cast<double>(schedules::make(generator, params).num_ops());
        }
  state.counters["ops"] = ops / static_cast<double>(state.iterations());
  state.counters["ns_per_op"] =
      benchmark::Counter(ops * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(generate)->Iterations(1)->Unit(benchmark::kSecond);

void costs(benchmark::State& state) {
  if (state.range(0) != 0) {
    const sweep::Grid grid = sweep::Grid::parse(
        R"({"base": {"schedule": "1f1b", "ranks": 16, "microbatches": 128},
            "axes": {"costs.forward": {"from": 1, "to": 2, "steps": 1000}, "costs.backward": {"from": 2, "to": 4, "steps": 1000}}})",
        "bench.json");
    const sweep::LineWriter lines(sweep::ResultFormat::JsonLines, grid, sweep::default_metrics());
    sweep::PieceWorker worker(grid, Evaluator(sweep::default_metrics(), {}, Evaluator::make_cache()), lines,
                              std::nullopt);
    std::uint64_t at = 0;
    constexpr std::uint64_t kPiece = 64;
    for (auto _ : state) {
      benchmark::DoNotOptimize(worker.run({at, at + kPiece, at}));
      at = (at + kPiece) % (999'936);
    }
    state.counters["us_per_point"] =
        benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(kPiece) * 1e-6,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    return;
  }
  Evaluator evaluator(sweep::default_metrics(), {}, Evaluator::make_cache());
  io::Config config = config_of(
      R"({"schedule": "1f1b", "ranks": 16, "microbatches": 128, "costs": {"forward": 1, "backward": 2}})");
  Outcome outcome;
  for (auto _ : state) {
    ++config.costs.duration[index_of(OpKind::Forward)]->scalar;
    evaluator.evaluate(config, outcome);
    benchmark::DoNotOptimize(outcome);
  }
  state.counters["us_per_point"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 1e-6,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(costs)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace pipeloom::bench

BENCHMARK_MAIN();
