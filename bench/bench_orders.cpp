// The search for orders, one thread, without published orders: how long until it is within 1 % of what much more work comes to.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <optional>

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
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipeloom::orders

BENCHMARK_MAIN();
