#pragma once

// The search among policies.

#include <vector>

#include "sim/orders/search/chain.hpp"
#include "sim/orders/search/policy.hpp"

namespace pipeloom::orders {

/// Policies that fit many problems, in families of one kind, the best guesses of each first: how many microbatches a stage must have under way to be
/// never without work, from the times of a microbatch's way to the last stage and back; for several stages on a rank, caps that share the
/// limit out; and where a limit holds no full warm-up, levels (<sim/orders/search/levels.hpp>).
[[nodiscard]] std::vector<std::vector<Policy>> first_policies(const Problem& problem);

/// Work of playing a policy once, in ops that are timed: about three timings of the problem.
[[nodiscard]] std::int64_t play_cost(const Problem& problem);

/// Changes one policy at random, keeping better ones and, the earlier the likelier, worse ones. Gives the best of those that it met,
/// `most` at most, best first.
struct RankedPolicy {
  Policy policy;
  Ticks value = kMaxTicks;
  double mean = 0;
};
[[nodiscard]] RankedPolicy search_policies(const Problem& problem, const RankedPolicy& first, Chain& chain);

/// The same problem with fewer microbatches, where policies are tried faster; nothing where it would not be much smaller.
[[nodiscard]] std::optional<Problem> reduced(const Problem& problem);

}  // namespace pipeloom::orders
