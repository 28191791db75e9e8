#pragma once

// One order under small changes: an op moves within its rank's word, and only the ops after it in time are timed again.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/orders/search/mover.hpp"
#include "sim/orders/search/rows.hpp"

namespace pipeloom::orders {

class Retimer {
 public:
  /// `problem` must outlive it. REQUIRES: the order does not hang and keeps the limits.
  Retimer(const Problem& problem, const Order& order);

  /// value_of() of the present order.
  [[nodiscard]] Ticks value() const { return value_; }
  /// Mean over ranks of (last end - origin).
  [[nodiscard]] double mean_lateness() const { return mean_; }
  [[nodiscard]] Order order() const;

  /// One longest chain of ops without a gap that ends at the latest rank, from its end to its start. `choose()` is asked (any number)
  /// where the chain forks. O(length).
  template <class Choose>
  void critical_chain(std::vector<Place>& out, const Choose& choose) const;

  /// Moves the op at `from` to `to` on the same rank, those between by one the other way. False, and nothing has changed, where it may not
  /// pass the ops between, the limit does not hold, or the order would hang. Then accept() or undo() is called.
  [[nodiscard]] bool move(std::size_t rank, std::size_t from, std::size_t to);
  void undo();

  [[nodiscard]] std::size_t length(std::size_t rank) const { return words_[rank].size(); }
  /// Ops that were timed so far.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};
  struct Saved {
    Id op = 0;
    Ticks end = 0;
  };

  [[nodiscard]] std::size_t row_of(Id op) const { return op / microbatches_; }
  [[nodiscard]] Id producer_of(Id op) const;
  [[nodiscard]] bool may_pass(Id op, Id other) const;
  [[nodiscard]] bool keeps_limit_within(std::size_t rank, std::size_t first, std::size_t last) const;
  void update_held(std::size_t rank, std::size_t first, std::size_t last);
  void rotate(std::size_t rank, std::size_t from, std::size_t to);
  [[nodiscard]] bool retime(std::size_t rank, std::size_t first);
  void place_cursors(std::size_t rank, std::size_t first);
  [[nodiscard]] bool timed(Id op) const;
  bool run_rank(std::size_t rank);
  void restore();
  void sum_up();

  const Problem& problem_;
  std::uint32_t microbatches_;
  std::vector<Row> rows_;
  std::vector<std::vector<Id>> words_;    // [rank][place]
  std::vector<std::vector<Bytes>> held_;  // [rank][place]: before the op starts
  std::vector<std::uint32_t> place_;      // [op]
  std::vector<Ticks> end_;                // [op]
  std::vector<std::uint32_t> begin_;      // [rank]: where retiming began
  std::vector<std::uint32_t> cursor_;     // [rank]: next to be timed
  std::vector<Id> waits_for_;             // [rank]
  std::vector<std::uint32_t> ready_;
  std::vector<Saved> saved_;
  std::size_t moved_rank_ = 0;
  std::size_t moved_from_ = 0;
  std::size_t moved_to_ = 0;
  Ticks value_ = 0;
  double mean_ = 0;
  std::int64_t work_ = 0;
};

template <class Choose>
void Retimer::critical_chain(std::vector<Place>& out, const Choose& choose) const {
  out.clear();
  std::size_t latest = 0;
  for (std::size_t rank = 0; rank < words_.size(); ++rank)
    if (end_[words_[rank].back()] - problem_.origin[rank] == value_) latest = rank;
  Id op = words_[latest].back();
  while (op != kNone) {
    const Row& row = rows_[row_of(op)];
    out.push_back({row.rank, place_[op]});
    const Ticks start = end_[op] - row.duration;
    const Id before = place_[op] == 0 ? kNone : words_[row.rank][place_[op] - 1];
    const Id producer = producer_of(op);
    const bool by_rank = before != kNone && end_[before] == start;
    const bool by_tensor = producer != kNone && end_[producer] + row.delay == start;
    op = by_rank && (!by_tensor || choose() % 2 == 0) ? before : by_tensor ? producer : kNone;
  }
}

}  // namespace pipeloom::orders
