#pragma once

// Orders of many microbatches from orders of fewer: the middle of a good order often repeats a block of letters.

#include <cstddef>
#include <vector>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

/// Microbatches of a block that every word of the order has twice in a row, with each of its letters as often, ascending: up to a third of the order's
/// `microbatches`, and kMostPeriods numbers at most. None for orders with pairs. O(letters * microbatches).
[[nodiscard]] std::vector<std::size_t> periods_of(const Order& order, std::size_t microbatches);
inline constexpr std::size_t kMostPeriods = 4;

/// The order with `blocks` further blocks of `period` microbatches: in each rank's word the longest stretch that repeats a block goes on by them. Whether it
/// hangs or breaks a limit is not known then. REQUIRES: `period` is one of periods_of().
[[nodiscard]] Order extended(const Order& order, std::size_t period, std::size_t blocks);

}  // namespace pipeloom::orders
