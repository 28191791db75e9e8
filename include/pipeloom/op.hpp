#pragma once

// One computation of the pipeline: its kind, stage and microbatch; and the indices that name these.
//
// One index type per meaning, so that a stage can never be passed where a rank is wanted. All count from 0 and fit in 20 bits (see
// kMaxIndex): an op packs into one 64-bit word.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

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
/// One of a rank's own stages, 0..v-1, in model order of their forwards.
using Chunk = Index<struct ChunkTag>;
/// A slice of the batch, 0..m-1, both directions of a bidirectional schedule counted together.
using Microbatch = Index<struct MicrobatchTag>;
/// A copy of the whole model along the pipeline: 0 except in bidirectional schedules (0 or 1).
using Replica = Index<struct ReplicaTag>;
/// One stage of one replica: slot = replica * S + stage. Every slot lives on exactly one rank.
using Slot = Index<struct SlotTag>;

/// Letters follow PyTorch: F, B, I, W. The zero-bubble papers write B for I and BW for B; only
/// text readers know that dialect.
enum class OpKind : std::uint8_t {
  Forward,         ///< F: activations of the stage
  Backward,        ///< B: gradients of input and weights in one go
  BackwardInput,   ///< I: gradient of the stage's input only, the part the previous stage waits for
  BackwardWeight,  ///< W: gradient of the weights, any time after I
  Recompute,       ///< R: the forward once more, just before its backward, because F kept a stash only
  Offload,         ///< O: copy the activations of F to the host, on the rank's copy stream
  Reload,          ///< L: load them back before B or I, on the copy stream
  Output,  ///< S: the stage's share of the output layer, which is spread over all stages: logits and loss
  OutputWeight,  ///< T: the same share's gradients, once all stages' S are done
};

inline constexpr std::size_t kOpKinds = 9;
inline constexpr std::array<OpKind, kOpKinds> kAllOpKinds = {
    OpKind::Forward, OpKind::Backward, OpKind::BackwardInput, OpKind::BackwardWeight, OpKind::Recompute,
    OpKind::Offload, OpKind::Reload,   OpKind::Output,        OpKind::OutputWeight};

[[nodiscard]] constexpr std::size_t index_of(OpKind kind) {
  return static_cast<std::size_t>(kind);
}

/// Op has four bits for its kind, so that two bytes are enough.
class KindSet {
 public:
  constexpr KindSet() = default;
  constexpr KindSet(std::initializer_list<OpKind> kinds) {
    for (const OpKind kind : kinds) add(kind);
  }
  constexpr void add(OpKind kind) { bits_ = static_cast<std::uint16_t>(bits_ | 1U << index_of(kind)); }
  [[nodiscard]] constexpr bool has(OpKind kind) const { return (bits_ >> index_of(kind) & 1U) != 0; }
  [[nodiscard]] constexpr bool any_of(KindSet other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(KindSet, KindSet) = default;

 private:
  std::uint16_t bits_ = 0;  // bit index_of(kind)
};

/// An op, packed into 64 bits because a run may hold 1e8 of them.
///
///   bits  0..19  microbatch
///   bits 20..39  stage
///   bits 40..55  sequence slice + 1; 0 where microbatches are not sliced
///   bits 56..59  kind
///   bit  62      in turn: written as one group with the next op of the queue, which runs after it
///   bit  63      joined: the next op of the queue belongs to the same overlapped group
///
/// Equality and order ignore `joined` and `in_turn`: they describe the op's place in a queue, not which op it is.
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
  [[nodiscard]] constexpr bool in_turn() const { return (bits_ & kTurnBit) != 0; }
  [[nodiscard]] constexpr Op with_turn(bool in_turn) const {
    Op op;
    op.bits_ = in_turn ? (bits_ | kTurnBit) : (bits_ & ~kTurnBit);
    return op;
  }
  /// Equal for equal ops, ordered by kind, slice, stage, microbatch.
  [[nodiscard]] constexpr std::uint64_t key() const { return bits_ & ~(kJoinedBit | kTurnBit); }

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
  static constexpr std::uint64_t kTurnBit = std::uint64_t{1} << 62;
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
[[nodiscard]] constexpr Op output(Stage s, Microbatch k) {
  return {OpKind::Output, s, k};
}
[[nodiscard]] constexpr Op output_weight(Stage s, Microbatch k) {
  return {OpKind::OutputWeight, s, k};
}

/// "3I7".
[[nodiscard]] std::string to_text(Op op);

/// Reads "3I7" or "3I7.2" exactly: no spaces, no leading zeros beyond a single 0, nothing after it. Numbers at
/// or above kMaxIndex do not parse.
[[nodiscard]] std::optional<Op> parse_op(std::string_view text);

}  // namespace pipeloom
