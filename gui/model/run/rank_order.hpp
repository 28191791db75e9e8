#pragma once

// In which order ranks stand on the chart, in all runs alike: by number, until some are moved.

#include <vector>

namespace pipeloom::gui {

class RankOrder {
 public:
  /// Whether ranks stand by number.
  [[nodiscard]] bool by_number() const { return order_.empty(); }
  void reset() { order_.clear(); }
  /// Takes a rank to a place counted from the top, 0 first; the ranks between move up or down by one. O(ranks).
  /// REQUIRES: 0 <= rank, place < ranks.
  void move(int rank, int place, int ranks);

  /// The ranks of a run that has so many, from the top: those that this order does not know stand behind, by number. O(ranks).
  template <class Visit>
  void for_each(int ranks, Visit&& visit) const {
    for (const int rank : order_)
      if (rank < ranks) visit(rank);
    for (int rank = static_cast<int>(order_.size()); rank < ranks; ++rank) visit(rank);
  }
  /// The same as a list.
  [[nodiscard]] std::vector<int> of(int ranks) const;

  /// Ranks from the top as far as they do not stand by number: each of 0 .. size - 1 once.
  [[nodiscard]] const std::vector<int>& listed() const { return order_; }
  /// False, and nothing changes, where `ranks` has not each of 0 .. size - 1 once.
  [[nodiscard]] bool take(std::vector<int> ranks);

  friend bool operator==(const RankOrder&, const RankOrder&) = default;

 private:
  void forget_ordered_end();
  std::vector<int> order_;
};

}  // namespace pipeloom::gui
