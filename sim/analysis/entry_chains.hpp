#pragma once

// Chains of data around every entry, where groups and copies tie microbatches together. For sim/analysis/bounds.hpp.

#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom {

/// The longest chains before an entry's start and after its end.
struct EntryChain {
  Ticks head = 0;
  Ticks tail = 0;
};

/// Chains of every entry but copies: [rank][entry in queue order]. Takes two walks over all queues, 16 bytes per entry, 8 per tensor and per
/// visit of a rank. Throws HangError if the schedule hangs. REQUIRES: no structural errors, fewer than 2^32 ops.
[[nodiscard]] std::vector<std::vector<EntryChain>> entry_chains(const Schedule& schedule, const Costs& costs);

}  // namespace pipeloom
