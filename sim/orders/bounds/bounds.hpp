#pragma once

// Lower bounds on the value of a Problem (sim/orders/order.hpp, value_of) over all orders that keep its
// limits. docs/model.md derives each.

#include <functional>
#include <string_view>
#include <vector>

#include "sim/orders/problem.hpp"

namespace pipeloom::orders {

struct Bound {
  std::string_view name;  ///< of the row that gave it
  Ticks value = 0;

  friend bool operator==(const Bound&, const Bound&) = default;
};

/// Every bound that has something to say of this problem, in the order of the table in bounds.cpp. Where a limit admits no order at all
/// the values mean nothing.
[[nodiscard]] std::vector<Bound> all_bounds(const Problem& problem);

/// The largest; of equal ones the first in the table. `reached`: the value of an order that is known; the rest of the table is not asked
/// once a bound is as large. `stopped`: asked now and then; true ends it with the largest so far. May be empty.
[[nodiscard]] Bound best_bound(const Problem& problem, Ticks reached = kMaxTicks,
                               const std::function<bool()>& stopped = {});

}  // namespace pipeloom::orders
