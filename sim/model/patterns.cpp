#include "sim/model/patterns.hpp"

#include <algorithm>

#include "sim/model/weights.hpp"

namespace pipeloom::model {
namespace {

bool is_part(const Layer& layer) {
  const bool attention = has_attention(layer);
  const bool feed_forward = layer.mlp || layer.experts;
  return layer.mamba.has_value() || attention != feed_forward;
}

}  // namespace

bool is_encoder(const Layer& layer) {
  return layer.hidden != 0 || layer.tokens != 0 || !layer.before.empty() || has_projector(layer);
}

bool has_projector(const Layer& layer) {
  return !layer.behind.empty();
}

bool has_experts(const Model& model) {
  return std::any_of(model.kinds.begin(), model.kinds.end(),
                     [](const Layer& layer) { return layer.experts.has_value(); });
}

int encoder_layers(const Model& model) {
  return static_cast<int>(std::ranges::count_if(model.layers, [&](char letter) {
    const Layer* const layer = model.find(letter);
    return layer != nullptr && is_encoder(*layer);
  }));
}

bool is_hybrid(const Model& model) {
  return std::ranges::any_of(model.layers, [&](char letter) {
    const Layer* const layer = model.find(letter);
    return layer != nullptr && !is_encoder(*layer) && is_part(*layer);
  });
}

}  // namespace pipeloom::model
