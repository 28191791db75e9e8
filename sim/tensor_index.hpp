#pragma once

// Numbers for the tensors that ops exchange, so that "has it been produced, and when" is one array look-up.
//
// u counts units: microbatches, or their slices (Schedule::unit_of), U of them.
//
//   [0, U)                 model inputs, always there: what F of stage 0 waits for
//   U + s U + u            output of F(s,u)
//   U + (S + s) U + u      gradient that B or I of (s,u) sends back
//   U + 2 S U + u          results nobody waits for (W, R, O, L)
//
// Every op waits for one tensor and writes one; both are `base + unit` with a base that depends on the op's kind and stage alone.
// What else an op waits for stands before it in its own rank's queue (its own F, its neighbour slice), except that a backward
// waits for the end of its L.

#include <cstddef>

#include "sim/schedule.hpp"

namespace pipeloom {

class TensorIndex {
 public:
  explicit TensorIndex(const Schedule& schedule)
      : stages_(static_cast<std::size_t>(schedule.stages())),
        slices_(static_cast<std::size_t>(schedule.slices())),
        units_(static_cast<std::size_t>(schedule.units())) {}

  [[nodiscard]] std::size_t size() const { return (2 * stages_ + 2) * units_; }
  /// Tensors below this number need no producer.
  [[nodiscard]] std::size_t first_produced() const { return units_; }

  /// What an op of this kind and stage waits for, minus the unit.
  [[nodiscard]] std::size_t input_base(OpKind kind, Stage stage) const {
    const std::size_t s = stage.at();
    switch (kind) {
      case OpKind::Forward:
        return s == 0 ? 0 : activation(s - 1);
      case OpKind::Backward:
      case OpKind::BackwardInput:
        return s + 1 == stages_ ? activation(s) : gradient(s + 1);
      case OpKind::BackwardWeight:
        return gradient(s);
      case OpKind::Recompute:
      case OpKind::Offload:
      case OpKind::Reload:
        return activation(s);
    }
    return 0;
  }
  /// What it writes, minus the unit.
  [[nodiscard]] std::size_t output_base(OpKind kind, Stage stage) const {
    if (kind == OpKind::Forward) return activation(stage.at());
    return carries_gradient(kind) ? gradient(stage.at()) : gradient(stages_);
  }
  [[nodiscard]] std::size_t input_of(Op op) const { return input_base(op.kind(), op.stage()) + unit_of(op); }
  [[nodiscard]] std::size_t output_of(Op op) const {
    return output_base(op.kind(), op.stage()) + unit_of(op);
  }
  /// The op that writes a tensor; a gradient is reported as written by B, whichever of B and I it is.
  /// REQUIRES: first_produced() <= tensor < U + 2 S U.
  [[nodiscard]] Op producer_of(std::size_t tensor) const {
    const std::size_t row = tensor / units_ - 1;
    const std::size_t unit = tensor % units_;
    const Microbatch k(static_cast<std::int32_t>(unit / slices_));
    const bool is_gradient = row >= stages_;
    const Stage s(static_cast<std::int32_t>(is_gradient ? row - stages_ : row));
    const Op producer = is_gradient ? backward(s, k) : forward(s, k);
    return slices_ == 1 ? producer : producer.with_slice(static_cast<int>(unit % slices_));
  }

 private:
  [[nodiscard]] std::size_t unit_of(Op op) const {
    return op.microbatch().at() * slices_ + static_cast<std::size_t>(op.slice());
  }
  [[nodiscard]] std::size_t activation(std::size_t s) const { return (1 + s) * units_; }
  [[nodiscard]] std::size_t gradient(std::size_t s) const { return (1 + stages_ + s) * units_; }

  std::size_t stages_;
  std::size_t slices_;
  std::size_t units_;
};

}  // namespace pipeloom
