#pragma once

// One computation of the pipeline: what, on which stage, for which microbatch.

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/ids.hpp"

namespace pipeloom {

/// Letters follow PyTorch: F, B, I, W. The zero-bubble papers write B for I and BW for B; that
/// dialect exists in text readers only.
enum class OpKind : std::uint8_t {
  Forward,         ///< F: activations of the stage
  Backward,        ///< B: gradients of input and weights in one go
  BackwardInput,   ///< I: gradient of the stage's input only, the part the previous stage waits for
  BackwardWeight,  ///< W: gradient of the weights, any time after I
};

inline constexpr std::size_t kOpKinds = 4;
inline constexpr std::array<OpKind, kOpKinds> kAllOpKinds = {OpKind::Forward, OpKind::Backward,
                                                             OpKind::BackwardInput, OpKind::BackwardWeight};

[[nodiscard]] constexpr std::size_t index_of(OpKind kind) {
  return static_cast<std::size_t>(kind);
}

/// 'F', 'B', 'I' or 'W'.
[[nodiscard]] constexpr char letter_of(OpKind kind) {
  return "FBIW"[index_of(kind)];
}

/// True for B and I: the op whose end lets the previous stage go backward.
[[nodiscard]] constexpr bool carries_gradient(OpKind kind) {
  return kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

/// An op, packed into 64 bits because a run may hold 1e8 of them.
///
///   bits  0..19  microbatch
///   bits 20..39  stage
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
  [[nodiscard]] constexpr bool joined() const { return (bits_ & kJoinedBit) != 0; }
  [[nodiscard]] constexpr Op with_joined(bool joined) const {
    Op op;
    op.bits_ = joined ? (bits_ | kJoinedBit) : (bits_ & ~kJoinedBit);
    return op;
  }
  /// Equal for equal ops, ordered by kind, stage, microbatch.
  [[nodiscard]] constexpr std::uint64_t key() const { return bits_ & ~kJoinedBit; }

  friend constexpr bool operator==(Op a, Op b) { return a.key() == b.key(); }
  friend constexpr auto operator<=>(Op a, Op b) { return a.key() <=> b.key(); }

 private:
  static constexpr int kStageShift = 20;
  static constexpr int kKindShift = 56;
  static constexpr std::uint64_t kIndexMask = (1U << 20) - 1;
  static constexpr std::uint64_t kJoinedBit = std::uint64_t{1} << 63;
  std::uint64_t bits_ = 0;
};

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

}  // namespace pipeloom
