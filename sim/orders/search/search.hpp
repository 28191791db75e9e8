#pragma once

// The search for an order: bounds say when to stop, policies give orders, annealing changes them along their critical chains.
//
// Work is counted in ops that are timed, so that equal inputs give equal orders on any machine and any number of threads.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/orders/bounds/bounds.hpp"
#include "sim/orders/order.hpp"

namespace pipeloom::orders {

/// An order to begin with, which is never made worse: a published schedule's.
struct StartOrder {
  std::string name;
  Order order;
};

/// How far a search is.
struct SearchProgress {
  Ticks value = 0;  ///< best so far
  Ticks bound = 0;
  double done = 0;  ///< 0 to 1, of the work that is allowed
};

struct SearchOptions {
  /// Ops to be timed by one chain of policies and annealing together, and a quarter as many by one that follows orders; about 30 to 100
  /// million a second.
  std::int64_t work = 20'000'000;
  /// Ops to be timed of orders that begin with building blocks, where the placement is a V, before all else; 0: four times `work`.
  std::int64_t block_work = 0;
  /// As `work`, of the first of search_in_two(); 0: a sixteenth of `work`.
  std::int64_t first_work = 0;
  std::uint64_t seed = 1;
  int threads = 1;
  /// How many other orders of nearly the best value to keep. With any the search does all of its work, though an order be proven the best: what
  /// is sought then is how else they differ.
  std::size_t runners_up = 0;
  /// A value at which nothing better is sought, other than the bound. Without runners-up.
  Ticks enough = 0;
  /// Asked now and then from the calling thread; false ends the search with what it has. May be empty.
  std::function<bool(const SearchProgress&)> progress = {};
};

/// Runners-up take at most this many times the best.
inline constexpr double kNear = 1.02;

struct FoundOrder {
  Order order = {};
  Ticks value = kMaxTicks;
  Bound bound = {};  ///< the best of all_bounds(); "proof": all orders that could be shorter were tried
  std::string origin = {};  ///< a start's name, "block ..", "policy", "following", "annealing", "proof"
  bool proven = false;      ///< no order is better
  std::vector<Order> runners_up = {};  ///< best first, all different, within 2 % of the value
  /// (value - bound) / bound; 0 where the bound is 0.
  [[nodiscard]] double gap() const {
    return bound.value <= 0 ? 0 : static_cast<double>(value - bound.value) / static_cast<double>(bound.value);
  }
};

/// The best order found; nothing where a limit does not hold one microbatch, and where `progress` ends it before the first order. Starts that hang or break a limit are passed over.
[[nodiscard]] std::optional<FoundOrder> search_order(const Problem& problem,
                                                     const std::vector<StartOrder>& starts,
                                                     const SearchOptions& options);

/// The share that search_in_two() tells `progress` between both searches, once; it tells less in the first, and more in the second.
inline constexpr double kFirstPart = 0.1;

/// The same with a small share of the work first, in which many orders that are enough or can be proven are found, and then, where that is not so,
/// with all of it: the better of both. With runners-up, with all of it at once.
[[nodiscard]] std::optional<FoundOrder> search_in_two(const Problem& problem,
                                                      const std::vector<StartOrder>& starts,
                                                      const SearchOptions& options);

}  // namespace pipeloom::orders
