#pragma once

// Numbers for the tensors that ops exchange, so that "has it been produced, and when" is one array look-up.
//
//   [0, m)                 model inputs, always there: what F of stage 0 waits for
//   m + s m + k            output of F(s,k)
//   m + (S + s) m + k      gradient that B or I of (s,k) sends back
//   m + 2 S m + k          results nobody waits for (W)
//
// Every op waits for one tensor and writes one; both are `base + microbatch` with a base that depends on the op's kind and
// stage alone.

#include <cstddef>

#include "sim/op.hpp"

namespace pipeloom {

class TensorIndex {
 public:
  TensorIndex(int stages, int microbatches)
      : stages_(static_cast<std::size_t>(stages)), microbatches_(static_cast<std::size_t>(microbatches)) {}

  [[nodiscard]] std::size_t size() const { return (2 * stages_ + 2) * microbatches_; }
  /// Tensors below this number need no producer.
  [[nodiscard]] std::size_t first_produced() const { return microbatches_; }

  /// What an op of this kind and stage waits for, minus the microbatch.
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
    }
    return 0;
  }
  /// What it writes, minus the microbatch.
  [[nodiscard]] std::size_t output_base(OpKind kind, Stage stage) const {
    if (kind == OpKind::Forward) return activation(stage.at());
    return carries_gradient(kind) ? gradient(stage.at()) : gradient(stages_);
  }
  [[nodiscard]] std::size_t input_of(Op op) const {
    return input_base(op.kind(), op.stage()) + op.microbatch().at();
  }
  [[nodiscard]] std::size_t output_of(Op op) const {
    return output_base(op.kind(), op.stage()) + op.microbatch().at();
  }
  /// The op that writes a tensor; a gradient is reported as written by B, whichever of B and I it is.
  /// REQUIRES: first_produced() <= tensor < m + 2 S m.
  [[nodiscard]] Op producer_of(std::size_t tensor) const {
    const std::size_t row = tensor / microbatches_ - 1;
    const Microbatch k(static_cast<std::int32_t>(tensor % microbatches_));
    const bool is_gradient = row >= stages_;
    const Stage s(static_cast<std::int32_t>(is_gradient ? row - stages_ : row));
    return is_gradient ? backward(s, k) : forward(s, k);
  }

 private:
  [[nodiscard]] std::size_t activation(std::size_t s) const { return (1 + s) * microbatches_; }
  [[nodiscard]] std::size_t gradient(std::size_t s) const { return (1 + stages_ + s) * microbatches_; }

  std::size_t stages_;
  std::size_t microbatches_;
};

}  // namespace pipeloom
