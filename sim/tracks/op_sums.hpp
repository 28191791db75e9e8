#pragma once

// Time that a rank ran each kind of op in any stretch of time, to the tick.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/kinds.hpp"
#include "sim/tracks/block_sums.hpp"

namespace pipeloom::tracks {

/// Busy ticks by op kind, [index_of(kind)].
using BusyByKind = std::array<Ticks, kOpKinds>;
[[nodiscard]] inline Ticks total(const BusyByKind& busy) {
  Ticks sum = 0;
  for (const Ticks ticks : busy) sum += ticks;
  return sum;
}

/// Ops that are drawn as one: the ops [first, last) of an overlapped group whose times are equal, or a single op.
struct DrawnGroup {
  std::size_t first = 0;
  std::size_t last = 0;
};
/// The group of the op at this position in timeline.start. O(ops of the group).
[[nodiscard]] DrawnGroup group_of(const Timeline& timeline, std::size_t op);

/// Ops of a rank's lane in one step, which run one after another.
class OpSums {
 public:
  /// O(ops of the queue). Keeps no reference.
  OpSums(const Timeline& timeline, Rank rank, Lane lane, int step);
  /// Adds the times within [from, to) to out[index_of(kind)]; returns how many ops overlap. Ops of a group take equal parts, the first
  /// ones the ticks left over. `timeline` as in the constructor. O(log ops).
  std::size_t add(const Timeline& timeline, Ticks from, Ticks to, std::span<Ticks> out) const;
  [[nodiscard]] std::size_t memory_bytes() const {
    return before_.memory_bytes() + order_.capacity() * sizeof(std::uint32_t);
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t i) const { return begin_ + (order_.empty() ? i : order_[i]); }

  std::size_t begin_ = 0;             // position of the rank's first op
  std::size_t size_ = 0;              // ops in the lane
  std::vector<std::uint32_t> order_;  // [i] is the place of op i in the queue; empty: i itself
  BlockSums<BusyByKind> before_;
};

}  // namespace pipeloom::tracks
