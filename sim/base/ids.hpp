#pragma once

// Index types: one type per meaning, so that a stage can never be passed where a rank is wanted.
//
// All indices count from 0 and fit in 20 bits (see kMaxIndex): an op key packs into one 64-bit word.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace pipeloom {

/// Largest number of ranks, stages or microbatches that a schedule may have.
inline constexpr std::int32_t kMaxIndex = 1 << 20;

/// A 0-based index that converts to no other index type. `Tag` only tells the types apart.
template <class Tag>
class Index {
 public:
  constexpr Index() = default;
  constexpr explicit Index(std::int32_t value) : value_(value) {}

  [[nodiscard]] constexpr std::int32_t value() const { return value_; }
  /// The index as an array subscript. REQUIRES: value() >= 0.
  [[nodiscard]] constexpr std::size_t at() const { return static_cast<std::size_t>(value_); }

  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr Index operator+(Index index, std::int32_t step) { return Index(index.value_ + step); }
  friend constexpr Index operator-(Index index, std::int32_t step) { return Index(index.value_ - step); }
  friend constexpr auto operator<=>(Index, Index) = default;

 private:
  std::int32_t value_ = 0;
};

/// A pipeline device, 0..p-1.
using Rank = Index<struct RankTag>;
/// A piece of the model in model order, 0..S-1, the same number on every rank that holds a copy.
using Stage = Index<struct StageTag>;
/// Which of a rank's own stages, 0..v-1, in model order of their forwards.
using Chunk = Index<struct ChunkTag>;
/// A slice of the batch, 0..m-1, both directions of a bidirectional schedule counted together.
using Microbatch = Index<struct MicrobatchTag>;
/// A copy of the whole model along the pipeline: 0 except in bidirectional schedules (0 or 1).
using Replica = Index<struct ReplicaTag>;
/// One stage of one replica: slot = replica * S + stage. Every slot lives on exactly one rank.
using Slot = Index<struct SlotTag>;

}  // namespace pipeloom
