// The search for orders, one thread, without published orders: how long until it is within 1 % of what much more work comes to. And how long
// one timing of all ops of an order takes, of words alone and of entries with copies and pairs.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/orders/entries/entry_times.hpp"
#include "sim/orders/search/policy_search.hpp"
#include "sim/orders/search/search.hpp"

namespace pipeloom::orders {
namespace {

/// F, I and W of a 28.3B model as the zero-bubble paper measured them (its table 9), in microseconds; room for `halves` / 2 times p microbatches.
Problem problem_of(bool v, int p, int m, int halves) {
  const Placement placement = v ? Placement::wave(p, 2) : Placement::linear(p);
  Terms terms = uniform_terms(placement, {.forward = 10402,
                                          .backward = 10248 + 7698,
                                          .backward_input = 10248,
                                          .backward_weight = 7698,
                                          .delay = 460});
  std::ranges::fill(terms.memory.activation, 37);
  std::ranges::fill(terms.memory.released_at_input, 37 - 16);
  const Bytes room = Bytes{37} * (v ? 2 : 1) * p * halves / 2;
  return make_problem(placement, m, terms, std::vector<Bytes>(static_cast<std::size_t>(p), room),
                      Objective::Window);
}

/// Work to begin with; it is doubled until the answer is near enough.
constexpr std::int64_t kLeast = 1000;
constexpr std::int64_t kMuch = 20'000'000;

void within_a_percent(benchmark::State& state) {
  const Problem problem = problem_of(state.range(0) != 0, static_cast<int>(state.range(1)),
                                     static_cast<int>(state.range(2)), static_cast<int>(state.range(3)));
  const auto best = search_order(problem, {}, {.work = kMuch});
  if (!best) return state.SkipWithError("no order");
  const double near = 1.01 * static_cast<double>(best->value);
  std::int64_t work = kLeast;
  while (static_cast<double>(search_order(problem, {}, {.work = work})->value) > near) work *= 2;
  std::optional<FoundOrder> found;
  for (auto _ : state) {
    found = search_order(problem, {}, {.work = work});
    benchmark::DoNotOptimize(found);
  }
  state.counters["gap_percent"] = 100 * found->gap();
  state.counters["final_gap_percent"] = 100 * best->gap();
}

// v shape, ranks, microbatches, halves of p activations.
BENCHMARK(within_a_percent)
    ->ArgNames({"v", "p", "m", "halves"})
    ->Args({0, 8, 32, 2})
    ->Args({0, 8, 32, 4})
    ->Args({1, 8, 32, 2})
    ->Args({0, 32, 256, 1})
    ->Args({0, 32, 256, 2})
    ->Args({0, 32, 256, 4})
    ->Args({1, 32, 256, 2})
    ->Args({0, 64, 1024, 2})
    ->Args({1, 64, 1024, 2})
    ->MeasureProcessCPUTime()  // chains run on threads of their own
    ->Unit(benchmark::kMillisecond);

enum class Beside : std::uint8_t { Nothing, Copies, Pairs };

/// The order of the first policy that has room.
Order first_order(const Problem& problem) {
  Player player(problem);
  for (const auto& family : first_policies(problem))
    for (const Policy& policy : family)
      if (player.play(policy)) return player.words();
  return {};
}

Problem with(Problem problem, Beside beside) {
  if (beside == Beside::Pairs) {
    const std::size_t chunks = problem.stages_of.front().size();
    for (const StageWork& stage : problem.stages)
      problem.pairs.insert(problem.pairs.end(), chunks, stage.work() * 4 / 5);
  }
  for (StageWork& stage : problem.stages) {
    stage.is_copied = beside == Beside::Copies;
    stage.offload = stage.reload = stage.forward / 2;
  }
  return problem;
}

void set_ops(benchmark::State& state, const Problem& problem) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(problem.num_ops()));
}

void time_words(benchmark::State& state) {
  const Problem problem =
      problem_of(true, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 4);
  const Order order = first_order(problem);
  for (auto _ : state) benchmark::DoNotOptimize(value_of(problem, order));
  set_ops(state, problem);
}

void time_entries(benchmark::State& state) {
  const Problem problem =
      with(problem_of(true, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 4),
           static_cast<Beside>(state.range(2)));
  const Entries entries = entries_of(first_order(problem));
  EntryTimes times(problem);
  for (auto _ : state) benchmark::DoNotOptimize(times.play(entries, 3));
  set_ops(state, problem);
}

BENCHMARK(time_words)->ArgNames({"p", "m"})->Args({8, 32})->Args({32, 256});
BENCHMARK(time_entries)
    ->ArgNames({"p", "m", "beside"})
    ->ArgsProduct({{8}, {32}, {0, 1, 2}})
    ->ArgsProduct({{32}, {256}, {0, 1, 2}});

}  // namespace
}  // namespace pipeloom::orders

BENCHMARK_MAIN();
