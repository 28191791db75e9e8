#pragma once

// What single stages can do so that a schedule that does not fit does: recompute, or copy activations to the host.

#include <string>
#include <vector>

#include "study/plan/candidates.hpp"

namespace pipeloom::study {

/// A candidate that fits, and what is the same for all between which orders may be carried over (Variant::memory_of).
struct Relieved {
  PlanCandidate candidate;
  std::string memory_of;
};

/// `over`, which does not fit, once for each means that may vary and that it does not use yet, on so few stages that it fits: while a rank holds too much, the
/// first of its stages that does not take part yet is added. Nothing where that takes all stages, which is a variant of its own.
[[nodiscard]] std::vector<Relieved> relieved(const PlanCandidate& over, const std::string& memory_of,
                                             const PlanOptions& options, const Limits& limits);

/// "0-4", "0, 2, 5-7". REQUIRES: in order, each once.
[[nodiscard]] std::string stage_ranges_text(const std::vector<int>& stages);

}  // namespace pipeloom::study
