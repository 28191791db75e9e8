#pragma once

// One computation of the pipeline: what, on which stage, for which microbatch.

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/base/ids.hpp"

namespace pipeloom {

/// Letters follow PyTorch: F, B, I, W. The zero-bubble papers write B for I and BW for B; that
/// dialect exists in text readers only.
enum class OpKind : std::uint8_t {
  Forward,         ///< F: activations of the stage
  Backward,        ///< B: gradients of input and weights in one go
  BackwardInput,   ///< I: gradient of the stage's input only, the part the previous stage waits for
  BackwardWeight,  ///< W: gradient of the weights, any time after I
  Recompute,       ///< R: the forward once more, just before its backward, because F kept a stash only
  Offload,         ///< O: copy the activations of F to the host, on the rank's copy stream
  Reload,          ///< L: load them back before B or I, on the copy stream
};

inline constexpr std::size_t kOpKinds = 7;
inline constexpr std::array<OpKind, kOpKinds> kAllOpKinds = {
    OpKind::Forward,   OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight,
    OpKind::Recompute, OpKind::Offload,  OpKind::Reload};

[[nodiscard]] constexpr std::size_t index_of(OpKind kind) {
  return static_cast<std::size_t>(kind);
}

/// 'F', 'B', 'I', 'W', 'R', 'O' or 'L'.
[[nodiscard]] constexpr char letter_of(OpKind kind) {
  return "FBIWROL"[index_of(kind)];
}

/// True for B and I: the op whose end lets the previous stage go backward.
[[nodiscard]] constexpr bool carries_gradient(OpKind kind) {
  return kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

/// True for O and L: they stand in the rank's queue where they are issued, but run on its copy stream, one after another, and
/// the entries behind them do not wait for their end (B and I of a reloaded activation wait for its L).
[[nodiscard]] constexpr bool is_copy(OpKind kind) {
  return kind == OpKind::Offload || kind == OpKind::Reload;
}

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

  [[nodiscard]] constexpr OpKind kind() const { return static_cast<OpKind>((bits_ >> kKindShift) & 0xF); }
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
