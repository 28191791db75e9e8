#include "sim/model/weights.hpp"

namespace pipeloom::model {
namespace {

void add_attention(Weights& out, const Attention& attention, std::int64_t h) {
  const std::int64_t q = attention.heads * attention.head_dim;
  const std::int64_t qkv = q + 2 * attention.kv_heads * attention.head_dim;
  out.matrices.add({"qkv", h, qkv, Cut::Columns});
  out.matrices.add({"out", q, h, Cut::Rows});
  const std::int64_t unbiased = attention.key_bias ? 0 : attention.kv_heads * attention.head_dim;
  if (attention.qkv_bias) out.vectors.add({"qkv bias", qkv - unbiased, true});
  if (attention.output_bias) out.vectors.add({"out bias", h});
  if (attention.head_norms) out.vectors.add({"head norms", 2 * attention.head_dim});
}

void add_latent(Weights& out, NormKind norm, const LatentAttention& latent, std::int64_t h) {
  const std::int64_t q = latent.heads * (latent.nope_dim + latent.rope_dim);
  if (latent.q_rank > 0) {
    out.matrices.add({"q down", h, latent.q_rank});
    out.matrices.add({"q up", latent.q_rank, q, Cut::Columns});
    out.vectors.add({"q norm", norm_size(norm, latent.q_rank)});
  } else {
    out.matrices.add({"q", h, q, Cut::Columns});
  }
  out.matrices.add({"kv down", h, latent.kv_rank + latent.rope_dim});
  out.matrices.add({"kv up", latent.kv_rank, latent.heads * (latent.nope_dim + latent.v_dim), Cut::Columns});
  out.matrices.add({"out", latent.heads * latent.v_dim, h, Cut::Rows});
  out.vectors.add({"kv norm", norm_size(norm, latent.kv_rank)});
}

void add_mamba(Weights& out, const Mamba& mamba, std::int64_t h) {
  const std::int64_t width = width_of(mamba);
  out.matrices.add({"in", h, width + conv_width_of(mamba) + mamba.heads, Cut::Columns});
  out.matrices.add({"out", width, h, Cut::Rows});
  out.vectors.add({"convolution", conv_width_of(mamba) * (mamba.conv + 1), true});
  out.vectors.add({"decay, step, skip", 3 * mamba.heads, true});
  out.vectors.add({"gated norm", width, true});
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
  out.matrices.add({"router", h, experts.experts});
  if (experts.router_bias) out.vectors.add({"router bias", experts.experts});
  if (experts.shared_ffn > 0) {
    out.matrices.add({"shared fc1", h, gates * experts.shared_ffn, Cut::Columns});
    out.matrices.add({"shared fc2", experts.shared_ffn, h, Cut::Rows});
  }
  if (experts.shared_gate) out.vectors.add({"shared gate", h});
  out.matrices.add({"expert fc1", h, gates * experts.ffn, Cut::Whole, experts.experts});
  out.matrices.add({"expert fc2", experts.ffn, h, Cut::Whole, experts.experts});
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
  add_products(out, kBefore, layer.before);
  if (layer.tables != 0) out.vectors.add({"tables", layer.tables});
  if (mixers_of(layer) != 0) out.vectors.add({"norm", norm_size(norm, h)});
  if (layer.attention) add_attention(out, *layer.attention, h);
  if (layer.latent_attention) add_latent(out, norm, *layer.latent_attention, h);
  if (layer.mamba) add_mamba(out, *layer.mamba, h);
  if (feed_forwards_of(layer) != 0) out.vectors.add({"norm", norm_size(norm, h)});
  if (layer.mlp) add_mlp(out, *layer.mlp, h);
  if (layer.experts) add_experts(out, *layer.experts, h);
  add_products(out, kBehind, layer.behind);
  return out;
}

}  // namespace pipeloom::model
