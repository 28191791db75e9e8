// Lowering for PyTorch and its files, per op, on a million ops.

#include <benchmark/benchmark.h>

#include <map>
#include <sstream>
#include <string>

#include "bench/schedules_for_bench.hpp"
#include "schedules/generator.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/liveness.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/verdict.hpp"

namespace pipeloom::bench {
namespace {

/// About a million ops: 16 ranks, two stages each.
const Schedule& million(const char* name) {
  static std::map<std::string, Schedule> made;
  const auto found = made.find(name);
  if (found != made.end()) return found->second;
  const auto& generator = *schedules::find(name).generator;
  Params params;
  params.ranks = 16;
  params.chunks = generator.requirements.default_chunks;
  const int kinds = generator.requirements.splits_backward ? 3 : 2;
  params.microbatches = 1'000'000 / (kinds * params.ranks * params.chunks) / 16 * 16;
  return made.emplace(name, schedules::make(generator, params)).first->second;
}

/// The report's column "time/op".
void per_op(benchmark::State& state, const Schedule& schedule) {
  state.counters["time/op"] =
      benchmark::Counter(static_cast<double>(schedule.num_ops()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void lower(benchmark::State& state, const char* name, const torch::LowerOptions& options) {
  const Schedule& schedule = million(name);
  for (auto _ : state) benchmark::DoNotOptimize(torch::lower(schedule, options));
  per_op(state, schedule);
}

std::string csv_of(const ActionLists& lists) {
  std::ostringstream out;
  io::write_torch_actions(out, lists);
  return out.str();
}

void read_compute(benchmark::State& state) {
  const Schedule& schedule = million("interleaved-1f1b");
  const std::string text = csv_of(to_actions(schedule));
  for (auto _ : state) benchmark::DoNotOptimize(io::read_torch_csv(text, "s"));
  per_op(state, schedule);
}

void read_comms(benchmark::State& state) {
  const Schedule& schedule = million("interleaved-1f1b");
  const std::string text = csv_of(torch::lower(schedule));
  for (auto _ : state) benchmark::DoNotOptimize(io::read_torch_comms(text, "s"));
  per_op(state, schedule);
}

void write_comms(benchmark::State& state) {
  const Schedule& schedule = million("interleaved-1f1b");
  const ActionLists lists = torch::lower(schedule);
  for (auto _ : state) benchmark::DoNotOptimize(csv_of(lists));
  per_op(state, schedule);
}

void judge(benchmark::State& state) {
  const Schedule& schedule = million("interleaved-1f1b");
  const ActionLists lists = torch::lower(schedule);
  const auto run = torch::loading_run(lists, torch::Form::ComputeComms);
  for (auto _ : state) {
    const torch::Verdict verdict = torch::verdict_of(lists, run);
    benchmark::DoNotOptimize(torch::runtime_lints(lists, verdict.rank_of_stage));
    benchmark::DoNotOptimize(torch::dry_run_of(lists, verdict));
  }
  per_op(state, schedule);
}

void liveness(benchmark::State& state) {
  const Schedule& schedule = million("interleaved-1f1b");
  const ActionLists lists = to_actions(schedule);
  for (auto _ : state) benchmark::DoNotOptimize(torch::live_activations(lists));
  per_op(state, schedule);
}

BENCHMARK_CAPTURE(lower, 1f1b, "1f1b", torch::LowerOptions{});
BENCHMARK_CAPTURE(lower, interleaved_1f1b, "interleaved-1f1b", torch::LowerOptions{});
BENCHMARK_CAPTURE(lower, zb_h1, "zb-h1", torch::LowerOptions{});
BENCHMARK_CAPTURE(lower, dualpipe_v, "dualpipe-v", torch::LowerOptions{});
BENCHMARK_CAPTURE(lower, interleaved_1f1b_deferred, "interleaved-1f1b",
                  torch::LowerOptions{.target = torch::Target::V213, .defer_receives = true});
BENCHMARK(read_compute)->Unit(benchmark::kMillisecond);
BENCHMARK(read_comms)->Unit(benchmark::kMillisecond);
BENCHMARK(write_comms)->Unit(benchmark::kMillisecond);
BENCHMARK(judge)->Unit(benchmark::kMillisecond);
BENCHMARK(liveness)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipeloom::bench

BENCHMARK_MAIN();
