#pragma once

// Microbatches whose ops take longer or shorter than those of others, found on what cells leave of single entries.

#include <span>
#include <vector>

#include "study/explain/ops/op_candidates.hpp"

namespace pipeloom::study::explain {

/// The causes of microbatches, from the start: greedy, each on the rest that those before leave. `of_cells`: causes that are known, for how parts of
/// groups share their time. REQUIRES: cells with means, candidates of entries.
[[nodiscard]] std::vector<OpCause> microbatch_causes(const Search& search, std::span<const OpCause> of_cells);

}  // namespace pipeloom::study::explain
