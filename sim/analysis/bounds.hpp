#pragma once

// Lower bounds of the makespan over all orders.

#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/analysis/entry_chains.hpp"

namespace pipeloom {

/// The best proven bound over all orders with this placement, these entries and costs: on `makespan` under
/// `barrier`, on the period of the repeated schedule under `post-validation`.
///
/// head(op) and tail(op): longest chains of data dependencies before and after the op, queues ignored. For any set J
/// of one rank's entries, makespan >= min_J head + sum_J work + min_J tail (one-machine relaxation, Carlier 1982); the best J
/// is {head >= h, tail >= t} for some h and t, and these are searched. 33 for 1F1B, p = 4, m = 8, F = 1, B = 2.
///
/// Under `post-validation` each rank repeats its own work and optimizer every step, so the bound is the largest of those sums.
/// `reached`: the makespan of one of these orders, which no bound can pass; a bound that is as large needs no further search.
///
/// O(stages) where all microbatches are alike and run alone, else O(entries log entries), or O(entries) where a set of all entries of a rank
/// proves `reached`; see sim/analysis/bounds.hpp.
[[nodiscard]] LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps,
                                     Ticks reached = kMaxTicks);

// Longest chains of data dependencies before and after every entry. Queues do not count, for other orders would have others.

/// Entries of one rank with the same longest chain before their start (`head`) and after their end (`tail`).
struct ChainJob {
  Ticks head = 0;
  Ticks tail = 0;
  Ticks work = 0;     ///< their durations added up
  Ticks longest = 0;  ///< the longest of these

  friend bool operator==(const ChainJob&, const ChainJob&) = default;
};

/// Facts about the entries of one rank, taken together.
struct RankChains {
  bool any = false;   ///< true if there are entries
  Ticks head = 0;     ///< least
  Ticks tail = 0;     ///< least
  Ticks work = 0;     ///< all
  Ticks longest = 0;  ///< the longest head + duration + tail of an entry
  friend bool operator==(const RankChains&, const RankChains&) = default;
};

/// The chains of all entries but copies, which run beside their rank's work and lengthen chains only.
///
/// Where microbatches go alone (no groups, no copies), they are known from the stages: O(stages) where all microbatches are
/// alike, O(ops) else. Groups and copies take two walks over all queues (sim/analysis/entry_chains.hpp).
class Chains {
 public:
  /// Both must outlive it. Throws HangError if the schedule hangs and has groups or copies. REQUIRES: no structural errors.
  Chains(const Schedule& schedule, const Costs& costs);

  [[nodiscard]] RankChains of(Rank rank) const;
  /// Sorted by head, then tail, each pair of these once.
  [[nodiscard]] std::vector<ChainJob> jobs(Rank rank) const;

 private:
  /// Calls fn(job) for every entry, or for several at once.
  template <class Fn>
  void for_each_job(Rank rank, Fn&& fn) const;

  const Schedule& schedule_;
  const Costs& costs_;
  std::vector<std::vector<ChainJob>> jobs_;       // [rank] where microbatches go alone
  std::vector<std::vector<EntryChain>> entries_;  // [rank][entry] else
};

}  // namespace pipeloom
