#pragma once

// Number of activations that are alive at once, and the buffer that each could take: the rule of PyTorch 2.15.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/actions.hpp"

namespace pipeloom::torch {

/// One activation of a rank: alive from the cell of its F to the cell of its B or W, both included (I does not free it); a group is one
/// cell. Positions count cells of the row without blanks.
struct Lifetime {
  Stage stage;  ///< of the first part, where stages are merged
  Microbatch microbatch;
  std::size_t first = 0;
  std::size_t last = 0;
  std::int32_t slot = 0;  ///< the lowest that is free when it begins
};

struct RankLiveness {
  /// All lifetimes, in the order in which they begin.
  std::vector<Lifetime> lifetimes;
  /// Number of slots needed: the most that are alive at once.
  std::int32_t slots = 0;
};

enum class LivenessUnit : std::uint8_t {
  StageMicrobatch,  ///< one lifetime per stage and microbatch
  Microbatch,       ///< all of a rank's stages of a microbatch share one: from its first F to its last B or W
};

struct Liveness {
  std::vector<RankLiveness> ranks;
  /// Actions for which the rule has no answer: a second F or release, one that is missing, W without I, release before F. One line
  /// each, in rank order, at most twenty; where there are any the slots of those ranks are 0.
  std::vector<std::string> problems;
};

/// Looks at F, B, I and W only. O(actions).
[[nodiscard]] Liveness live_activations(const ActionLists& lists,
                                        LivenessUnit unit = LivenessUnit::StageMicrobatch);

}  // namespace pipeloom::torch
