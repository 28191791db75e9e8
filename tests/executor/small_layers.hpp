#pragma once

// Layers small enough to run under every schedule, and their gradients without a pipeline.

#include <span>
#include <string>

#include "executor/layers/gradient_check.hpp"
#include "executor/layers/layers.hpp"

namespace pipeloom::executor {

/// 6 rows: 1, 2 or 3 slices of the same size.
[[nodiscard]] LayersConfig small(Arithmetic arithmetic);

/// 4 rows of width 5, hidden 7.
[[nodiscard]] LayersConfig tiny();

/// small() with attention, in floats. REQUIRES: heads is 1 or 3.
[[nodiscard]] LayersConfig small_with_attention(int heads);

/// Made once for all schedules of the same size. REQUIRES: `config` differs from small() in arithmetic, blocks and heads only.
[[nodiscard]] const Reference& reference_of(const LayersConfig& config, const PipelineSizes& sizes);

/// The first thing that is wrong with what ranks hold behind a step: a slot whose gradient is not the whole one of its stage, where
/// there are replicas to add up; a sum where there are none; "" if nothing is.
[[nodiscard]] std::string wrong_copy(const Schedule& schedule, const Reference& right,
                                     std::span<const RankGradients> ranks);

}  // namespace pipeloom::executor
