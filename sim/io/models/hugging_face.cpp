// Hugging Face's config.json. Keys are those of the transformers library's configuration classes.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/fields.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/io/models/towers.hpp"
#include "sim/model/check.hpp"

namespace pipeloom::io {
namespace {

using model::Model;
using models::Fields;

constexpr std::int64_t kMostDefaultSequence = 8192;

/// A model type, and what is particular about its layers.
struct Family {
  std::string_view type;
  void (*read)(Fields&, Model&);
  /// Of the configuration class, for `text_config`: published files leave these out there.
  std::span<const models::Assumed> assumed = {};
};

/// What nearly all have in common.
void read_ends(Fields& fields, Model& out, bool tied) {
  fields.need("hidden_size", out.hidden);
  fields.need("vocab_size", out.vocabulary);
  out.tied = tied;
  fields.read("tie_word_embeddings", out.tied);
  fields.read("max_position_embeddings", out.sequence);
}

std::int64_t layer_count(Fields& fields) {
  std::int64_t layers = 0;
  fields.need("num_hidden_layers", layers);
  if (layers < 1 || layers > 4096)
    models::refuse(*fields.find("num_hidden_layers"), fields.path_of("num_hidden_layers"),
                   "a whole number from 1 to 4096");
  return layers;
}

model::Attention grouped_attention(Fields& fields, const Model& model) {
  model::Attention out;
  fields.need("num_attention_heads", out.heads);
  out.kv_heads = out.heads;
  fields.read("num_key_value_heads", out.kv_heads);
  out.head_dim = out.heads > 0 ? model.hidden / out.heads : 0;
  fields.read("head_dim", out.head_dim);
  bool bias = false;
  fields.read("attention_bias", bias);
  out.qkv_bias = bias;
  out.output_bias = bias;
  return out;
}

model::Mlp gated_mlp(Fields& fields) {
  model::Mlp out;
  fields.need("intermediate_size", out.ffn);
  out.gated = true;
  fields.read("mlp_bias", out.bias);
  return out;
}

/// The sliding window, where the model uses one.
void read_window(Fields& fields, model::Attention& out) {
  bool used = true;
  fields.read("use_sliding_window", used);
  if (used) fields.read("sliding_window", out.window);
}

/// A model whose layers are all alike.
model::Layer& add_only_kind(Fields& fields, Model& out, const char* name) {
  out.layers.assign(static_cast<std::size_t>(layer_count(fields)), 'T');
  out.kinds.emplace_back();
  out.kinds.back().name = name;
  return out.kinds.back();
}

void read_llama(Fields& fields, Model& out) {
  read_ends(fields, out, false);
  model::Layer& layer = add_only_kind(fields, out, "transformer");
  layer.attention = grouped_attention(fields, out);
  layer.mlp = gated_mlp(fields);
}

void read_mistral(Fields& fields, Model& out) {
  read_llama(fields, out);
  read_window(fields, *out.kinds[0].attention);
}

void read_mixtral(Fields& fields, Model& out) {
  read_ends(fields, out, false);
  model::Layer& layer = add_only_kind(fields, out, "transformer with experts");
  layer.attention = grouped_attention(fields, out);
  read_window(fields, *layer.attention);
  model::Experts& experts = layer.experts.emplace();
  fields.need("num_local_experts", experts.experts);
  fields.need("num_experts_per_tok", experts.top_k);
  fields.need("intermediate_size", experts.ffn);
}

void read_qwen2(Fields& fields, Model& out) {
  read_llama(fields, out);
  model::Attention& attention = *out.kinds[0].attention;
  attention.qkv_bias = true;
  bool used = false;
  fields.read("use_sliding_window", used);
  if (used) fields.read("sliding_window", attention.window);
}

void read_qwen3(Fields& fields, Model& out) {
  read_llama(fields, out);
  out.kinds[0].attention->head_norms = true;
}

/// Layers with experts every `decoder_sparse_step`, but for those that are named.
std::string sparse_layers(Fields& fields, std::int64_t count) {
  std::int64_t step = 1;
  fields.read("decoder_sparse_step", step);
  std::string layers(static_cast<std::size_t>(count), 'T');
  for (std::int64_t i = 0; i < count; ++i)
    if (step < 1 || (i + 1) % step != 0) layers[static_cast<std::size_t>(i)] = 'D';
  const Value* dense = fields.find("mlp_only_layers");
  if (dense == nullptr) return layers;
  if (!dense->is(ValueKind::Array)) models::refuse(*dense, "mlp_only_layers", "an array of layers");
  for (const Value& item : dense->items()) {
    const std::int64_t at = models::whole_number(item, "an entry of mlp_only_layers");
    if (at >= count) models::refuse(item, "an entry of mlp_only_layers", fmt::format("below {}", count));
    layers[static_cast<std::size_t>(at)] = 'D';
  }
  return layers;
}

/// The kind 'T' with experts, and 'D' without where layers ask for it.
void add_dense_kind(Fields& fields, Model& out) {
  if (out.layers.find('D') == std::string::npos) return;
  model::Layer dense = out.kinds[0];
  dense.letter = 'D';
  dense.name = "transformer, dense";
  dense.experts.reset();
  dense.mlp = gated_mlp(fields);
  out.kinds.push_back(dense);
}

void read_qwen_experts(Fields& fields, Model& out) {
  read_ends(fields, out, false);
  model::Layer& layer = add_only_kind(fields, out, "transformer with experts");
  layer.attention = grouped_attention(fields, out);
  model::Experts& experts = layer.experts.emplace();
  fields.need("num_experts", experts.experts);
  fields.need("num_experts_per_tok", experts.top_k);
  fields.need("moe_intermediate_size", experts.ffn);
  out.layers = sparse_layers(fields, static_cast<std::int64_t>(out.layers.size()));
}

void read_qwen2_moe(Fields& fields, Model& out) {
  read_qwen_experts(fields, out);
  model::Layer& layer = out.kinds[0];
  layer.attention->qkv_bias = true;
  fields.need("shared_expert_intermediate_size", layer.experts->shared_ffn);
  layer.experts->shared_gate = layer.experts->shared_ffn > 0;
  add_dense_kind(fields, out);
}

void read_qwen3_moe(Fields& fields, Model& out) {
  read_qwen_experts(fields, out);
  out.kinds[0].attention->head_norms = true;
  add_dense_kind(fields, out);
}

model::LatentAttention latent_attention(Fields& fields) {
  model::LatentAttention out;
  fields.need("num_attention_heads", out.heads);
  fields.read("q_lora_rank", out.q_rank);
  fields.need("kv_lora_rank", out.kv_rank);
  fields.need("qk_nope_head_dim", out.nope_dim);
  fields.need("qk_rope_head_dim", out.rope_dim);
  fields.need("v_head_dim", out.v_dim);
  return out;
}

void read_deepseek(Fields& fields, Model& out) {
  read_ends(fields, out, false);
  out.sequence = std::min<std::int64_t>(out.sequence, 4096);  // the rest is context extension
  model::Layer& layer = add_only_kind(fields, out, "transformer with experts");
  layer.latent_attention = latent_attention(fields);
  model::Experts& experts = layer.experts.emplace();
  fields.need("n_routed_experts", experts.experts);
  fields.need("num_experts_per_tok", experts.top_k);
  fields.need("moe_intermediate_size", experts.ffn);
  std::int64_t shared = 0;
  fields.read("n_shared_experts", shared);
  if (shared > std::int64_t{1} << 20 || experts.ffn > std::int64_t{1} << 24)
    models::refuse(fields.object(), "n_shared_experts x moe_intermediate_size", "smaller");
  experts.shared_ffn = shared * experts.ffn;
  std::string method;
  fields.read("topk_method", method);
  experts.router_bias = method == "noaux_tc";
  std::int64_t dense = 0;
  fields.read("first_k_dense_replace", dense);
  for (std::size_t i = 0; i < std::min(static_cast<std::size_t>(dense), out.layers.size()); ++i)
    out.layers[i] = 'D';
  fields.read("num_nextn_predict_layers", out.mtp);
  add_dense_kind(fields, out);
}

void read_gpt2(Fields& fields, Model& out) {
  fields.need("n_embd", out.hidden);
  fields.need("vocab_size", out.vocabulary);
  fields.need("n_positions", out.positions);
  out.sequence = out.positions;
  out.tied = true;
  fields.read("tie_word_embeddings", out.tied);
  out.norm = model::NormKind::Layer;
  out.dropout = true;  // resid_pdrop and attn_pdrop are 0.1 unless stated
  if (const Value* rate = fields.find("resid_pdrop"))
    out.dropout = rate->is(ValueKind::Number) && rate->number() > 0;
  std::int64_t layers = 0;
  fields.need("n_layer", layers);
  if (layers < 1 || layers > 4096)
    models::refuse(*fields.find("n_layer"), "n_layer", "a whole number from 1 to 4096");
  out.layers.assign(static_cast<std::size_t>(layers), 'T');
  model::Attention attention;
  fields.need("n_head", attention.heads);
  attention.kv_heads = attention.heads;
  attention.head_dim = attention.heads > 0 ? out.hidden / attention.heads : 0;
  attention.qkv_bias = true;
  attention.output_bias = true;
  model::Mlp mlp{std::min(out.hidden, kMostDefaultSequence * kMostDefaultSequence) * 4, false, true};
  fields.read("n_inner", mlp.ffn);
  model::Layer layer;
  layer.name = "transformer";
  layer.attention = attention;
  layer.mlp = mlp;
  out.kinds.push_back(layer);
}

void read_nemotron_h(Fields& fields, Model& out) {
  read_ends(fields, out, false);
  fields.read("hybrid_override_pattern", out.layers);
  if (out.layers.empty())
    throw InputError(fields.object().where(),
                     "hybrid_override_pattern is missing; give a letter per layer: M, * or -");
  auto layers = static_cast<std::int64_t>(out.layers.size());
  fields.read("num_hidden_layers", layers);
  if (static_cast<std::size_t>(layers) != out.layers.size())
    models::refuse(*fields.find("num_hidden_layers"), "num_hidden_layers",
                   fmt::format("{}, as many as the letters of hybrid_override_pattern", out.layers.size()));
  model::Layer mamba;
  mamba.letter = 'M';
  mamba.name = "mamba";
  model::Mamba& mixer = mamba.mamba.emplace();
  fields.need("mamba_num_heads", mixer.heads);
  fields.need("mamba_head_dim", mixer.head_dim);
  fields.need("n_groups", mixer.groups);
  fields.need("ssm_state_size", mixer.state);
  fields.read("conv_kernel", mixer.conv);
  model::Layer attention;
  attention.letter = '*';
  attention.name = "attention";
  attention.attention = grouped_attention(fields, out);
  fields.read("attention_head_dim", attention.attention->head_dim);
  model::Layer mlp;
  mlp.letter = '-';
  mlp.name = "mlp";
  mlp.mlp = gated_mlp(fields);
  mlp.mlp->gated = false;  // squared ReLU
  out.kinds = {mamba, attention, mlp};
}

constexpr models::Assumed kLlamaSizes[] = {{"vocab_size", 32000},        {"hidden_size", 4096},
                                           {"intermediate_size", 11008}, {"num_hidden_layers", 32},
                                           {"num_attention_heads", 32},  {"max_position_embeddings", 2048}};
constexpr models::Assumed kMistralSizes[] = {{"vocab_size", 32000},
                                             {"hidden_size", 4096},
                                             {"intermediate_size", 14336},
                                             {"num_hidden_layers", 32},
                                             {"num_attention_heads", 32},
                                             {"num_key_value_heads", 8},
                                             {"max_position_embeddings", 131072},
                                             {"sliding_window", 4096}};
constexpr models::Assumed kQwen2Sizes[] = {{"vocab_size", 151936},
                                           {"hidden_size", 4096},
                                           {"intermediate_size", 22016},
                                           {"num_hidden_layers", 32},
                                           {"num_attention_heads", 32},
                                           {"num_key_value_heads", 32},
                                           {"max_position_embeddings", 32768}};
constexpr models::Assumed kQwen3Sizes[] = {{"vocab_size", 151936},
                                           {"hidden_size", 4096},
                                           {"intermediate_size", 22016},
                                           {"num_hidden_layers", 32},
                                           {"num_attention_heads", 32},
                                           {"num_key_value_heads", 32},
                                           {"max_position_embeddings", 32768},
                                           {"head_dim", 128}};
constexpr models::Assumed kQwen2VlSizes[] = {{"vocab_size", 152064},
                                             {"hidden_size", 8192},
                                             {"intermediate_size", 29568},
                                             {"num_hidden_layers", 80},
                                             {"num_attention_heads", 64},
                                             {"num_key_value_heads", 8},
                                             {"max_position_embeddings", 32768}};

constexpr Family kDecoders[] = {
    {"llama", read_llama, kLlamaSizes}, {"mistral", read_mistral, kMistralSizes},
    {"mixtral", read_mixtral},          {"qwen2", read_qwen2, kQwen2Sizes},
    {"qwen2_moe", read_qwen2_moe},      {"qwen3", read_qwen3, kQwen3Sizes},
    {"qwen3_moe", read_qwen3_moe},      {"deepseek_v2", read_deepseek},
    {"deepseek_v3", read_deepseek},     {"gpt2", read_gpt2},
    {"nemotron_h", read_nemotron_h},
};

constexpr Family kQwenVlText = {"qwen2_vl_text", read_qwen2, kQwen2VlSizes};

/// The family of this type; throws InputError with the list of them at the value of `fields`' "model_type".
const Family& family_of(Fields& fields, std::string_view type, std::span<const Family> families) {
  const auto found =
      std::find_if(families.begin(), families.end(), [&](const Family& one) { return one.type == type; });
  if (found != families.end()) return *found;
  const Value* value = fields.find("model_type");
  std::vector<std::string> types;
  for (const Family& family : families) types.emplace_back(family.type);
  throw InputError::unknown_name(value == nullptr ? fields.object().where() : value->where(),
                                 fields.path_of("model_type"), type, types);
}

Fields text_fields(Fields& fields) {
  const Value* value = fields.find("text_config");
  if (value == nullptr)
    throw InputError(fields.object().where(),
                     "text_config is missing; give the decoder's sizes as an object");
  return {*value, fields.path_of("text_config")};
}

/// Newer files say beside `text_config` that the embeddings are tied, older ones in it.
void read_decoder(Fields& fields, Fields& text, const Family& family, Model& out) {
  text.assume(family.assumed);
  family.read(text, out);
  bool tied = false;
  fields.read("tie_word_embeddings", tied);
  out.tied = out.tied || tied;
}

/// A decoder of any type, of this one unless it says another.
void read_text(Fields& fields, std::string type, Model& out) {
  Fields text = text_fields(fields);
  text.read("model_type", type);
  read_decoder(fields, text, family_of(text, type, kDecoders), out);
}

void read_llava(Fields& fields, Model& out) {
  read_text(fields, "llama", out);
  models::add_llava_tower(fields, out);
}

/// Published files have the decoder's keys beside `vision_config`, newer ones in `text_config`.
void read_qwen_vl_text(Fields& fields, Model& out) {
  if (fields.find("text_config") == nullptr) return read_qwen2(fields, out);
  Fields text = text_fields(fields);
  read_decoder(fields, text, kQwenVlText, out);
}

void read_qwen2_vl(Fields& fields, Model& out) {
  read_qwen_vl_text(fields, out);
  models::add_qwen2_vl_tower(fields, out);
}

void read_qwen2_5_vl(Fields& fields, Model& out) {
  read_qwen_vl_text(fields, out);
  models::add_qwen2_5_vl_tower(fields, out);
}

void read_qwen3_vl(Fields& fields, Model& out) {
  Fields text = text_fields(fields);
  read_decoder(fields, text, {"qwen3_vl_text", read_qwen3, kQwen3Sizes}, out);
  models::add_qwen3_vl_tower(fields, out);
}

void read_qwen3_vl_moe(Fields& fields, Model& out) {
  Fields text = text_fields(fields);
  read_decoder(fields, text, {"qwen3_vl_moe_text", read_qwen3_moe}, out);
  models::add_qwen3_vl_tower(fields, out);
}

void read_qwen2_audio(Fields& fields, Model& out) {
  read_text(fields, "qwen2", out);
  models::add_qwen2_audio_tower(fields, out);
}

constexpr Family kWithTowers[] = {
    {"llava", read_llava},       {"qwen2_vl", read_qwen2_vl},         {"qwen2_5_vl", read_qwen2_5_vl},
    {"qwen3_vl", read_qwen3_vl}, {"qwen3_vl_moe", read_qwen3_vl_moe}, {"qwen2_audio", read_qwen2_audio},
};

}  // namespace

Model read_hugging_face(const Value& root) {
  Fields fields(root, "");
  std::string type;
  fields.read("model_type", type);
  std::vector<Family> families(std::begin(kDecoders), std::end(kDecoders));
  families.insert(families.end(), std::begin(kWithTowers), std::end(kWithTowers));
  const Family& family = family_of(fields, type, families);
  Model out;
  out.where = root.where();
  out.name = type;
  fields.read("_name_or_path", out.name);
  out.source = "config.json of Hugging Face";
  family.read(fields, out);
  out.sequence = std::min(out.sequence, kMostDefaultSequence);
  model::check(out);
  return out;
}

}  // namespace pipeloom::io
