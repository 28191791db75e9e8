#pragma once

// What a microbatch leaves in memory between its forward and its backward, tensor by tensor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// A tensor that a module keeps from its forward on, and when it may go.
struct KeptTensor {
  std::string_view module;    ///< "attention", "mlp"
  std::string_view name;      ///< "q", "gelu input"
  double bytes = 0;           ///< per rank and microbatch
  bool until_weight = false;  ///< W needs it; else the input pass is its last user
};

/// Of what is frozen (Split::trainable) without the inputs of products; of adapters what A makes; where the backward does not reach, nothing.
/// Of one layer, in the order of its modules. None recomputed: all. Selective: without core attention's; full: the layer's input alone.
/// `modules` names what is recomputed besides, by the words of kRecomputeModules (sim/options.hpp). Source: Megatron-LM with Transformer Engine, as SimuMax's runs show it;
/// without flash attention Korthikanti et al., whose sum it has (but for statistics of norms).
[[nodiscard]] std::vector<KeptTensor> kept_tensors(const Model& model, const Layer& layer, const Split& split,
                                                   Recomputation recomputation,
                                                   const std::vector<std::string>& modules = {});

/// Gradients of products' outputs that the input pass leaves behind for the weights' pass, where that runs later.
[[nodiscard]] std::vector<KeptTensor> gradients_for_weight(const Model& model, const Layer& layer,
                                                           const Split& split);

/// One 16-bit tensor per distinct weight shape of these kinds of layers: stand-ins for gradients that Transformer Engine adds up in
/// fp32 elsewhere, and keeps.
[[nodiscard]] double stand_in_bytes(const Model& model, std::string_view letters, const Split& split);

}  // namespace pipeloom::model
