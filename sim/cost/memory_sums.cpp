#include "sim/cost/memory_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <pipeloom/error.hpp>
#include "sim/cost/scaled.hpp"

namespace pipeloom::cost {
namespace {

/// Bytes that a rank could hold of one of the user's numbers.
struct Share {
  const StageNumbers* numbers;
  Wide bytes = 0;
};

/// Most times that one microbatch's bytes of a slot can be there at once, times microbatches.
struct Counts {
  Wide activations;
  Wide messages;
  Wide logits;
};

Counts counts_of(const MemoryModel& model, int microbatches, int slices, int steps) {
  const Wide units = Wide{microbatches} * slices;
  // Slices share a microbatch's activations, unless each counts whole. A forward and a backward receive a message each.
  return {model.slice_end.empty() ? units : Wide{microbatches}, 2 * units * steps, units};
}

std::array<Share, 5> shares_of(const MemorySpec& spec, const MemoryModel& model, const Schedule& schedule,
                               const Counts& counts, Rank rank) {
  std::array<Share, 5> shares = {
      {{&spec.activation}, {&spec.released_at_input}, {&spec.static_bytes}, {&spec.receive}, {&spec.logits}}};
  for (const Slot slot : schedule.placement().slots_of(rank)) {
    shares[0].bytes += counts.activations * model.activation[slot.at()];
    // Negative: the end of I keeps more than it frees.
    shares[1].bytes += counts.activations * std::max<Wide>(0, -Wide{model.released_at_input[slot.at()]});
    shares[2].bytes += model.static_bytes[slot.at()];
    shares[3].bytes += counts.messages * model.receive[slot.at()];
    shares[4].bytes += counts.logits * model.logits[slot.at()];
  }
  return shares;
}

}  // namespace

void require_summable(const MemorySpec& spec, const MemoryModel& model, const Schedule& schedule, int steps,
                      int microbatches) {
  const Counts counts = counts_of(model, microbatches, schedule.slices(), steps);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const auto shares = shares_of(spec, model, schedule, counts, rank);
    Wide sum = 0;
    for (const Share& share : shares) sum += share.bytes;
    if (sum < kMaxTicks) continue;
    const Share& largest = *std::max_element(
        shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.bytes < b.bytes; });
    throw InputError(
        largest.numbers->where,
        fmt::format("the bytes that rank {} could hold add up to {:.3g}, most of them {}; less than 2^62 "
                    "(4.6e18) can be counted; use smaller numbers, or fewer microbatches or stages per rank",
                    rank.value(), static_cast<double>(sum), largest.numbers->key));
  }
}

}  // namespace pipeloom::cost
