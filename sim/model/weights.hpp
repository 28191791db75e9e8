#pragma once

// The weights of a layer as a list: what parameters, products, FLOPs and shapes are all counted from.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// Names of an encoder's products in front of its first layer and behind its last one.
inline constexpr std::string_view kBefore = "patches";
inline constexpr std::string_view kBehind = "projector";
/// Of small products that belong to no part.
inline constexpr std::string_view kBeside = "beside";

/// How tensor parallelism cuts a matrix: not at all, by its outputs, or by its inputs.
enum class Cut : std::uint8_t { Whole, Columns, Rows };

/// A matrix from `inputs` to `outputs`.
struct Matrix {
  std::string_view what;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  Cut cut = Cut::Whole;
  std::int64_t experts = 0;  ///< 0: one that every token passes; else so many, top_k for each token
  std::int64_t tokens = 0;   ///< of a sample that it sees; 0: the layer's
  LayerPart part = LayerPart::Mixer;

  [[nodiscard]] std::int64_t size() const { return inputs * outputs * (experts == 0 ? 1 : experts); }
};

/// Weights that are no matrix: norms, biases, convolutions.
struct Vector {
  std::string_view what;
  std::int64_t size = 0;
  bool cut = false;          ///< tensor parallelism shares it out
  std::int64_t experts = 0;  ///< so many of them, which expert ranks share out
  LayerPart part = LayerPart::Mixer;
};

/// A short list of what has a part, without allocations.
template <class Item, std::size_t N>
class ShortList {
 public:
  void add(const Item& item) {
    items_.at(size_) = item;
    items_.at(size_++).part = part;
  }
  [[nodiscard]] const Item* begin() const { return items_.data(); }
  [[nodiscard]] const Item* end() const { return items_.data() + size_; }

  LayerPart part = LayerPart::Mixer;  ///< of what is added next

 private:
  std::array<Item, N> items_ = {};
  std::size_t size_ = 0;
};

struct Weights {
  ShortList<Matrix, 24> matrices;
  ShortList<Vector, 32> vectors;

  /// All that is added from here on belongs to this part.
  void begin(LayerPart part) { matrices.part = vectors.part = part; }
};

/// Of the whole layer, in the order in which it runs. Sources: Megatron-LM's modules; for Mamba-2 arXiv 2405.21060.
[[nodiscard]] Weights weights_of(const Model& model, const Layer& layer);

/// Weights of one norm of `width` channels.
[[nodiscard]] inline std::int64_t norm_size(NormKind norm, std::int64_t width) {
  if (norm == NormKind::Bare) return 0;
  return norm == NormKind::Layer ? 2 * width : width;
}

/// True for softmax attention of any kind.
[[nodiscard]] inline bool has_attention(const Layer& layer) {
  return layer.attention || layer.latent_attention || layer.compressed_attention;
}
/// Parts of a layer: mixer and feed-forward, each with a norm in front.
[[nodiscard]] inline int mixers_of(const Layer& layer) {
  return has_attention(layer) || layer.mamba || layer.linear ? 1 : 0;
}
[[nodiscard]] inline int feed_forwards_of(const Layer& layer) {
  return layer.mlp || layer.experts ? 1 : 0;
}
/// Norms as wide as the layer.
[[nodiscard]] inline int norms_of(const Layer& layer) {
  if (layer.place == NormPlace::Shared) return 1;
  return (mixers_of(layer) + feed_forwards_of(layer)) * (layer.place == NormPlace::Around ? 2 : 1);
}

/// Width of a head's values and output.
[[nodiscard]] inline std::int64_t value_dim_of(const Attention& attention) {
  return attention.v_dim != 0 ? attention.v_dim : attention.head_dim;
}
/// What an attention's products of keys and values make together.
[[nodiscard]] inline std::int64_t key_value_width_of(const Attention& attention) {
  if (!attention.own_keys) return 0;
  return attention.kv_heads * (attention.head_dim + (attention.values ? value_dim_of(attention) : 0));
}

/// Keys that a query sees at most: an indexer picks so many; 0: all.
template <class AnyAttention>
[[nodiscard]] std::int64_t window_of(const AnyAttention& attention) {
  return attention.indexer ? attention.indexer->top_k : attention.window;
}

/// Width of what becomes compressed entries: keys that are values too, and their gates.
[[nodiscard]] inline std::int64_t compressor_width_of(const CompressedAttention& attention,
                                                      std::int64_t head_dim) {
  return attention.rate == 0 ? 0 : 2 * attention.series * head_dim;
}

/// Inner width of a state-space mixer, D, and what its convolution sees, D + 2 G N.
[[nodiscard]] inline std::int64_t width_of(const Mamba& mamba) {
  return mamba.heads * mamba.head_dim;
}
[[nodiscard]] inline std::int64_t conv_width_of(const Mamba& mamba) {
  return width_of(mamba) + 2 * mamba.groups * mamba.state;
}
[[nodiscard]] inline std::int64_t width_of(const Linear& linear) {
  return linear.heads * linear.head_dim;
}
[[nodiscard]] inline std::int64_t conv_width_of(const Linear& linear) {
  const bool is_delta = linear.rule == LinearRule::GatedDelta || linear.rule == LinearRule::KimiDelta;
  return width_of(linear) + (is_delta ? 2 * linear.key_heads * linear.key_dim : 0);
}

}  // namespace pipeloom::model
