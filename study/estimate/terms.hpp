#pragma once

// What the time of a step is made of, and where numbers are from.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/source.hpp"
#include "study/estimate/estimated_run.hpp"

namespace pipeloom::study {

/// Work of one kind on the busiest rank, in a whole step.
struct StepTerm {
  std::string name;  ///< "gemm", .., "reduction", "optimizer", "idle"
  double seconds = 0;
  double share = 0;                              ///< of the step
  std::array<int, hardware::kBases> found = {};  ///< how many numbers of one layer of each kind were found so
};

/// Terms that take time, as passes have them, then the step's end and what is left: idle time. They add up to the step under the barrier.
[[nodiscard]] std::vector<StepTerm> step_terms(const EstimatedRun& run);

/// Key or noun, and where its value is from: keys of the configuration first, then model, device and what times are.
[[nodiscard]] std::vector<cost::Origin> origins_of(const EstimatedRun& run);

}  // namespace pipeloom::study
