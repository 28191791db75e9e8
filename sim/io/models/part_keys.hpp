#pragma once

// Keys of a layer's parts, each once: model files and rules of types (types.hpp) are read by them.

#include <string_view>
#include <utility>

#include "sim/model/model.hpp"

namespace pipeloom::io::models {

inline constexpr std::pair<std::string_view, model::LinearRule> kLinearRules[] = {
    {"gated_delta", model::LinearRule::GatedDelta},
    {"kimi_delta", model::LinearRule::KimiDelta},
    {"lightning", model::LinearRule::Lightning},
    {"mamba1", model::LinearRule::Mamba1},
    {"short_conv", model::LinearRule::ShortConv}};

/// True for a key without which a model file says too little.
enum class Need : bool { No, Yes };

// Each overload calls read(KEY, MEMBER, NEED) for each whole number and switch of a part, in the order in which messages name them.

template <class Read>
void each_key(model::Attention& part, Read&& read) {
  read("heads", part.heads, Need::Yes);
  read("kv_heads", part.kv_heads, Need::No);
  read("head_dim", part.head_dim, Need::Yes);
  read("qkv_bias", part.qkv_bias, Need::No);
  read("output_bias", part.output_bias, Need::No);
  read("head_norms", part.head_norms, Need::No);
  read("causal", part.causal, Need::No);
  read("window", part.window, Need::No);
  read("key_bias", part.key_bias, Need::No);
  read("gated", part.gated, Need::No);
  read("head_gates", part.head_gates, Need::No);
  read("sinks", part.sinks, Need::No);
  read("wide_norms", part.wide_norms, Need::No);
  read("values", part.values, Need::No);
  read("chunked", part.chunked, Need::No);
  read("own_keys", part.own_keys, Need::No);
  read("v_dim", part.v_dim, Need::No);
}

template <class Read>
void each_key(model::Indexer& part, Read&& read) {
  read("heads", part.heads, Need::Yes);
  read("head_dim", part.head_dim, Need::Yes);
  read("top_k", part.top_k, Need::Yes);
  read("pool", part.pool, Need::No);
  read("pool_gate", part.pool_gate, Need::No);
  read("head_weights", part.head_weights, Need::No);
}

template <class Read>
void each_key(model::LatentAttention& part, Read&& read) {
  read("heads", part.heads, Need::Yes);
  read("q_rank", part.q_rank, Need::No);
  read("kv_rank", part.kv_rank, Need::Yes);
  read("nope_dim", part.nope_dim, Need::Yes);
  read("rope_dim", part.rope_dim, Need::Yes);
  read("v_dim", part.v_dim, Need::Yes);
  read("bias", part.bias, Need::No);
  read("window", part.window, Need::No);
  read("sinks", part.sinks, Need::No);
  read("gated", part.gated, Need::No);
  read("head_gates", part.head_gates, Need::No);
  read("joint_gate", part.joint_gate, Need::No);
}

template <class Read>
void each_key(model::CompressedAttention& part, Read&& read) {
  read("heads", part.heads, Need::Yes);
  read("head_dim", part.head_dim, Need::Yes);
  read("q_rank", part.q_rank, Need::Yes);
  read("output_groups", part.output_groups, Need::Yes);
  read("output_rank", part.output_rank, Need::Yes);
  read("window", part.window, Need::Yes);
  read("rate", part.rate, Need::No);
  read("series", part.series, Need::No);
}

template <class Read>
void each_key(model::Mamba& part, Read&& read) {
  read("heads", part.heads, Need::Yes);
  read("head_dim", part.head_dim, Need::Yes);
  read("groups", part.groups, Need::Yes);
  read("state", part.state, Need::Yes);
  read("conv", part.conv, Need::No);
  read("in_bias", part.in_bias, Need::No);
  read("out_bias", part.out_bias, Need::No);
  read("conv_bias", part.conv_bias, Need::No);
  read("gated_norm", part.gated_norm, Need::No);
}

template <class Read>
void each_key(model::Linear& part, Read&& read) {
  read("heads", part.heads, Need::Yes);
  read("head_dim", part.head_dim, Need::Yes);
  read("key_heads", part.key_heads, Need::No);
  read("key_dim", part.key_dim, Need::No);
  read("conv", part.conv, Need::No);
  read("rank", part.rank, Need::No);
  read("bias", part.bias, Need::No);
  read("conv_bias", part.conv_bias, Need::No);
  read("norms", part.norms, Need::No);
}

template <class Read>
void each_key(model::Mlp& part, Read&& read) {
  read("ffn", part.ffn, Need::Yes);
  read("gated", part.gated, Need::No);
  read("bias", part.bias, Need::No);
}

template <class Read>
void each_key(model::Experts& part, Read&& read) {
  read("experts", part.experts, Need::Yes);
  read("top_k", part.top_k, Need::Yes);
  read("ffn", part.ffn, Need::Yes);
  read("shared_ffn", part.shared_ffn, Need::No);
  read("gated", part.gated, Need::No);
  read("shared_gate", part.shared_gate, Need::No);
  read("router_bias", part.router_bias, Need::No);
  read("bias", part.bias, Need::No);
  read("shared_bias", part.shared_bias, Need::No);
  read("zero", part.zero, Need::No);
}

}  // namespace pipeloom::io::models
