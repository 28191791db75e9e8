#pragma once

// Longest chains of data dependencies before and after every entry. Queues do not count, for other orders would have others.

#include <vector>

#include "sim/costs.hpp"
#include "sim/schedule.hpp"

namespace pipeloom {

/// Entries of one rank with the same longest chain before their start (`head`) and after their end (`tail`).
struct ChainJob {
  Ticks head = 0;
  Ticks tail = 0;
  Ticks work = 0;     ///< their durations added up
  Ticks longest = 0;  ///< the longest of these
};

/// All entries but copies, which run beside their rank's work and lengthen chains only: [rank][job], jobs sorted by head, then tail.
///
/// Where microbatches go alone (no groups, no copies), their chains are known from the stages: O(stages) where all microbatches are
/// alike, O(ops) else. Groups and copies take an order of all entries and 24 bytes per op. Throws HangError if the schedule
/// hangs and has groups or copies. REQUIRES: no structural errors.
[[nodiscard]] std::vector<std::vector<ChainJob>> chain_jobs(const Schedule& schedule, const Costs& costs);

}  // namespace pipeloom
