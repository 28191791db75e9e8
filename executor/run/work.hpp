#pragma once

// Computations of ops. A back end runs instruction lists and moves tensors; a Work does what happens between receiving and sending:
// real layers (executor/layers/layers.hpp) or time that passes (executor/run/busy_work.hpp).

#include <memory>
#include <span>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"

namespace pipeloom::executor {

/// A tensor between two stages: an activation or its gradient, row by row. Empty: there is none.
struct Payload {
  std::vector<float> values;
  [[nodiscard]] std::size_t bytes() const { return values.size() * sizeof(float); }
  [[nodiscard]] bool is_empty() const { return values.empty(); }
};

/// Results of a rank for the step that it ran last, for a check of the whole.
struct RankGradients {
  std::vector<std::vector<float>>
      slots;                   ///< [index in Placement::slots_of(rank)] gradient of the slot's weights
  std::vector<double> losses;  ///< [unit], 0 where another rank ran its last forward
  bool is_reduced = false;     ///< slots hold sums over all replicas, not their own share
};

/// The computations of one rank. One thread calls it, except that two may run the parts of an overlapped group at once, and another one
/// copies (O, L) at the same time. No two ops of one pass run at once.
class RankWork {
 public:
  RankWork() = default;
  RankWork(const RankWork&) = delete;
  RankWork& operator=(const RankWork&) = delete;
  virtual ~RankWork() = default;

  /// Runs one op of this rank.
  ///
  ///   op     input                                            returns
  ///   F      output of F of stage-1; empty on stage 0         input of stage+1; empty on the last stage (it keeps its loss)
  ///   B, I   gradient from stage+1; empty on the last stage   gradient for stage-1; empty on stage 0
  ///   W      empty                                            empty; needs the I before it
  ///   R      empty                                            empty; makes again what F did not keep
  ///   O, L   empty                                            empty; activations leave for the host, and come back
  ///
  /// `step` counts from 0. Throws std::runtime_error if called in an order that no valid schedule has.
  virtual Payload run(Op op, int step, Payload input) = 0;
  /// Called after the last entry of a step, when all ranks have done theirs.
  virtual void end_step(int step) = 0;
  /// Most bytes of activations held at once so far, as the work counts them.
  [[nodiscard]] virtual std::size_t peak_bytes() const = 0;
  /// The gradient of a slot's weights, to be added up over replicas; `local` is an index in Placement::slots_of(rank). Empty of work
  /// without weights.
  [[nodiscard]] virtual std::span<float> weight_gradient(std::size_t /*local*/) { return {}; }
  /// Empty of work without weights.
  [[nodiscard]] virtual RankGradients gradients() const { return {}; }
};

/// True if an op takes a tensor from another stage, and if it gives one, in a schedule of `stages` stages: the table of RankWork::run().
[[nodiscard]] inline bool takes_tensor(Op op, int stages) {
  const int from = op.stage().value() + step_to_producer(op.kind());
  return from != op.stage().value() && from >= 0 && from < stages;
}
[[nodiscard]] inline bool gives_tensor(Op op, int stages) {
  const int to = op.stage().value() + step_to_consumer(op.kind());
  return to != op.stage().value() && to >= 0 && to < stages;
}

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;
  /// Elements of the tensor that a message carries.
  [[nodiscard]] virtual std::size_t message_elements(const Schedule& schedule, Op producer) const = 0;
  /// Bytes of one of them on its way.
  [[nodiscard]] virtual std::size_t element_bytes() const { return sizeof(float); }
  /// REQUIRES: the Work outlives it.
  [[nodiscard]] virtual std::unique_ptr<RankWork> rank_work(const Schedule& schedule, Rank rank) = 0;
};

}  // namespace pipeloom::executor
