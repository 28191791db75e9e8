#pragma once

// The best value over all orders of a tiny problem, by trying all of them.

#include <optional>

#include "sim/orders/problem.hpp"

namespace pipeloom::test {

/// Nothing where no order keeps the limits. Op by op, on any rank that can go on; of two beginnings with the same ops done, one that is
/// late nowhere makes the other needless.
[[nodiscard]] std::optional<Ticks> exhaustive_value(const orders::Problem& problem);

}  // namespace pipeloom::test
