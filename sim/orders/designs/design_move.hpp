#pragma once

// One random change of a design and its policy.

#include "sim/orders/designs/design.hpp"
#include "sim/orders/search/policy.hpp"
#include "sim/orders/search/random.hpp"

namespace pipeloom::orders {

/// The kind of a change: where only policy or copying changed, the problem is the same.
enum class Changed : std::uint8_t { Nothing, Policy, Copying, Design };

/// Changes design or policy, or leaves both where what was drawn cannot be done.
[[nodiscard]] Changed change_design(Design& design, Policy& policy, const DesignOptions& options,
                                    const Problem& problem, Random& random);

}  // namespace pipeloom::orders
