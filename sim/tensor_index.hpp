#pragma once

// Numbers for the tensors that ops exchange, so that "has it been produced, and when" is one array look-up.
//
// u counts units: microbatches, or their slices (Schedule::unit_of), U of them.
//
//   [0, U)                 model inputs, always there: what F of stage 0 waits for
//   U + s U + u            output of F(s,u)
//   U + (S + s) U + u      gradient that B or I of (s,u) sends back
//   U + 2 S U + u          results that no op waits for (W, R, O, L)
//
// Every op waits for one tensor and writes one; both are `base + unit` with a base that depends on the op's kind and stage alone.
// What else an op waits for stands before it in its own rank's queue (its own F, its neighbour slice), except that a backward
// waits for the end of its L.

#include <array>
#include <cstddef>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {

class TensorIndex {
 public:
  explicit TensorIndex(const Schedule& schedule)
      : stages_(static_cast<std::size_t>(schedule.stages())),
        slices_(static_cast<std::size_t>(schedule.slices())),
        units_(static_cast<std::size_t>(schedule.units())) {
    for (const KindRow& row : kKinds) {
      Kind& kind = kinds_[index_of(row.kind)];
      kind.input = row_at(row.waits_for) * units_;
      kind.output = row_at(row.makes) * units_;
      kind.output_step = row.makes.tensor == TensorKind::None ? 0 : units_;
      const bool turns = row.waits_for.tensor == TensorKind::Gradient && row.waits_for.stage == At::After;
      kind.last_input = turns ? activation(stages_ - 1) : kind.input + (stages_ - 1) * units_;
    }
  }

  [[nodiscard]] std::size_t size() const { return (2 * stages_ + 2) * units_; }
  /// Tensors below this number need no producer.
  [[nodiscard]] std::size_t first_produced() const { return units_; }

  /// What an op of this kind and stage waits for, minus the unit.
  [[nodiscard]] std::size_t input_base(OpKind kind, Stage stage) const {
    const Kind& of = kinds_[index_of(kind)];
    return stage.at() + 1 == stages_ ? of.last_input : of.input + stage.at() * units_;
  }
  /// Whether that is the output of another op, rather than there from the start or an order in the op's own queue.
  [[nodiscard]] bool needs_input(OpKind kind, Stage stage) const {
    return step_to_producer(kind) != 0 && input_base(kind, stage) >= units_;
  }
  /// What it writes, minus the unit.
  [[nodiscard]] std::size_t output_base(OpKind kind, Stage stage) const {
    const Kind& of = kinds_[index_of(kind)];
    return of.output + stage.at() * of.output_step;
  }
  /// Whether an op waits for it: on the next stage, or, for the last stage's activation, on its own unless no backward follows.
  [[nodiscard]] bool is_needed(OpKind kind, Stage stage, bool forward_only) const {
    const int step = step_to_consumer(kind);
    if (step > 0) return stage.at() + 1 < stages_ || !forward_only;
    return step < 0 && stage > Stage(0);
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
  /// The row of tensors that ops of stage 0 would have; rows follow as stages do. The row of tensors without a reader where there is none.
  [[nodiscard]] std::size_t row_at(TensorAt tensor) const {
    const int from_before = 1 + static_cast<int>(tensor.stage);
    const auto step = static_cast<std::size_t>(from_before);
    switch (tensor.tensor) {
      case TensorKind::Activation:
        return step;
      case TensorKind::Gradient:
        return stages_ + step;
      case TensorKind::None:
        break;
    }
    return 1 + 2 * stages_;
  }

  /// Tensors of stage 0 of a kind, minus the unit; of the last stage where the loss turns activations into gradients.
  struct Kind {
    std::size_t input = 0;
    std::size_t last_input = 0;
    std::size_t output = 0;
    std::size_t output_step = 0;  // a stage further
  };
  std::size_t stages_;
  std::size_t slices_;
  std::size_t units_;
  std::array<Kind, kOpKinds> kinds_;  // [kind]
};

}  // namespace pipeloom
