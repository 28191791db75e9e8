#pragma once

// The terms of the time of a step, and where numbers are from.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/source.hpp"
#include "study/estimate/estimated_run.hpp"

namespace pipeloom::study {

/// Work of one kind on the busiest rank, in a whole step.
struct StepTerm {
  std::string
      name;  ///< "gemm", .., "reduction", "optimizer", "idle"; "stated" where the input says what passes take
  double seconds = 0;
  double share = 0;                              ///< of the step
  std::array<int, hardware::kBases> found = {};  ///< how many numbers of one layer of each kind were found so
};

/// The time of a pass of a stage in the end: what the input states, else what was estimated. Before scales of ranks and microbatches.
/// `kind`: F, I, W, and where all stages share the head S and T.
[[nodiscard]] Ticks pass_ticks(const EstimatedRun& run, std::size_t stage, OpKind kind);
/// The rank whose work takes longest.
[[nodiscard]] Rank busiest_rank(const EstimatedRun& run);

/// Terms that take time, as passes have them, then the step's end and what is left: idle time. They add up to the step under the barrier.
[[nodiscard]] std::vector<StepTerm> step_terms(const EstimatedRun& run);

/// Key or noun, and where its value is from: keys of the configuration first, then model, device and what times are.
[[nodiscard]] std::vector<cost::Origin> origins_of(const EstimatedRun& run);

}  // namespace pipeloom::study
