#pragma once

// The order of ranks on the chart, in all runs alike: by number, until some are moved.

#include <vector>

namespace pipeloom::gui {

class RankOrder {
 public:
  /// True if ranks are in order of their numbers.
  [[nodiscard]] bool by_number() const { return order_.empty(); }
  void reset() { order_.clear(); }
  /// Takes a rank to a place counted from the top, 0 first; the ranks between move up or down by one. O(ranks).
  /// REQUIRES: 0 <= rank, place < ranks.
  void move(int rank, int place, int ranks);

  /// Visits the ranks of a run of `ranks` ranks, from the top: those that this order does not know come last, by number. O(ranks).
  template <class Visit>
  void for_each(int ranks, Visit&& visit) const {
    for (const int rank : order_)
      if (rank < ranks) visit(rank);
    for (int rank = static_cast<int>(order_.size()); rank < ranks; ++rank) visit(rank);
  }
  /// The same as a list.
  [[nodiscard]] std::vector<int> of(int ranks) const;

  /// Ranks from the top as far as they are not in order of their numbers: each of 0 .. size - 1 once.
  [[nodiscard]] const std::vector<int>& listed() const { return order_; }
  /// False, and nothing changes, where `ranks` has not each of 0 .. size - 1 once.
  [[nodiscard]] bool take(std::vector<int> ranks);

  friend bool operator==(const RankOrder&, const RankOrder&) = default;

 private:
  void forget_ordered_end();
  std::vector<int> order_;
};

}  // namespace pipeloom::gui
