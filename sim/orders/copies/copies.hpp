#pragma once

// Orders whose activations wait in the host's memory: what they come to with the copies that run beside them.
//
// Copies follow from the order as schedules/offload.hpp puts them: O behind the F of a pass, L a number of ops ahead of its I, both on the rank's
// one copy stream, in order of issue. So the times of an order with copies, and the bytes that a rank holds at each of them, are known when
// its words are (section 2 and 6 of docs/model.md).

#include <cstdint>
#include <optional>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

struct Copying {
  std::int32_t room = 3;      ///< passes of copied stages that a rank keeps room for while its order is made
  std::int32_t prefetch = 2;  ///< ops between the issue of a reload and its use

  friend bool operator==(const Copying&, const Copying&) = default;
};

/// The problem for who makes an order and knows nothing of copies: copied stages hold nothing from F to I, and every rank has less by the room for
/// so many of its largest pass that is copied, or as many as one microbatch leaves room for. It has no pairs.
[[nodiscard]] Problem eased(const Problem& problem, std::int32_t room);

struct CopiedRun {
  Ticks value = 0;  ///< as value_of()
  double mean = 0;  ///< over ranks of what `value` is the largest of
  /// The largest share by which a rank is over its limit at some time; 0 where all keep theirs.
  double over_limit = 0;
};

/// What the order comes to, without pairs; nothing where it hangs. O(ops log ops). REQUIRES: a problem whose backwards are cut.
[[nodiscard]] std::optional<CopiedRun> run_with_copies(const Problem& problem, const Order& order,
                                                       std::int32_t prefetch);

}  // namespace pipeloom::orders
