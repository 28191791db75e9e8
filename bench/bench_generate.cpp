// How fast schedules are generated, in nanoseconds per op of thread CPU time: every registered schedule with each of its
// variants on 8 ranks with about 1e6 ops, from checking the parameters to the finished queues, the page faults of fresh
// memory included (some 4 ns per op where malloc maps and unmaps the queues). The fastest of eleven.
// Prints a Markdown table.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/schedules_for_bench.hpp"
#include "schedules/generator.hpp"

namespace pipeloom::bench {
namespace {

using schedules::Generator;
using schedules::Params;

constexpr int kRanks = 8;
constexpr std::int64_t kOps = 1'000'000;

/// About kOps ops; m is a multiple of 2p, which every schedule takes.
Params sized(const Generator& generator, const std::string& variant) {
  const auto& needs = generator.requirements;
  Params params{.ranks = kRanks, .chunks = schedules::default_chunks(needs, variant), .variant = variant};
  params.slices = needs.default_slices;
  params.updates = needs.default_updates;
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

}  // namespace
}  // namespace pipeloom::bench

int main() {
  fmt::print("| schedule | variant | microbatches | ops | ns/op |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const auto& generator : pipeloom::schedules::all()) {
    const auto& known = generator.requirements.variants;
    for (const std::string& variant : known.empty() ? std::vector<std::string>{""} : known)
      pipeloom::bench::measure(generator, variant);
  }
}
