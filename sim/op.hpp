#pragma once

// One computation of the pipeline: what, on which stage, for which microbatch.

#include <cstdint>

#include "sim/base/ids.hpp"
#include "sim/kind_masks.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {

/// An op, packed into 64 bits because a run may hold 1e8 of them.
///
///   bits  0..19  microbatch
///   bits 20..39  stage
///   bits 40..55  sequence slice + 1; 0 where microbatches are not sliced
///   bits 56..59  kind
///   bit  63      joined: the next op of the queue belongs to the same overlapped group
///
/// Equality and order ignore `joined`: it says where the op stands, not which op it is.
class Op {
 public:
  constexpr Op() = default;
  /// REQUIRES: 0 <= stage, microbatch < kMaxIndex.
  constexpr Op(OpKind kind, Stage stage, Microbatch microbatch)
      : bits_(static_cast<std::uint64_t>(microbatch.value()) |
              (static_cast<std::uint64_t>(stage.value()) << kStageShift) |
              (static_cast<std::uint64_t>(kind) << kKindShift)) {}

  [[nodiscard]] constexpr OpKind kind() const {
    return static_cast<OpKind>((bits_ >> kKindShift) & kKindMask);
  }
  [[nodiscard]] constexpr Stage stage() const {
    return Stage(static_cast<std::int32_t>((bits_ >> kStageShift) & kIndexMask));
  }
  [[nodiscard]] constexpr Microbatch microbatch() const {
    return Microbatch(static_cast<std::int32_t>(bits_ & kIndexMask));
  }
  /// The slice of the microbatch's sequence; 0 if it is not sliced.
  [[nodiscard]] constexpr int slice() const { return is_sliced() ? slice_bits() - 1 : 0; }
  [[nodiscard]] constexpr bool is_sliced() const { return slice_bits() != 0; }
  /// The same op for one slice. REQUIRES: 0 <= slice < kMaxSlices.
  [[nodiscard]] constexpr Op with_slice(int slice) const {
    Op op;
    op.bits_ =
        (bits_ & ~(kSliceMask << kSliceShift)) | (static_cast<std::uint64_t>(slice + 1) << kSliceShift);
    return op;
  }
  /// The op of another kind for the same stage, microbatch and slice; joined to nothing.
  [[nodiscard]] constexpr Op as(OpKind kind) const {
    Op op;
    op.bits_ = (key() & ~(kKindMask << kKindShift)) | (static_cast<std::uint64_t>(kind) << kKindShift);
    return op;
  }
  [[nodiscard]] constexpr bool joined() const { return (bits_ & kJoinedBit) != 0; }
  [[nodiscard]] constexpr Op with_joined(bool joined) const {
    Op op;
    op.bits_ = joined ? (bits_ | kJoinedBit) : (bits_ & ~kJoinedBit);
    return op;
  }
  /// Equal for equal ops, ordered by kind, slice, stage, microbatch.
  [[nodiscard]] constexpr std::uint64_t key() const { return bits_ & ~kJoinedBit; }

  friend constexpr bool operator==(Op a, Op b) { return a.key() == b.key(); }
  friend constexpr auto operator<=>(Op a, Op b) { return a.key() <=> b.key(); }

 private:
  [[nodiscard]] constexpr int slice_bits() const {
    return static_cast<int>((bits_ >> kSliceShift) & kSliceMask);
  }

  static constexpr int kStageShift = 20;
  static constexpr int kSliceShift = 40;
  static constexpr int kKindShift = 56;
  static constexpr std::uint64_t kKindMask = 0xF;
  static constexpr std::uint64_t kSliceMask = (1U << 16) - 1;
  static constexpr std::uint64_t kIndexMask = (1U << 20) - 1;
  static constexpr std::uint64_t kJoinedBit = std::uint64_t{1} << 63;
  std::uint64_t bits_ = 0;
};

/// Most slices that a sequence may be cut into.
inline constexpr int kMaxSlices = (1 << 16) - 1;

/// Short makers for generators and tests: forward(s, k) reads like the papers' F(s, k).
[[nodiscard]] constexpr Op forward(Stage s, Microbatch k) {
  return {OpKind::Forward, s, k};
}
[[nodiscard]] constexpr Op backward(Stage s, Microbatch k) {
  return {OpKind::Backward, s, k};
}
[[nodiscard]] constexpr Op backward_input(Stage s, Microbatch k) {
  return {OpKind::BackwardInput, s, k};
}
[[nodiscard]] constexpr Op backward_weight(Stage s, Microbatch k) {
  return {OpKind::BackwardWeight, s, k};
}
[[nodiscard]] constexpr Op recompute(Stage s, Microbatch k) {
  return {OpKind::Recompute, s, k};
}
[[nodiscard]] constexpr Op offload(Stage s, Microbatch k) {
  return {OpKind::Offload, s, k};
}
[[nodiscard]] constexpr Op reload(Stage s, Microbatch k) {
  return {OpKind::Reload, s, k};
}

}  // namespace pipeloom
