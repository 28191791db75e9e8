#include "sim/model/weights.hpp"

#include "sim/model/patterns.hpp"

namespace pipeloom::model {
namespace {

/// Two norms, or one with a bias; keys and weights of heads are of the whole input, which queries need not be.
void add_indexer(Weights& out, const Indexer& indexer, std::int64_t queries, std::int64_t h) {
  out.matrices.add({"indexer queries", queries, indexer.heads * indexer.head_dim});
  out.matrices.add({"indexer keys", h, indexer.head_dim});
  if (indexer.head_weights) out.matrices.add({"indexer weights", h, indexer.heads});
  out.vectors.add({"indexer norm", 2 * indexer.head_dim});
  if (!indexer.pool_gate) return;
  out.matrices.add({"indexer gates", h, indexer.head_dim});
  out.vectors.add({"indexer positions", indexer.pool * indexer.head_dim});
}

void add_attention(Weights& out, const Attention& attention, std::int64_t h) {
  const std::int64_t q = attention.heads * attention.head_dim;
  const std::int64_t kv = key_value_width_of(attention);
  const std::int64_t output = attention.heads * value_dim_of(attention);
  const std::int64_t qkv = q + kv + (attention.gated ? output : 0);
  out.matrices.add({"qkv", h, qkv + (attention.head_gates ? attention.heads : 0), Cut::Columns});
  out.matrices.add({"out", output, h, Cut::Rows});
  const std::int64_t unbiased = attention.key_bias ? 0 : attention.kv_heads * attention.head_dim;
  if (attention.qkv_bias) out.vectors.add({"qkv bias", qkv - unbiased, true});
  if (attention.output_bias) out.vectors.add({"out bias", h});
  const std::int64_t key_norms = attention.own_keys ? 1 : 0;
  if (attention.head_norms) out.vectors.add({"head norms", (1 + key_norms) * attention.head_dim});
  if (attention.wide_norms)
    out.vectors.add({"wide norms", q + key_norms * attention.kv_heads * attention.head_dim, true});
  if (attention.sinks) out.vectors.add({"sinks", attention.heads, true});
  if (attention.indexer) add_indexer(out, *attention.indexer, h, h);
}

void add_latent(Weights& out, NormKind norm, const LatentAttention& latent, std::int64_t h) {
  const std::int64_t q = latent.heads * (latent.nope_dim + latent.rope_dim);
  if (latent.q_rank > 0) {
    out.matrices.add({"q down", h, latent.q_rank});
    out.matrices.add(latent.joint_gate
                         ? Matrix{"q up", 2 * latent.q_rank, q + latent.heads * latent.v_dim, Cut::Columns}
                         : Matrix{"q up", latent.q_rank, q, Cut::Columns});
    out.vectors.add({"q norm", norm_size(norm, latent.q_rank)});
  } else {
    out.matrices.add({"q", h, q, Cut::Columns});
  }
  out.matrices.add({"kv down", h, latent.kv_rank + latent.rope_dim});
  out.matrices.add({"kv up", latent.kv_rank, latent.heads * (latent.nope_dim + latent.v_dim), Cut::Columns});
  out.matrices.add({"out", latent.heads * latent.v_dim, h, Cut::Rows});
  out.vectors.add({"kv norm", norm_size(norm, latent.kv_rank)});
  const std::int64_t gates = latent.gated        ? latent.heads * latent.v_dim
                             : latent.head_gates ? latent.heads
                                                 : 0;
  if (gates > 0) out.matrices.add({"gate", h, gates, Cut::Columns});
  if (latent.sinks) out.vectors.add({"sinks", latent.heads, true});
  if (latent.bias) out.vectors.add({"biases", latent.q_rank + latent.kv_rank + latent.rope_dim + h});
  if (latent.indexer) add_indexer(out, *latent.indexer, latent.q_rank > 0 ? latent.q_rank : h, h);
}

/// Products and vectors of what becomes compressed entries of `width`: a bias for each position in an entry, and a norm.
void add_compressor(Weights& out, const CompressedAttention& attention, std::int64_t width, std::int64_t h) {
  if (attention.rate == 0) return;
  out.matrices.add({"compressor", h, compressor_width_of(attention, width)});
  out.vectors.add({"compressor positions", attention.rate * attention.series * width});
  out.vectors.add({"compressor norm", width});
}

/// Source: DeepseekV4Attention of transformers 5.24.0. The one head of keys is held whole by each tensor rank.
void add_compressed(Weights& out, const CompressedAttention& attention, std::int64_t h) {
  const std::int64_t q = attention.heads * attention.head_dim;
  const std::int64_t narrow = attention.output_groups * attention.output_rank;
  out.matrices.add({"q down", h, attention.q_rank});
  out.matrices.add({"q up", attention.q_rank, q, Cut::Columns});
  out.matrices.add({"kv", h, attention.head_dim});
  out.matrices.add({"out of groups", q / attention.output_groups, narrow, Cut::Columns});
  out.matrices.add({"out", narrow, h, Cut::Rows});
  out.vectors.add({"q norm", attention.q_rank});
  out.vectors.add({"kv norm", attention.head_dim});
  out.vectors.add({"sinks", attention.heads, true});
  add_compressor(out, attention, attention.head_dim, h);
  if (!attention.indexer) return;
  const Indexer& indexer = *attention.indexer;
  out.matrices.add({"indexer queries", attention.q_rank, indexer.heads * indexer.head_dim});
  out.matrices.add({"indexer weights", h, indexer.heads});
  add_compressor(out, attention, indexer.head_dim, h);
}

void add_mamba(Weights& out, const Mamba& mamba, std::int64_t h) {
  const std::int64_t width = width_of(mamba);
  out.matrices.add({"in", h, width + conv_width_of(mamba) + mamba.heads, Cut::Columns});
  out.matrices.add({"out", width, h, Cut::Rows});
  out.vectors.add({"convolution", conv_width_of(mamba) * (mamba.conv + (mamba.conv_bias ? 1 : 0)), true});
  out.vectors.add({"decay, step, skip", 3 * mamba.heads, true});
  if (mamba.gated_norm) out.vectors.add({"gated norm", width, true});
  if (mamba.in_bias) out.vectors.add({"in bias", width + conv_width_of(mamba) + mamba.heads, true});
  if (mamba.out_bias) out.vectors.add({"out bias", h});
}

void add_delta(Weights& out, const Linear& linear, std::int64_t h) {
  const std::int64_t width = width_of(linear);
  if (linear.rule == LinearRule::GatedDelta) {
    out.matrices.add({"in", h, width + conv_width_of(linear) + 2 * linear.heads, Cut::Columns});
    out.vectors.add({"decay, step", 2 * linear.heads, true});
  } else {  // a decay and a gate for each channel, by two products of low rank each, or by whole ones
    const std::int64_t whole = linear.rank == 0 ? 2 * width : 0;
    out.matrices.add({"in", h, conv_width_of(linear) + linear.heads + whole, Cut::Columns});
    if (linear.rank > 0) {
      out.matrices.add({"decay and gate down", h, 2 * linear.rank});
      out.matrices.add({"decay up", linear.rank, width, Cut::Columns});
      out.matrices.add({"gate up", linear.rank, width, Cut::Columns});
    }
    out.vectors.add({"decay, step", linear.heads + width, true});
  }
  out.vectors.add({"gated norm", linear.head_dim});
}

void add_mamba1(Weights& out, const Linear& linear, std::int64_t h) {
  const std::int64_t width = width_of(linear);
  out.matrices.add({"in", h, 2 * width, Cut::Columns});
  out.matrices.add({"steps and states", width, linear.rank + 2 * linear.key_dim, Cut::Rows});
  out.matrices.add({"steps", linear.rank, width, Cut::Columns});
  out.vectors.add({"decay, step, skip", width * (linear.key_dim + 2), true});
  if (linear.norms) out.vectors.add({"norms", linear.rank + 2 * linear.key_dim});
  if (linear.bias) out.vectors.add({"in bias", 2 * width, true});
}

void add_linear(Weights& out, const Linear& linear, std::int64_t h) {
  const std::int64_t width = width_of(linear);
  switch (linear.rule) {
    case LinearRule::GatedDelta:
    case LinearRule::KimiDelta:
      add_delta(out, linear, h);
      break;
    case LinearRule::Lightning:
      out.matrices.add({"in", h, 4 * width, Cut::Columns});
      out.vectors.add({"gated norm", width, true});
      break;
    case LinearRule::Mamba1:
      add_mamba1(out, linear, h);
      break;
    case LinearRule::ShortConv:
      out.matrices.add({"in", h, 3 * width, Cut::Columns});
      if (linear.bias) out.vectors.add({"in bias", 3 * width, true});
      break;
  }
  out.matrices.add({"out", width, h, Cut::Rows});
  if (linear.bias) out.vectors.add({"out bias", h});
  if (linear.conv > 0)
    out.vectors.add(
        {"convolution", conv_width_of(linear) * (linear.conv + (linear.conv_bias ? 1 : 0)), true});
}

void add_mlp(Weights& out, const Mlp& mlp, std::int64_t h) {
  const std::int64_t inner = mlp.gated ? 2 * mlp.ffn : mlp.ffn;
  out.matrices.add({"fc1", h, inner, Cut::Columns});
  out.matrices.add({"fc2", mlp.ffn, h, Cut::Rows});
  if (mlp.bias) {
    out.vectors.add({"fc1 bias", inner, true});
    out.vectors.add({"fc2 bias", h});
  }
}

void add_experts(Weights& out, const Experts& experts, std::int64_t h) {
  const std::int64_t gates = experts.gated ? 2 : 1;
  out.matrices.add({"router", h, experts.experts + experts.zero});
  if (experts.router_bias) out.vectors.add({"router bias", experts.experts + experts.zero});
  if (experts.shared_ffn > 0) {
    out.matrices.add({"shared fc1", h, gates * experts.shared_ffn, Cut::Columns});
    out.matrices.add({"shared fc2", experts.shared_ffn, h, Cut::Rows});
  }
  if (experts.shared_gate) out.vectors.add({"shared gate", h});
  if (experts.shared_bias) out.vectors.add({"shared biases", gates * experts.shared_ffn + h});
  out.matrices.add({"expert fc1", h, gates * experts.ffn, Cut::Whole, experts.experts});
  out.matrices.add({"expert fc2", experts.ffn, h, Cut::Whole, experts.experts});
  if (experts.zero > 0) out.vectors.add({"zero experts", gates * experts.ffn * h, false, experts.zero});
  if (experts.bias) out.vectors.add({"expert biases", gates * experts.ffn + h, false, experts.experts});
}

/// Held whole by every tensor rank: their share of the work is small.
void add_products(Weights& out, std::string_view what, const std::vector<Product>& products) {
  for (const Product& product : products) {
    Matrix matrix{what, product.inputs, product.outputs};
    matrix.tokens = product.tokens;
    out.matrices.add(matrix);
    if (product.bias) out.vectors.add({what, product.outputs});
  }
}

}  // namespace

Weights weights_of(const Model& model, const Layer& layer) {
  const std::int64_t h = model.hidden_of(layer);
  const NormKind norm = model.norm_of(layer);
  Weights out;
  const bool encoder = is_encoder(layer);
  const auto begin = [&](LayerPart part) { out.begin(encoder ? LayerPart::Encoder : part); };
  const LayerPart feed = layer.mlp ? LayerPart::Mlp : LayerPart::Experts;
  begin(LayerPart::Mixer);
  add_products(out, kBefore, layer.before);
  add_products(out, kBeside, layer.beside);
  if (layer.tables != 0) out.vectors.add({"tables", layer.tables});
  if (layer.counted) out.vectors.add({"counted", layer.counted->parameters});
  const int of_mixer = mixers_of(layer) * (layer.place == NormPlace::Around ? 2 : 1);
  for (int i = 0; i < norms_of(layer); ++i) {
    begin(i < of_mixer ? LayerPart::Mixer : feed);
    out.vectors.add({"norm", norm_size(norm, h)});
  }
  begin(LayerPart::Mixer);
  if (layer.attention) add_attention(out, *layer.attention, h);
  if (layer.latent_attention) add_latent(out, norm, *layer.latent_attention, h);
  if (layer.compressed_attention) add_compressed(out, *layer.compressed_attention, h);
  if (layer.mamba) add_mamba(out, *layer.mamba, h);
  if (layer.linear) add_linear(out, *layer.linear, h);
  begin(LayerPart::Mlp);
  if (layer.mlp) add_mlp(out, *layer.mlp, h);
  begin(LayerPart::Experts);
  if (layer.experts) add_experts(out, *layer.experts, h);
  begin(feed);
  if (layer.side > 0) {
    out.matrices.add({"side gate", h, layer.side});
    out.matrices.add({"side", layer.side, h});
    out.vectors.add({"side norm", norm_size(norm, h)});
  }
  out.begin(LayerPart::Projector);
  add_products(out, kBehind, layer.behind);
  return out;
}

}  // namespace pipeloom::model
