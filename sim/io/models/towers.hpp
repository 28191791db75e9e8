#pragma once

// Vision and audio towers of Hugging Face's multimodal configurations.

#include <span>
#include <string_view>

#include "sim/io/models/fields.hpp"
#include "sim/model/model.hpp"

namespace pipeloom::io::models {

/// Each puts the tower of `fields` in front of the decoder that `out` has already, with its patch embedding (convolutions) before its first layer
/// and the projector behind its last. REQUIRES: out.hidden and out.layers are read. Throws InputError for a tower that is not known, with those that
/// are.

/// LLaVA: `vision_config` of CLIP or SigLIP, and a projector of two products.
void add_llava_tower(Fields& fields, model::Model& out);
/// Qwen2-VL, Qwen2.5-VL and Qwen3-VL, whose images have any size: `vision_config.image_size` says it, else one of 896 x 1120 pixels is assumed, with a
/// warning.
void add_qwen2_vl_tower(Fields& fields, model::Model& out);
void add_qwen2_5_vl_tower(Fields& fields, model::Model& out);
void add_qwen3_vl_tower(Fields& fields, model::Model& out);
void add_qwen3_5_tower(Fields& fields, model::Model& out);
/// Gemma 3: SigLIP, and a projector of one product behind a mean of patches.
void add_gemma3_tower(Fields& fields, model::Model& out);
/// Mistral 3: Pixtral, whose neighbouring patches are merged. `vision_config.image_size` is the largest image; it is assumed, with a warning.
void add_mistral3_tower(Fields& fields, model::Model& out);
/// Kimi K2.5: MoonViT.
void add_kimi_tower(Fields& fields, model::Model& out);
/// Llama 4.
void add_llama4_tower(Fields& fields, model::Model& out);
/// Qwen2-Audio: `audio_config` of Whisper's encoder.
void add_qwen2_audio_tower(Fields& fields, model::Model& out);

}  // namespace pipeloom::io::models
