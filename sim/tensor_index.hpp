#pragma once

// Numbers for the tensors that ops exchange, so that "has it been produced, and when" is one array look-up.
//
// u counts units: microbatches, or their slices (Schedule::unit_of), U of them.
//
//   [0, U)                 model inputs, always there: F of stage 0 waits for them
//   U + s U + u            output of F(s,u)
//   U + (S + s) U + u      gradient that B or I of (s,u) sends back
//   U + 2 S U + u          results that no op waits for (W, R, O, L)
//   2 U + 2 S U + u        sum over the outputs of S of all stages (Schedule::shares_output)
//   3 U + 2 S U + u        sum over the outputs of T of all stages
//
// Every op waits for one tensor and writes one; both are `base + unit` with a base that depends on the op's kind and stage alone. A tensor has one
// writer and one reader, but for the shared ones: a sum has a part from every stage and is there when all are, and all stages read it, and the
// last stage's activation where they share the output layer.
// Everything else that an op waits for comes before it in its own rank's queue (its own F, its neighbour slice), except that a backward
// waits for the end of its L.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <pipeloom/schedule.hpp>
#include "sim/base/table_size.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {

/// The kind of op whose end turns the last stage to its backwards: F, its own, after which it comes; S where all stages share the output
/// layer, whose sum holds the gradient; T of all stages where, on the last stage, a T comes before the B or I of its microbatch (two sums, one after
/// the other).
[[nodiscard]] OpKind turning_kind(const Schedule& schedule);

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
      kind.output_step = row.makes.tensor == TensorKind::None || row.makes.stage == At::All ? 0 : units_;
      kind.input_step = row.waits_for.stage == At::Last || row.waits_for.stage == At::All ? 0 : units_;
      kind.last_input = kind.input + (stages_ - 1) * kind.input_step;
    }
    const KindRow& turning = row_of(turning_kind(schedule));
    const std::size_t turns =
        turning.kind == OpKind::Forward ? activation(stages_ - 1) : row_at(turning.makes) * units_;
    for (const OpKind kind : {OpKind::Backward, OpKind::BackwardInput})
      kinds_[index_of(kind)].last_input = turns;
    if (schedule.shares_output()) first_shared_ = row_at({TensorKind::Output, At::All}) * units_;
  }

  [[nodiscard]] std::size_t size() const { return table_size(2 * stages_ + 2 + kSums, units_); }
  /// Tensors below this number need no producer.
  [[nodiscard]] std::size_t first_produced() const { return units_; }

  /// Tensor number that an op of this kind and stage waits for, minus the unit.
  [[nodiscard]] std::size_t input_base(OpKind kind, Stage stage) const {
    const Kind& of = kinds_[index_of(kind)];
    return stage.at() + 1 == stages_ ? of.last_input : of.input + stage.at() * of.input_step;
  }
  /// True if that is the output of another op, rather than there from the start or an order in the op's own queue.
  [[nodiscard]] bool needs_input(OpKind kind, Stage stage) const {
    return (step_to_producer(kind) != 0 || kOutputKinds.has(kind)) && input_base(kind, stage) >= units_;
  }
  /// Tensor number that it writes, minus the unit.
  [[nodiscard]] std::size_t output_base(OpKind kind, Stage stage) const {
    const Kind& of = kinds_[index_of(kind)];
    return of.output + stage.at() * of.output_step;
  }
  /// Tensors that several ops read, and perhaps write, by what they are to all stages: the last stage's activation, the sum over S, over T.
  static constexpr int kShared = 3;
  /// The number of the shared tensor, by its tensor number minus the unit; nullopt for those with one writer and one reader.
  [[nodiscard]] std::optional<int> shared_row(std::size_t base) const {
    if (first_shared_ == 0) return std::nullopt;
    if (base == activation(stages_ - 1)) return 0;
    return base < first_shared_ ? std::nullopt
                                : std::optional(1 + static_cast<int>((base - first_shared_) / units_));
  }
  /// Number of ops that write a part of a unit of it.
  [[nodiscard]] std::int32_t writers(int shared) const {
    return shared == 0 ? 1 : static_cast<std::int32_t>(stages_);
  }
  /// True if an op waits for the output: on the next stage, or, for the last stage's activation, on its own unless no backward follows.
  [[nodiscard]] bool is_needed(OpKind kind, Stage stage, bool forward_only) const {
    const int step = step_to_consumer(kind);
    if (step > 0) return stage.at() + 1 < stages_ || !forward_only;
    return step < 0 && stage > Stage(0);
  }
  [[nodiscard]] std::size_t input_of(Op op) const { return input_base(op.kind(), op.stage()) + unit_of(op); }
  [[nodiscard]] std::size_t output_of(Op op) const {
    return output_base(op.kind(), op.stage()) + unit_of(op);
  }
  /// The op that writes a tensor; a gradient is reported as written by B, whichever of B and I it is, a sum as written by stage 0.
  /// REQUIRES: first_produced() <= tensor, and an op writes it.
  [[nodiscard]] Op producer_of(std::size_t tensor) const {
    const std::size_t row = tensor / units_ - 1;
    const std::size_t unit = tensor % units_;
    const Op producer = producer_at(row, Microbatch(static_cast<std::int32_t>(unit / slices_)));
    return slices_ == 1 ? producer : producer.with_slice(static_cast<int>(unit % slices_));
  }

 private:
  [[nodiscard]] std::size_t unit_of(Op op) const {
    return op.microbatch().at() * slices_ + static_cast<std::size_t>(op.slice());
  }
  [[nodiscard]] Op producer_at(std::size_t row, Microbatch k) const {
    const auto stage = [](std::size_t s) { return Stage(static_cast<std::int32_t>(s)); };
    if (row < stages_) return forward(stage(row), k);
    if (row < 2 * stages_) return backward(stage(row - stages_), k);
    return row == 2 * stages_ + 1 ? output(Stage(0), k) : output_weight(Stage(0), k);
  }
  [[nodiscard]] std::size_t activation(std::size_t s) const { return (1 + s) * units_; }
  /// The row of tensors that ops of stage 0 would have; rows follow as stages do. The row of tensors without a reader where there is none.
  [[nodiscard]] std::size_t row_at(TensorAt tensor) const {
    const int from_before = 1 + step_to(tensor.stage);
    const auto step = static_cast<std::size_t>(from_before);
    switch (tensor.tensor) {
      case TensorKind::Activation:
        return tensor.stage == At::Last ? stages_ : step;
      case TensorKind::Gradient:
        return stages_ + step;
      case TensorKind::Output:
        return 2 + 2 * stages_;
      case TensorKind::OutputGradient:
        return 3 + 2 * stages_;
      case TensorKind::None:
        break;
    }
    return 1 + 2 * stages_;
  }

  /// Tensors of stage 0 of a kind, minus the unit; of the last stage where the loss turns activations into gradients.
  struct Kind {
    std::size_t input = 0;
    std::size_t input_step = 0;
    std::size_t last_input = 0;
    std::size_t output = 0;
    std::size_t output_step = 0;  // a stage further
  };
  static constexpr std::size_t kSums = 2;  // rows after those of the results without a reader

  std::size_t stages_;
  std::size_t slices_;
  std::size_t units_;
  std::size_t first_shared_ = 0;      // the first sum; 0: no output layer is shared
  std::array<Kind, kOpKinds> kinds_;  // [kind]
};

}  // namespace pipeloom
