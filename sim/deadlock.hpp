#pragma once

// Who waits for whom when a schedule hangs.

#include <cstddef>
#include <string>
#include <vector>

#include "sim/schedule.hpp"

namespace pipeloom {

/// A rank that cannot go on: the entry at its cursor waits for an op that has not run.
struct BlockedRank {
  Rank rank;
  /// Op index of the op that waits, within the entry at the rank's cursor.
  std::size_t op = 0;
  /// What it waits for, and the rank whose queue holds that op (`rank` itself if it comes later in its own
  /// queue; also `rank` if the op is in no queue, then `missing`).
  Op waits_for;
  Rank on;
  bool missing = false;
};

struct Deadlock {
  /// Every rank that did not reach the end of its queue, in rank order.
  std::vector<BlockedRank> blocked;
  /// Indices into `blocked`: each waits for the next, the last for the first. Empty only if every chain of waits
  /// ends at a missing op.
  std::vector<std::size_t> cycle;
  /// Entries that did run.
  std::size_t entries_done = 0;
};

/// "rank 2 waits at 2F3 for 1F3 of rank 1, which waits at ..., a cycle": one line.
[[nodiscard]] std::string describe(const Deadlock& deadlock, const Schedule& schedule);

}  // namespace pipeloom
