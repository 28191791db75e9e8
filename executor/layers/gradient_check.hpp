#pragma once

// The proof: gradients of a pipelined step against those of the same model run without a pipeline, in the order of its microbatches.

#include <span>
#include <string>
#include <vector>

#include "executor/layers/layers.hpp"

namespace pipeloom::executor {

struct Gradients {
  std::vector<std::vector<float>> stages;  ///< [stage], elements as stage_parameters() has them
  std::vector<double> losses;              ///< [unit]
};

/// Gradients of the ranks after a step: the gradient of a stage is the sum over its replicas, in their order; the ranks may have summed
/// already. Throws SystemError if they have and two replicas are not the same, bit for bit.
/// REQUIRES: ranks[r] is of layers.
[[nodiscard]] Gradients collect_gradients(const Schedule& schedule, std::span<const RankGradients> ranks);

/// Gradients without a pipeline, and how large they would be if nothing cancelled.
struct Reference {
  LayersConfig config;
  PipelineSizes sizes;
  Gradients gradients;
  /// sum |x y| where the gradient is sum x y; [stage][element].
  std::vector<std::vector<float>> magnitudes;

  /// How far a right gradient may be from `gradients`: 0 in integer arithmetic, else 2 g / (1 - g) times the magnitude, with
  /// g = N u / (1 - N u), u = 2^-24 and N = rows microbatches + 1.
  ///
  /// Why: a block's inputs for a microbatch are the same in both runs, bit for bit, since the same function computes them from the same
  /// numbers and shapes (tensor_math.hpp). That holds for slices that attend to each other too: in both runs they are the same, go
  /// forward in order, and add to the gradients of keys and values in the opposite order. Only the order differs in which the rows'
  /// products are added to a gradient: over microbatches, and over replicas last, which is one addition more. In any order the computed
  /// sum of N products is within g sum |x y| of the exact one (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1),
  /// so two orders are at most twice that apart; and the magnitude, computed likewise, is at least 1 - g of the exact sum |x y|.
  [[nodiscard]] double tolerance(std::size_t stage, std::size_t element) const;
};

/// Runs all stages one after another for each microbatch: its slices forward in order, then backward in the opposite order. Throws
/// InputError as require_possible() does, and where N > 2^20, above which the tolerance nears the gradients themselves.
[[nodiscard]] Reference reference_gradients(const LayersConfig& config, const PipelineSizes& sizes);

/// "" if every gradient is within its tolerance and every loss the same, else the first that is not:
/// "gradient of W1[2][3], block 0 of stage 1: 4; without a pipeline 5 (they may differ by 0)".
[[nodiscard]] std::string first_mismatch(const Reference& reference, const Gradients& gradients);

}  // namespace pipeloom::executor
