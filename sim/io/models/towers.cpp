// Keys and their defaults are those of the transformers library's configuration classes, sizes those of its modules.

#include "sim/io/models/towers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>

namespace pipeloom::io::models {
namespace {

using model::NormKind;
using model::Product;

constexpr std::int64_t kMostWidth = std::int64_t{1} << 24;
constexpr std::int64_t kMostSide = std::int64_t{1} << 12;    ///< of a patch; four of them fit into 63 bits
constexpr std::int64_t kMostPixels = std::int64_t{1} << 16;  ///< of an image's side
constexpr std::int64_t kMostLayers = 4096;

/// Height and width.
struct Area {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// The largest image that the processor class of Qwen2-VL leaves as it is: 1280 tokens of 28 x 28 pixels.
constexpr Area kDefaultImage = {896, 1120};

/// An encoder, before its layers have letters.
struct Tower {
  model::Layer layer;
  std::int64_t layers = 0;
  std::vector<Product> before;
  std::vector<Product> behind;
  std::int64_t first_tables = 0;  ///< weights in front of the first layer that are no product's
  std::int64_t last_tables = 0;
  std::int64_t window = 0;  ///< patches that attention sees where a layer is not in `whole`
  std::vector<std::int64_t> whole;
  std::vector<std::int64_t> tapped;  ///< layers with a projector of their own, as that behind the last
  std::int64_t tap_tables = 0;

  [[nodiscard]] bool has_window(std::int64_t i) const {
    return window != 0 && std::find(whole.begin(), whole.end(), i) == whole.end();
  }
  [[nodiscard]] bool has_tap(std::int64_t i) const {
    return std::find(tapped.begin(), tapped.end(), i) != tapped.end();
  }
};

/// A size from 1 to `most`; `assumed` where the file leaves it out.
std::int64_t size_of(Fields& fields, std::string_view key, std::int64_t assumed,
                     std::int64_t most = kMostWidth) {
  std::int64_t out = assumed;
  fields.read(key, out);
  if (out < 1 || out > most)
    refuse(*fields.find(key), fields.path_of(key), fmt::format("from 1 to {}", most));
  return out;
}

/// A number for both sides, or an array of height and width.
Area area_of(Fields& fields, std::string_view key, Area assumed, std::int64_t most) {
  const Value* value = fields.find(key);
  if (value == nullptr) return assumed;
  Area out;
  if (value->is(ValueKind::Array) && value->items().size() == 2) {
    out.height = whole_number(value->items()[0], fields.path_of(key));
    out.width = whole_number(value->items()[1], fields.path_of(key));
  } else {
    out.height = whole_number(*value, fields.path_of(key));
    out.width = out.height;
  }
  if (std::min(out.height, out.width) < 1 || std::max(out.height, out.width) > most)
    refuse(*value, fields.path_of(key), fmt::format("from 1 to {}", most));
  return out;
}

/// Patches of an image, whole ones alone.
std::int64_t patches_of(const Fields& fields, const Area& image, const Area& patch) {
  const std::int64_t patches = image.height / patch.height * (image.width / patch.width);
  if (patches == 0)
    throw InputError(
        fields.object().where(),
        fmt::format("{} is {} x {} pixels, less than a patch of {} x {}; give a larger image",
                    fields.path_of("image_size"), image.height, image.width, patch.height, patch.width));
  return patches;
}

/// Attention of an encoder: every head has its own keys, and sees all.
model::Attention encoder_attention(std::int64_t hidden, std::int64_t heads) {
  model::Attention out;
  out.heads = heads;
  out.kv_heads = heads;
  out.head_dim = hidden / heads;
  out.qkv_bias = true;
  out.output_bias = true;
  out.causal = false;
  return out;
}

model::Layer encoder_layer(std::int64_t hidden, std::int64_t heads, std::int64_t ffn, NormKind norm) {
  model::Layer out;
  out.hidden = hidden;
  out.norm = norm;
  out.attention = encoder_attention(hidden, heads);
  out.mlp = model::Mlp{ffn, false, true};
  return out;
}

/// What CLIP's and SigLIP's vision models have in common; CLIP has a class token and a norm in front besides.
Tower image_tower(Fields& fields, std::int64_t patch_side, bool is_clip) {
  const std::int64_t hidden = size_of(fields, "hidden_size", 768);
  Tower out;
  out.layers = size_of(fields, "num_hidden_layers", 12, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "num_attention_heads", 12),
                            size_of(fields, "intermediate_size", 3072), NormKind::Layer);
  const Area image = area_of(fields, "image_size", {224, 224}, kMostPixels);
  const Area patch = area_of(fields, "patch_size", {patch_side, patch_side}, kMostSide);
  const std::int64_t patches = patches_of(fields, image, patch);
  const std::int64_t channels = size_of(fields, "num_channels", 3, kMostSide);
  out.layer.tokens = patches + (is_clip ? 1 : 0);
  out.before = {{channels * patch.height * patch.width, hidden, patches, !is_clip}};
  // Positions of all tokens; the class token itself and the norm of two vectors behind it.
  out.first_tables = (out.layer.tokens + (is_clip ? 1 + 2 : 0)) * hidden;
  out.last_tables = 2 * hidden;  // the norm behind the last layer
  return out;
}

/// REQUIRES: the tower's products behind it are known.
void warn_of_image(const Fields& fields, const Area& image, const Tower& tower, model::Model& model) {
  model.warnings.push_back(
      fmt::format("{}: one image of {} x {} pixels a sample is assumed, {} patches that become {} tokens; "
                  "vision_config.image_size says another size",
                  fields.object().where().text(), image.height, image.width, tower.layer.tokens,
                  tower.behind.front().tokens));
}

/// What differs between the patch embeddings of Qwen's towers.
struct Patches {
  std::int64_t side = 14;  ///< unless the file says another
  bool bias = false;
  std::int64_t decoder_width = 0;  ///< of what they are merged into
};

/// The patch embedding over two frames, and its merger of neighbouring patches into one token of the decoder.
void add_merger(Fields& fields, Tower& out, const Patches& patches, model::Model& model) {
  const std::int64_t side = size_of(fields, "patch_size", patches.side, kMostSide);
  const std::int64_t merge = size_of(fields, "spatial_merge_size", 2, kMostSide);
  const bool is_stated = fields.find("image_size") != nullptr;
  const Area image = area_of(fields, "image_size", kDefaultImage, kMostPixels);
  const std::int64_t tokens = patches_of(fields, image, {side * merge, side * merge});
  const std::int64_t merged = merge * merge;
  const std::int64_t hidden = out.layer.hidden;
  const std::int64_t frames = size_of(fields, "temporal_patch_size", 2, kMostSide);
  const std::int64_t channels = size_of(fields, "in_channels", 3, kMostSide);
  out.layer.tokens = tokens * merged;
  out.before = {{channels * frames * side * side, hidden, 0, patches.bias}};
  out.behind = {{hidden * merged, hidden * merged, tokens, true, true},
                {hidden * merged, patches.decoder_width, tokens, true}};
  out.tap_tables = 2 * hidden * merged;  // a norm of merged patches
  out.last_tables = out.layer.norm == NormKind::Layer ? 2 * hidden : hidden;
  if (!is_stated) warn_of_image(fields, image, out, model);
}

Tower qwen2_vl_tower(Fields& fields, model::Model& model) {
  const std::int64_t hidden = size_of(fields, "embed_dim", 1280);
  const std::int64_t ratio = size_of(fields, "mlp_ratio", 4, kMostSide);
  Tower out;
  out.layers = size_of(fields, "depth", 32, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "num_heads", 16), hidden * ratio, NormKind::Layer);
  add_merger(fields, out, {14, false, size_of(fields, "hidden_size", 3584)}, model);
  return out;
}

/// Layers that an array names.
std::vector<std::int64_t> layers_of(Fields& fields, std::string_view key, std::vector<std::int64_t> assumed) {
  const Value* list = fields.find(key);
  if (list == nullptr) return assumed;
  const std::string path = fields.path_of(key);
  if (!list->is(ValueKind::Array)) refuse(*list, path, "an array of layers");
  std::vector<std::int64_t> out;
  for (const Value& item : list->items()) out.push_back(whole_number(item, path));
  return out;
}

Tower qwen2_5_vl_tower(Fields& fields, model::Model& model) {
  const std::int64_t hidden = size_of(fields, "hidden_size", 3584);
  Tower out;
  out.layers = size_of(fields, "depth", 32, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "num_heads", 16),
                            size_of(fields, "intermediate_size", 3420), NormKind::Rms);
  out.layer.mlp->gated = true;
  add_merger(fields, out, {14, false, size_of(fields, "out_hidden_size", 3584)}, model);
  // Windows hold whole merged tokens.
  const std::int64_t merge = size_of(fields, "spatial_merge_size", 2, kMostSide);
  const std::int64_t patch = size_of(fields, "patch_size", 14, kMostSide);
  const std::int64_t pixels = size_of(fields, "window_size", 112, kMostPixels);
  const std::int64_t side = pixels / merge / patch * merge;
  if (side == 0)
    throw InputError(fields.object().where(),
                     fmt::format("{} is {} pixels; it must be at least {}, a merged patch",
                                 fields.path_of("window_size"), pixels, merge * patch));
  out.window = side * side;
  out.whole = layers_of(fields, "fullatt_block_indexes", {7, 15, 23, 31});
  return out;
}

/// Qwen3-VL: positions are learned, and some layers inside feed the decoder too.
Tower qwen3_vl_tower(Fields& fields, model::Model& model) {
  const std::int64_t hidden = size_of(fields, "hidden_size", 1152);
  Tower out;
  out.layers = size_of(fields, "depth", 27, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "num_heads", 16),
                            size_of(fields, "intermediate_size", 4304), NormKind::Layer);
  add_merger(fields, out, {16, true, size_of(fields, "out_hidden_size", 3584)}, model);
  out.first_tables = size_of(fields, "num_position_embeddings", 2304) * hidden;
  out.tapped = layers_of(fields, "deepstack_visual_indexes", {8, 16, 24});
  return out;
}

/// Whisper's encoder as Qwen2-Audio has it: two convolutions over three frames, the second of stride 2, and a mean of two states in front of
/// the projector.
Tower qwen2_audio_tower(Fields& fields, std::int64_t decoder_width) {
  const std::int64_t hidden = size_of(fields, "d_model", 1280);
  const std::int64_t positions = size_of(fields, "max_source_positions", 1500);
  Tower out;
  out.layers = size_of(fields, "encoder_layers", 32, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "encoder_attention_heads", 20),
                            size_of(fields, "encoder_ffn_dim", 5120), NormKind::Layer);
  out.layer.attention->key_bias = false;
  out.layer.tokens = positions;
  const std::int64_t bins = size_of(fields, "num_mel_bins", 128, kMostSide);
  out.before = {{3 * bins, hidden, 2 * positions, true, true}, {3 * hidden, hidden, 0, true, true}};
  out.behind = {{hidden, decoder_width, std::max<std::int64_t>(positions / 2, 1), true}};
  out.first_tables = positions * hidden;
  out.last_tables = 2 * hidden;
  return out;
}

/// Weights of SigLIP's pooling head: a query, attention, a norm, two products.
std::int64_t pooling_head(const model::Layer& layer) {
  const std::int64_t h = layer.hidden;
  const std::int64_t f = layer.mlp->ffn;
  return h + 4 * (h * h + h) + 2 * h + (h * f + f) + (f * h + h);
}

/// Qwen3.5: Qwen3-VL's, and no layer inside feeds the decoder.
Tower qwen3_5_tower(Fields& fields, model::Model& model) {
  Tower out = qwen3_vl_tower(fields, model);
  out.tapped.clear();
  return out;
}

/// SigLIP, whose patches are averaged to `tokens` of the decoder.
Tower gemma3_tower(Fields& fields, std::int64_t tokens, std::int64_t decoder_width) {
  Tower out = image_tower(fields, 16, false);
  out.behind = {{out.layer.hidden, decoder_width, tokens}};
  out.last_tables += out.layer.hidden;  // the norm in front of the projector
  bool head = true;
  fields.read("vision_use_head", head);
  if (head) out.last_tables += pooling_head(out.layer);
  return out;
}

/// Pixtral: Llama's layers over patches, a norm in front of them, and a product that merges neighbouring patches.
Tower pixtral_tower(Fields& fields, std::int64_t merge, bool bias, model::Model& model) {
  const std::int64_t hidden = size_of(fields, "hidden_size", 1024);
  Tower out;
  out.layers = size_of(fields, "num_hidden_layers", 24, kMostLayers);
  const std::int64_t heads = size_of(fields, "num_attention_heads", 16);
  out.layer = encoder_layer(hidden, heads, size_of(fields, "intermediate_size", 4096), NormKind::Rms);
  out.layer.mlp = model::Mlp{out.layer.mlp->ffn, true};
  out.layer.attention->qkv_bias = false;
  out.layer.attention->output_bias = false;
  out.layer.attention->head_dim = size_of(fields, "head_dim", hidden / heads);
  const std::int64_t side = size_of(fields, "patch_size", 16, kMostSide);
  const Area image = area_of(fields, "image_size", {1024, 1024}, kMostPixels);
  const std::int64_t tokens = patches_of(fields, image, {side * merge, side * merge});
  out.layer.tokens = tokens * merge * merge;
  out.before = {{size_of(fields, "num_channels", 3, kMostSide) * side * side, hidden, 0}};
  out.first_tables = hidden;
  out.last_tables = hidden;
  out.behind = {{hidden * merge * merge, hidden, tokens},
                {hidden, model.hidden, tokens, bias, true},
                {model.hidden, model.hidden, tokens, bias}};
  warn_of_image(fields, image, out, model);
  return out;
}

/// MoonViT as Kimi K2.5 has it: learned positions, and a merger of 2 x 2 patches behind a norm.
Tower kimi_tower(Fields& fields, model::Model& model) {
  const std::int64_t hidden = size_of(fields, "hidden_size", 1152);
  Tower out;
  out.layers = size_of(fields, "num_hidden_layers", 27, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "num_attention_heads", 16),
                            size_of(fields, "intermediate_size", 4304), NormKind::Layer);
  const Area merge = area_of(fields, "merge_kernel_size", {2, 2}, kMostSide);
  const std::int64_t side = size_of(fields, "patch_size", 14, kMostSide);
  const Area image = area_of(fields, "image_size", kDefaultImage, kMostPixels);
  const std::int64_t merged = merge.height * merge.width;
  const std::int64_t tokens = patches_of(fields, image, {side * merge.height, side * merge.width});
  out.layer.tokens = tokens * merged;
  out.before = {{3 * side * side, hidden, 0, true}};
  out.first_tables = size_of(fields, "pos_emb_height", 64, kMostSide) *
                     size_of(fields, "pos_emb_width", 64, kMostSide) * hidden;
  out.last_tables = 4 * hidden;  // the norm behind the layers, and the projector's
  out.behind = {{hidden * merged, hidden * merged, tokens, true, true},
                {hidden * merged, model.hidden, tokens, true}};
  if (fields.find("image_size") == nullptr) warn_of_image(fields, image, out, model);
  return out;
}

/// Llama 4's: CLIP's, whose neighbouring patches are put side by side and pass three products.
Tower llama4_tower(Fields& fields, model::Model& model) {
  const std::int64_t hidden = size_of(fields, "hidden_size", 768);
  const std::int64_t ffn = size_of(fields, "intermediate_size", 5632);
  Tower out;
  out.layers = size_of(fields, "num_hidden_layers", 34, kMostLayers);
  out.layer = encoder_layer(hidden, size_of(fields, "num_attention_heads", 16), ffn, NormKind::Layer);
  const std::int64_t side = size_of(fields, "patch_size", 14, kMostSide);
  const Area image = area_of(fields, "image_size", {448, 448}, kMostPixels);
  const std::int64_t patches = patches_of(fields, image, {side, side});
  out.layer.tokens = patches + 1;
  out.before = {{size_of(fields, "num_channels", 3, kMostSide) * side * side, hidden, patches}};
  out.first_tables = hidden + (patches + 1) * hidden + 2 * hidden;  // class token, positions, a norm
  out.last_tables = 2 * hidden;
  const std::int64_t tokens = std::max<std::int64_t>(patches / 4, 1);
  const std::int64_t narrow = size_of(fields, "projector_input_dim", 4096);
  const std::int64_t wide = size_of(fields, "projector_output_dim", 4096);
  out.behind = {{ffn, narrow, tokens, false, true},
                {wide, wide, tokens, false, true},
                {size_of(fields, "vision_output_dim", 7680), model.hidden, tokens}};
  return out;
}

struct Letter {
  char letter;
  const char* name;
};
// Of none of the decoders' kinds.
constexpr Letter kFirst = {'P', "encoder, first"};
constexpr Letter kMiddle = {'V', "encoder"};
constexpr Letter kWindowed = {'W', "encoder, windowed"};
constexpr Letter kTapped = {'X', "encoder, with a projector of its own"};
constexpr Letter kLast = {'J', "encoder, with projector"};

Letter letter_of(const Tower& tower, std::int64_t i) {
  if (i == 0) return kFirst;
  if (i + 1 == tower.layers) return kLast;
  if (tower.has_tap(i)) return kTapped;
  return tower.has_window(i) ? kWindowed : kMiddle;
}

void add_tower(const Tower& tower, model::Model& out) {
  std::string letters;
  std::vector<model::Layer> kinds;
  for (std::int64_t i = 0; i < tower.layers; ++i) {
    const Letter named = letter_of(tower, i);
    const bool is_known = letters.find(named.letter) != std::string::npos;
    letters += named.letter;
    if (is_known) continue;
    model::Layer layer = tower.layer;
    layer.letter = named.letter;
    layer.name = named.name;
    if (tower.has_window(i)) layer.attention->window = tower.window;
    if (i == 0) {
      layer.before = tower.before;
      layer.tables += tower.first_tables;
    }
    if (tower.has_tap(i)) {
      layer.behind = tower.behind;
      layer.tables += tower.tap_tables;
    }
    if (i + 1 == tower.layers) {
      layer.behind.insert(layer.behind.end(), tower.behind.begin(), tower.behind.end());
      layer.tables += tower.last_tables;
    }
    kinds.push_back(std::move(layer));
  }
  out.kinds.insert(out.kinds.begin(), kinds.begin(), kinds.end());
  out.layers.insert(0, letters);
}

/// The object of a tower, which must be of one of these types.
Fields tower_fields(Fields& fields, std::string_view key, const std::vector<std::string>& types) {
  const Value* value = fields.find(key);
  if (value == nullptr)
    throw InputError(fields.object().where(),
                     fmt::format("{} is missing; give the tower's sizes as an object", key));
  Fields out(*value, fields.path_of(key));
  std::string type = types.front();
  out.read("model_type", type);
  if (std::find(types.begin(), types.end(), type) == types.end())
    throw InputError::unknown_name(out.find("model_type")->where(), fmt::format("tower in {}", key), type,
                                   types);
  return out;
}

/// Features of several layers stand side by side.
std::int64_t feature_layers(Fields& fields) {
  const Value* value = fields.find("vision_feature_layer");
  if (value == nullptr || !value->is(ValueKind::Array)) return 1;
  const auto count = static_cast<std::int64_t>(value->items().size());
  if (count < 1 || count > kMostSide)
    refuse(*value, "vision_feature_layer", fmt::format("a layer, or from 1 to {} of them", kMostSide));
  return count;
}

}  // namespace

void add_llava_tower(Fields& fields, model::Model& out) {
  const std::vector<std::string> types = {"clip_vision_model", "siglip_vision_model"};
  Fields vision = tower_fields(fields, "vision_config", types);
  std::string type = types.front();
  vision.read("model_type", type);
  Tower tower = type == types.front() ? image_tower(vision, 32, true) : image_tower(vision, 16, false);
  if (type != types.front())
    out.warnings.push_back(
        fmt::format("{}: SigLIP's pooling head of {} parameters feeds no decoder and is left out",
                    vision.object().where().text(), pooling_head(tower.layer)));
  std::string strategy = "default";
  fields.read("vision_feature_select_strategy", strategy);
  if (strategy != "default" && strategy != "full")
    refuse(*fields.find("vision_feature_select_strategy"), "vision_feature_select_strategy",
           R"("default" or "full")");
  bool bias = true;
  fields.read("multimodal_projector_bias", bias);
  // "default" leaves the first token out, CLIP's class token.
  const std::int64_t tokens = std::max<std::int64_t>(tower.layer.tokens - (strategy == "default" ? 1 : 0), 1);
  tower.behind = {{tower.layer.hidden * feature_layers(fields), out.hidden, tokens, bias, true},
                  {out.hidden, out.hidden, tokens, bias}};
  add_tower(tower, out);
}

void add_qwen2_vl_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config", {"qwen2_vl_vision", "qwen2_vl"});
  add_tower(qwen2_vl_tower(vision, out), out);
}

void add_qwen2_5_vl_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config", {"qwen2_5_vl_vision", "qwen2_5_vl"});
  add_tower(qwen2_5_vl_tower(vision, out), out);
}

void add_qwen3_vl_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config",
                               {"qwen3_vl_vision", "qwen3_vl", "qwen3_vl_moe_vision", "qwen3_vl_moe"});
  add_tower(qwen3_vl_tower(vision, out), out);
}

void add_qwen3_5_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config",
                               {"qwen3_5_vision", "qwen3_5", "qwen3_5_moe_vision", "qwen3_5_moe"});
  add_tower(qwen3_5_tower(vision, out), out);
}

void add_gemma3_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config", {"siglip_vision_model"});
  add_tower(gemma3_tower(vision, size_of(fields, "mm_tokens_per_image", 256), out.hidden), out);
}

void add_mistral3_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config", {"pixtral"});
  bool bias = false;
  fields.read("multimodal_projector_bias", bias);
  if (feature_layers(fields) != 1)
    refuse(*fields.find("vision_feature_layer"), "vision_feature_layer", "one layer");
  add_tower(pixtral_tower(vision, size_of(fields, "spatial_merge_size", 2, kMostSide), bias, out), out);
}

void add_kimi_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config", {"kimi_k25_vision", "kimi_k25"});
  const std::int64_t width = size_of(vision, "hidden_size", 1152);
  if (size_of(fields, "projection_hidden_size", width) != width)
    refuse(*fields.find("projection_hidden_size"), "projection_hidden_size",
           fmt::format("{}, the tower's hidden_size", width));
  add_tower(kimi_tower(vision, out), out);
}

void add_llama4_tower(Fields& fields, model::Model& out) {
  Fields vision = tower_fields(fields, "vision_config", {"llama4_vision_model"});
  bool bias = false;
  vision.read("multi_modal_projector_bias", bias);
  if (bias) refuse(*vision.find("multi_modal_projector_bias"), "multi_modal_projector_bias", "false");
  if (const Value* ratio = vision.find("pixel_shuffle_ratio"); ratio != nullptr && ratio->text() != "0.5")
    refuse(*ratio, "vision_config.pixel_shuffle_ratio", "0.5");
  add_tower(llama4_tower(vision, out), out);
}

void add_qwen2_audio_tower(Fields& fields, model::Model& out) {
  Fields audio = tower_fields(fields, "audio_config", {"qwen2_audio_encoder"});
  add_tower(qwen2_audio_tower(audio, out.hidden), out);
}

}  // namespace pipeloom::io::models
