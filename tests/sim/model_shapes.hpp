#pragma once

// Models that tests of sim/model share.

#include <algorithm>
#include <string>

#include "sim/model/model.hpp"

namespace pipeloom::model::shapes {

/// A GPT: layer norms, biases, learned positions, FFN of 4 h, embedding tied to the head.
inline Model gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t sequence,
                 std::int64_t vocabulary = 51200) {
  Layer layer;
  layer.name = "transformer";
  layer.attention = Attention{heads, heads, hidden / heads, true, true};
  layer.mlp = Mlp{4 * hidden, false, true};
  Model model;
  model.name = "gpt";
  model.hidden = hidden;
  model.vocabulary = vocabulary;
  model.tied = true;
  model.norm = NormKind::Layer;
  model.dropout = true;
  model.positions = sequence;
  model.sequence = sequence;
  model.kinds = {layer};
  model.layers.assign(static_cast<std::size_t>(layers), 'T');
  return model;
}

struct LlamaSizes {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 8;
  std::int64_t vocabulary = 131072;
};

/// A Llama: RMS norms, no biases, gated FFN, head apart from the embedding.
inline Model llama(const LlamaSizes& sizes) {
  Layer layer;
  layer.name = "transformer";
  layer.attention = Attention{sizes.heads, sizes.kv_heads, sizes.hidden / sizes.heads};
  layer.mlp = Mlp{sizes.ffn, true};
  Model model;
  model.name = "llama";
  model.hidden = sizes.hidden;
  model.vocabulary = sizes.vocabulary;
  model.sequence = 8192;
  model.kinds = {layer};
  model.layers.assign(static_cast<std::size_t>(sizes.layers), 'T');
  return model;
}

struct HybridSizes {
  std::string pattern;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t mamba_heads = 0;
};

/// A Nemotron-H: M, * and - layers, each behind a norm of its own; 8 groups of 128 states, 64 channels a head, convolution over 4.
inline Model hybrid(const HybridSizes& sizes) {
  Layer mamba;
  mamba.letter = 'M';
  mamba.mamba = Mamba{sizes.mamba_heads, 64, 8, 128, 4};
  Layer attention;
  attention.letter = '*';
  attention.attention = Attention{sizes.heads, sizes.kv_heads, sizes.hidden / sizes.heads};
  Layer mlp;
  mlp.letter = '-';
  mlp.mlp = Mlp{sizes.ffn, false};
  Model model;
  model.name = "hybrid";
  model.hidden = sizes.hidden;
  model.vocabulary = 131072;
  model.sequence = 4096;
  model.kinds = {mamba, attention, mlp};
  model.layers = sizes.pattern;
  return model;
}

/// One layer of an encoder over 100 tokens of width 64 in front of a decoder of width 256: patches of 48 pixels, and a projector of 25 tokens, four
/// merged into each. 7 weights besides.
inline Model encoder() {
  Layer layer;
  layer.letter = 'P';
  layer.hidden = 64;
  layer.tokens = 100;
  layer.norm = NormKind::Layer;
  layer.attention = Attention{4, 4, 16, true, true, false, false};
  layer.mlp = Mlp{128, false, true};
  layer.before = {{48, 64}};
  layer.behind = {{256, 512, 25, true, true}, {512, 256, 25, true}};
  layer.tables = 7;
  Model model = llama({2, 256, 512, 4, 4, 1000});
  model.kinds.push_back(layer);
  model.layers = "PTT";
  return model;
}

}  // namespace pipeloom::model::shapes
