#pragma once

// Bytes of a rank: shards of parameters, tensors that wait for their backward, and buffers of passes while they run.
//
// Per parameter, bf16 with Adam and gradients added up in fp32 (ecosystem of Megatron-LM): 2 weights, 4 gradients, 12 optimizer (master copy and two
// moments). ZeRO shares out over the replicas, experts over those that hold the same ones: 1 the optimizer's, 2 the gradients too, 3 the weights and the
// optimizer's. Under 3 the weights' shard is the fp32 master itself; while the step runs each stage is gathered whole in bf16 and adds up whole gradients,
// as FSDP in pipelines of PyTorch does, which reduces them once. Without a pipeline FSDP gathers layer by layer: the layer that runs and the next one are
// there in bf16, and embedding and head; gradients are shards but for those of a layer, in bf16 and in the width that they are reduced in.
//
// Temporaries, as measured on Megatron-LM with Transformer Engine (docs/accuracy.md has the rows): one bf16 tensor for each distinct shape of a
// weight in the stage's layers, where gradients of weights are added up inside the product; on the last stage the head's weight once more and
// 3 x 2 T h / t, with tensor ranks 2 x 2 T h gathered; on others the backward of the widest feed-forward part, 2 x 2 T f / t. Where all stages share the
// head, the larger of both, with the stage's share of the weight.

#include <cstdint>
#include <string>

#include "sim/estimate/estimate.hpp"

namespace pipeloom::estimate {

/// Bytes that a layer adds to those that its stage holds for a microbatch.
struct LayerBytes {
  double until_input = 0;
  double until_weight = 0;
  double stash = 0;       ///< of these, the bytes that a recomputed forward keeps
  double recomputed = 0;  ///< bytes that come back for a moment where modules, or all, run again
  double backward = 0;    ///< bytes that its backward needs in addition
  double routing = 0;     ///< buffers of tokens on their way to experts, of the rank
};

/// The same of a stage: sums, and largest moments.
struct StageSum {
  LayerBytes bytes = {};
  std::string letters = {};  ///< of its layers, each once
  std::int64_t widest = 0;   ///< parameters of its largest layer
  void add(char letter, const LayerBytes& layer, int count);
};

[[nodiscard]] LayerBytes layer_bytes(const Setting& setting, const model::Layer& layer);
/// Fills in Stage::bytes and stash, and adds embedding, final norm and head to the parameters. REQUIRES: everything else is set in `out`.
void finish_bytes(const Setting& setting, const StageSum& sum, bool is_last, Stage& out);
/// Bytes of a message from stage to stage.
[[nodiscard]] Bytes message_bytes(const Setting& setting);

}  // namespace pipeloom::estimate
