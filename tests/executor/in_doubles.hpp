#pragma once

// The formulas of executor/layers/block.hpp and executor/layers/attention.hpp once more, in double precision and straight from the page, and finite
// differences of them.

#include <functional>
#include <span>
#include <vector>

#include "executor/layers/block.hpp"

namespace pipeloom::executor {

using Doubles = std::vector<double>;

[[nodiscard]] Doubles widened(std::span<const float> values);

/// y of one block for all rows of a microbatch, which is not cut into slices.
[[nodiscard]] Doubles through_block(const BlockShape& shape, const Doubles& p, const Doubles& x);

/// sum e y over all rows: its derivatives are what the backward functions return for the output gradient e.
[[nodiscard]] double weighted_output(const BlockShape& shape, const Doubles& p, const Doubles& x,
                                     const Doubles& e);

/// Central differences: their own error is about 1e-10 (step^2 times the third derivative, and rounding / step), so what remains is the
/// single precision of the functions under test, some 1e-6 of values near 1.
[[nodiscard]] Doubles differences(Doubles at, const std::function<double(const Doubles&)>& fn);

[[nodiscard]] double largest_gap(std::span<const float> found, const Doubles& wanted);

}  // namespace pipeloom::executor
