#pragma once

// A proof that no order is shorter, or an order that is: all active orders are tried, but those that cannot be better.
//
// An order is active where no op could begin earlier without another beginning later. For one stage on each rank, of which I and W hold no
// more than F took, one of the active orders is best: moving an op to the left never breaks a limit, as the only op that takes memory is the
// stage's next F. Giffler and Thompson 1960 (Operations Research 8): of all ops that could be next, take the one that could end first; only
// those of its rank that could begin before that end need be tried next on this rank.
//
// Left out: states from which a rank cannot end in time, by the preemptive one-machine bound of Jackson's rule over what it has left, with
// the earliest start and the least tail of every op; and states in which everything has come as far as in one that was seen before, no op of
// which ended later.

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

struct ProofOptions {
  std::int64_t states = 1'000'000;  ///< to be looked at; each about 5 microseconds at 4 ranks
  /// Asked now and then; false ends it. May be empty.
  std::function<bool()> goes_on = {};
};

struct Proof {
  bool complete = false;  ///< no order is shorter than the shorter of `order` and the value that was given
  std::optional<Order> order = {};  ///< the best found below that value
  Ticks value = kMaxTicks;          ///< its own
  std::int64_t states = 0;          ///< looked at
};

/// True if prove() is for such problems: one stage on each rank, none of which keeps more after I than before, at most kMostProven ops.
[[nodiscard]] bool can_be_proven(const Problem& problem);
inline constexpr std::size_t kMostProven = 600;

/// True if there is an order below `value`. REQUIRES: can_be_proven(problem); an order keeps the limits.
[[nodiscard]] Proof prove(const Problem& problem, Ticks value, const ProofOptions& options);

}  // namespace pipeloom::orders
