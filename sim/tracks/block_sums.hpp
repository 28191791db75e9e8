#pragma once

// Sums over any stretch of a long row for little memory: those of everything in front of every 64th thing are kept.

#include <algorithm>
#include <cstddef>
#include <vector>

#include <pipeloom/units.hpp>

namespace pipeloom::tracks {

/// The first i of [low, high) for which `is` holds; it holds for all later ones too. `high` if there is none.
template <class Is>
std::size_t first_that(std::size_t low, std::size_t high, Is&& is) {
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// The same, quick where the answer is near `low`.
template <class Is>
std::size_t next_that(std::size_t low, std::size_t high, Is&& is) {
  std::size_t hop = 1;
  while (low < high && hop <= high - low && !is(low + hop - 1)) {
    low += hop;
    hop *= 2;
  }
  return first_that(low, std::min(high, low + hop), is);
}

/// The part of [start, end) inside of [from, to).
inline Ticks overlap(Ticks start, Ticks end, Ticks from, Ticks to) {
  return std::max<Ticks>(0, std::min(end, to) - std::max(start, from));
}

/// `Sums` is an array of ticks. add(sums, i) adds thing i to it, the same each time.
template <class Sums>
class BlockSums {
 public:
  BlockSums() = default;
  template <class Add>
  BlockSums(std::size_t size, Add&& add) {
    before_.reserve((size + kBlock - 1) / kBlock);
    Sums so_far{};
    for (std::size_t i = 0; i < size; ++i) {
      if (i % kBlock == 0) before_.push_back(so_far);
      add(so_far, i);
    }
  }

  /// The sums of things [0, i). REQUIRES: i <= size.
  template <class Add>
  [[nodiscard]] Sums up_to(std::size_t i, Add&& add) const {
    if (i == 0) return {};
    // The block that ends at or after thing i - 1 exists, one that starts at i may not.
    const std::size_t block = (i - 1) / kBlock;
    Sums sums = before_[block];
    for (std::size_t k = block * kBlock; k < i; ++k) add(sums, k);
    return sums;
  }
  [[nodiscard]] std::size_t memory_bytes() const { return before_.capacity() * sizeof(Sums); }
  static constexpr std::size_t kBlock = 64;

 private:
  std::vector<Sums> before_;  // [block]: of all things in front of thing block * kBlock
};

}  // namespace pipeloom::tracks
