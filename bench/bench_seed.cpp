// Generate and execute, side by side with the recorded speeds of PP-Schedule-Visualization (commit 1dd92bf, Python 3.11.7 on
// a 2-core Xeon; rows without other load on the machine). What is timed on both sides: build the queues, compute start and end of every
// entry; no drawing, no start-up. Ours: fastest of seven, thread CPU time, a fresh Simulator each time.
// Prints a Markdown table.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/schedules_for_bench.hpp"
#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"

namespace pipeloom::bench {
namespace {

struct Row {
  const char* schedule;
  int ranks;
  int chunks;
  int microbatches;
  double recorded_seconds;
};

constexpr Row kRows[] = {
    {"1f1b", 8, 1, 64, 0.0025},
    {"1f1b", 8, 1, 512, 0.077},
    {"1f1b", 64, 1, 512, 0.74},
    {"1f1b", 64, 1, 4096, 37.1},
    {"1f1b", 8, 1, 8192, 14.7},
    {"zb-h1", 64, 1, 512, 1.6},
    {"interleaved-1f1b", 8, 4, 64, 0.020},
    {"interleaved-1f1b", 64, 4, 512, 10.1},
    {"1f1b-overlap", 64, 1, 512, 0.49},
    {"interleaved-1f1b-overlap", 64, 4, 512, 5.0},
    {"dualpipe", 64, 1, 512, 0.53},
    {"dualpipe-v", 64, 2, 512, 1.7},
};

struct Measured {
  double seconds = 1e9;
  std::size_t entries = 0;
};

Measured measure(const Row& row) {
  Params params;
  params.ranks = row.ranks;
  params.chunks = row.chunks;
  params.microbatches = row.microbatches;
  const auto& generator = *schedules::find(row.schedule).generator;
  Measured best;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double before = thread_cpu_seconds();
    auto schedule = std::make_shared<const Schedule>(schedules::make(generator, params));
    const Timeline timeline = simulate(schedule, default_costs(schedule->placement()));
    best.seconds = std::min(best.seconds, thread_cpu_seconds() - before);
    best.entries = timeline.schedule->num_entries();
  }
  return best;
}

}  // namespace
}  // namespace pipeloom::bench

int main() {
  fmt::print("| schedule | ranks | chunks | microbatches | entries | recorded s | pipeloom ms | ratio |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& row : pipeloom::bench::kRows) {
    const auto measured = pipeloom::bench::measure(row);
    fmt::print("| {} | {} | {} | {} | {} | {} | {:.3f} | {:.0f} |\n", row.schedule, row.ranks, row.chunks,
               row.microbatches, measured.entries, row.recorded_seconds, measured.seconds * 1e3,
               row.recorded_seconds / measured.seconds);
  }
}
