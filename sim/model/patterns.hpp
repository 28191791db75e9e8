#pragma once

// Which of a model's layers are an encoder's, and whether its decoder mixes kinds.

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// True if the layer is an encoder's: it has a width, a length or ends of its own.
[[nodiscard]] bool is_encoder(const Layer& layer);

/// True if products that make an encoder's states the decoder's follow the layer.
[[nodiscard]] bool has_projector(const Layer& layer);

/// Layers of encoders (vision, sound), which come first in Model::layers.
[[nodiscard]] int encoder_layers(const Model& model);

/// True if some layer routes tokens to experts.
[[nodiscard]] bool has_experts(const Model& model);

/// Whether some decoder layer is no whole transformer layer: a mixer or a feed-forward part alone, or a state-space layer. Frameworks then say the
/// order of layers as a pattern of letters.
[[nodiscard]] bool is_hybrid(const Model& model);

}  // namespace pipeloom::model
