// How fast schedules are generated, in nanoseconds per op of thread CPU time: every registered schedule with each of its
// variants on 8 ranks with about 1e6 ops, from checking the parameters to the finished queues, the page faults of fresh
// memory included (some 4 ns per op where malloc maps and unmaps the queues). Then those whose order is searched for, in milliseconds,
// for equal and for unequal stages. The fastest of eleven. Prints two Markdown tables.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/schedules_for_bench.hpp"
#include "schedules/generator.hpp"

namespace pipeloom::bench {
namespace {

using schedules::Generator;

constexpr int kRanks = 8;
constexpr std::int64_t kOps = 1'000'000;

/// About kOps ops; m is a multiple of 2p, which every schedule takes.
Params sized(const Generator& generator, const std::string& variant) {
  const auto& needs = generator.requirements;
  Params params{
      .ranks = kRanks, .chunks = schedules::default_chunks(needs, variant), .options = {.variant = variant}};
  params.options.slices = equal_slices(needs.default_slices);
  params.options.updates = needs.default_updates;
  params.microbatches = 2 * kRanks;
  const std::int64_t ops_of_block = static_cast<std::int64_t>(schedules::make(generator, params).num_ops());
  params.microbatches *= static_cast<int>(kOps / ops_of_block);
  return params;
}

void measure(const Generator& generator, const std::string& variant) {
  const Params params = sized(generator, variant);
  double fastest = 1e9;
  std::size_t ops = 0;
  for (int repeat = 0; repeat < 11; ++repeat) {
    const double before = thread_cpu_seconds();
    const Schedule schedule = schedules::make(generator, params);
    fastest = std::min(fastest, thread_cpu_seconds() - before);
    ops = schedule.num_ops();
  }
  fmt::print("| {} | {} | {} | {} | {:.2f} |\n", generator.name, variant, params.microbatches, ops,
             fastest * 1e9 / static_cast<double>(ops));
}

/// The profiled times of a 6.2B model on 8 ranks, in ticks of a nanosecond per stage pass, and its bytes; with `unequal`, stages differ by
/// up to a tenth.
Terms profiled_terms(const Placement& placement, bool unequal) {
  const Ticks chunks = placement.chunks();
  Terms terms{uniform_costs(placement, {.forward = 29'718'000 / chunks,
                                        .backward = 49'371'000 / chunks,
                                        .backward_input = 29'444'000 / chunks,
                                        .backward_weight = 19'927'000 / chunks,
                                        .delay = 527'000}),
              default_memory(placement)};
  std::fill(terms.memory.activation.begin(), terms.memory.activation.end(), 37);
  std::fill(terms.memory.released_at_input.begin(), terms.memory.released_at_input.end(), 37 - 16);
  if (!unequal) return terms;
  for (auto& by_slot : terms.costs.duration)
    for (std::size_t slot = 0; slot < by_slot.size(); ++slot)
      by_slot[slot] += by_slot[slot] / 100 * static_cast<Ticks>(slot * 7 % 11);
  return terms;
}

double fastest_search(const Generator& generator, int ranks, int microbatches, bool unequal) {
  Params params{
      .ranks = ranks, .microbatches = microbatches, .chunks = generator.requirements.default_chunks};
  params.options.memory_limit =
      MemoryLimit{.bytes = {}, .microbatches = kUnitScale / 2 * 3 * ranks};  // 1.5 p activations
  const Terms terms = profiled_terms(generator.placement(params), unequal);
  double fastest = 1e9;
  for (int repeat = 0; repeat < 11; ++repeat) {
    schedules::Emission emission;
    const double before = thread_cpu_seconds();
    const Schedule schedule = schedules::make(generator, params, terms, emission);
    fastest = std::min(fastest, thread_cpu_seconds() - before);
  }
  return fastest;
}

void measure_search(const Generator& generator) {
  for (const auto& [p, m] : {std::pair(8, 64), {16, 128}, {32, 128}, {32, 256}, {64, 512}}) {
    if (generator.requirements.slow_search && p > 8) break;
    fmt::print("| {} | {} | {} | {:.2f} | {:.2f} |\n", generator.name, p, m,
               fastest_search(generator, p, m, false) * 1e3, fastest_search(generator, p, m, true) * 1e3);
  }
}

}  // namespace
}  // namespace pipeloom::bench

int main() {
  fmt::print("| schedule | variant | microbatches | ops | ns/op |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const auto& generator : pipeloom::schedules::all()) {
    const auto& known = generator.requirements.variants;
    if (generator.requirements.needs_terms) continue;
    for (const std::string& variant : known.empty() ? std::vector<std::string>{""} : known)
      pipeloom::bench::measure(generator, variant);
  }
  fmt::print("\n| searched | ranks | microbatches | ms, equal stages | ms, unequal |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const auto& generator : pipeloom::schedules::all())
    if (generator.requirements.needs_terms) pipeloom::bench::measure_search(generator);
}
