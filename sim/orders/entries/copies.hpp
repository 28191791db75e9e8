#pragma once

// Orders whose activations wait in the host's memory: when their copies are issued, and how much room is kept for them.
//
// Copies follow from the order as schedules/offload.hpp puts them: O after the F of a pass, L a number of entries ahead of its I, both on the
// rank's one copy stream, in order of issue. So the times of an order with copies, and the bytes that a rank holds at each of them, are known
// when its words are (entry_times.hpp).

#include <cstdint>

#include "sim/orders/problem.hpp"

namespace pipeloom::orders {

struct Copying {
  std::int32_t room = 3;      ///< passes of copied stages that a rank keeps room for while its order is made
  std::int32_t prefetch = 2;  ///< entries between the issue of a reload and its use

  friend bool operator==(const Copying&, const Copying&) = default;
};

/// Reloads are issued at most this number of entries ahead of their use.
inline constexpr std::int32_t kMostAhead = 16;

/// The problem for who makes an order and knows nothing of copies and forwards that run again: copied stages hold nothing from F to I, and every rank
/// has less by the room for a number of its largest pass that is copied, or as many as one microbatch leaves room for. Where that leaves none for what
/// a W keeps beside what is kept free for R, it is as if W ran right after its I, in the room of its R.
[[nodiscard]] Problem eased(const Problem& problem, std::int32_t room);

}  // namespace pipeloom::orders
