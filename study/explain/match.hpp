#pragma once

// Which measured times are of which predicted entries.

#include <vector>

#include "study/explain/model.hpp"
#include "study/explain/worlds.hpp"

namespace pipeloom::study::explain {

/// Measured times in the predicted schedule's entries, step by step. Throws InputError where an op is in one of the two only, or on another
/// rank.
[[nodiscard]] std::vector<Times> measured_times(const Wiring& wiring, const Timeline& measured);

/// A measured step in its own order, and where that is not the predicted one. Throws as order_by() does.
[[nodiscard]] MeasuredStep in_order(const Wiring& wiring, const Order& predicted, Times times);

/// Whether a step ran as predicted to the tick, at whatever time it began.
[[nodiscard]] bool is_as_predicted(const Times& predicted, const Times& measured);

}  // namespace pipeloom::study::explain
