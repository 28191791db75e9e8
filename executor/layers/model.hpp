#pragma once

// A model whose every number follows from a seed: weights from stage and block, inputs and targets from the microbatch. So each rank
// makes its own share, and a run without a pipeline makes the same.
//
// A microbatch is `rows` rows of `width` numbers; a slice of it is a run of its rows. Without attention rows do not depend on each other;
// with it, those of a slice attend to themselves and to the slices before. The loss is half the squared distance of the last stage's
// output to the target, added over everything:
// gradients add up over slices, microbatches and replicas without any scaling.

#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/layers/attention.hpp"
#include "executor/layers/block.hpp"

namespace pipeloom::executor {

struct LayersConfig {
  int width = 64;
  int hidden = 256;
  int rows = 16;   ///< of one microbatch
  int blocks = 1;  ///< of one stage
  std::uint64_t seed = 1;
  Arithmetic arithmetic = Arithmetic::Float;
  int heads = 0;  ///< of the attention in every block; 0: there is none

  [[nodiscard]] BlockShape block() const {
    return {static_cast<std::size_t>(width), static_cast<std::size_t>(hidden), arithmetic,
            static_cast<std::size_t>(heads)};
  }
  friend bool operator==(const LayersConfig&, const LayersConfig&) = default;
};

/// The sizes of a schedule that the model depends on.
struct PipelineSizes {
  int stages = 1;
  int microbatches = 1;
  int slices = 1;
  friend bool operator==(const PipelineSizes&, const PipelineSizes&) = default;
};
[[nodiscard]] inline PipelineSizes sizes_of(const Schedule& schedule) {
  return {schedule.stages(), schedule.microbatches(), schedule.slices()};
}

/// Throws InputError where a size is below 1, a slice would have no row, the heads do not divide the width, or, in integer
/// arithmetic, where there is attention (a softmax of integers is none), hidden < 4 width, or a sum might pass 2^24, the
/// integers that a float can count to.
///
/// Integer arithmetic takes signed permutations, which neither grow nor fade however many stages there are. Of the columns
/// of W1 the first `width` are a signed permutation P, then come -P, I and -I, then zeros; the rows of W2 are I, -I, -I, I,
/// zeros; b1 = 0. As max(z, 0) - max(-z, 0) = z, the residual x is cancelled and y = P x + b2. With |x| <= 3 at the start, |b2| <= 1
/// and |target| <= 3, after L blocks |x| <= 3 + L, so |e| <= 6 + L, and e does not grow on its way back: where x[i] is not 0, one
/// of each pair max(z, 0), max(-z, 0) is active and dx = P^T e; where it is 0, none is and dx = e. A gradient adds N = rows microbatches
/// products, so the condition is N (3 + L)(6 + L) <= 2^24.
void require_possible(const LayersConfig& config, const PipelineSizes& sizes);

/// Keys and values of one stage for one microbatch, which its slices share: those of slice j are read by slices j, j + 1, ... on their way
/// forward and back (executor/layers/attention.hpp). [block][slice]; empty without attention.
using StageKeys = std::vector<std::vector<SliceKeys>>;

/// The keys of earlier slices, which a pass reads, and the place where it leaves its own.
struct Attended {
  StageKeys* keys = nullptr;  ///< null without attention
  int slice = 0;              ///< of the pass
};

/// True if the previous slice has gone forward.
[[nodiscard]] bool may_go_forward(const StageKeys& keys, int slice);
/// True if the next slice has gone backward, and has added its gradients.
[[nodiscard]] bool may_go_backward(const StageKeys& keys, int slice);

/// Bytes of the tensors of slices 0 .. `slice`, in all blocks.
[[nodiscard]] std::size_t bytes_up_to(const StageKeys& keys, int slice);
/// Frees all tensors: no slice will attend to them, or they will be made again.
void discard_all(StageKeys& keys);

/// The rows of one slice: [first, last).
struct RowRange {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};
[[nodiscard]] RowRange rows_of_slice(const LayersConfig& config, int slice, int slices);

/// Parameters of all blocks of a stage, one block after another, each as BlockShape::parameters() says.
[[nodiscard]] std::vector<float> stage_parameters(const LayersConfig& config, Stage stage);
/// The input of the first stage, and the target of the last one.
[[nodiscard]] Tensor input_rows(const LayersConfig& config, Microbatch microbatch, RowRange rows);
[[nodiscard]] Tensor target_rows(const LayersConfig& config, Microbatch microbatch, RowRange rows);

/// The keys of one stage for one microbatch in `slices` slices, before any is there.
[[nodiscard]] StageKeys no_keys_yet(const LayersConfig& config, int slices);

/// A stage's blocks in turn; one tape per block. Slices of a microbatch go forward in order and backward in the opposite order.
[[nodiscard]] Tensor stage_forward(const LayersConfig& config, std::span<const float> parameters, Tensor x,
                                   std::vector<BlockTape>& tapes, Attended attended = {});
[[nodiscard]] Tensor stage_input_gradient(const LayersConfig& config, std::span<const float> parameters,
                                          Tensor e, std::vector<BlockTape>& tapes, Attended attended = {});
/// Adds to `gradient`, and frees the tapes.
void stage_weight_gradient(const LayersConfig& config, std::vector<BlockTape>& tapes,
                           std::span<float> gradient);
/// Input and weight gradient block by block, so that only one block holds its gradients at a time. Frees the tapes.
[[nodiscard]] Tensor stage_backward(const LayersConfig& config, std::span<const float> parameters, Tensor e,
                                    std::vector<BlockTape>& tapes, std::span<float> gradient,
                                    Attended attended = {});

/// Makes y its distance to the target, the gradient of the loss; returns the loss.
[[nodiscard]] double squared_error(Tensor& y, std::span<const float> target);

}  // namespace pipeloom::executor
