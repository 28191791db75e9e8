#include "sim/model/patterns.hpp"
#include "sim/model/shares.hpp"
#include "sim/model/traffic_inside.hpp"
#include "sim/model/weights.hpp"

namespace pipeloom::model {
namespace {

constexpr double kGptBackward = 1.5;  ///< of the forward's bytes, in the list of layer norms

/// Sizes as doubles: what is counted here goes into times, not into counts.
struct Amounts {
  double tokens = 0;    ///< T
  double sequence = 1;  ///< ranks that share tokens
  double tensor = 1;
  double hidden = 0;

  [[nodiscard]] double states() const { return tokens * hidden / sequence; }
};

Amounts amounts_of(const Shares& shares, std::int64_t hidden) {
  return {static_cast<double>(shares.tokens), static_cast<double>(shares.sequence),
          static_cast<double>(shares.tensor), static_cast<double>(hidden)};
}

double inner_of(const Mlp& mlp) {
  return static_cast<double>(mlp.ffn);
}

/// A gated activation reads both halves (4) and writes 2; backward it reads both and a gradient and writes both (10). A plain one: 4 and 6.
Traffic activation(double elements, bool gated) {
  return {"activation", (gated ? 6 : 4) * elements, (gated ? 10 : 6) * elements, 1};
}

/// Scores, softmax and dropout that pass through memory: 13 bytes per score (queries x keys x heads of the rank).
Traffic scores_of(const Attention& attention, const Layer& layer, const Split& split, const Amounts& a) {
  const std::int64_t keys = sample_tokens(layer, split.sequence);
  const double bytes =
      13 * a.tokens * static_cast<double>(keys) * static_cast<double>(attention.heads) / a.tensor;
  return {"scores", bytes, kGptBackward * bytes, 4};
}

Traffic gpt_activation(double elements) {
  return {"activation", 8 * elements, kGptBackward * 8 * elements, 1};
}

// The list of layer norms, per layer: 34 T h + 8 T f / t + 13 T s a / t bytes forward (f = 4 h: 32 T h / t), 1.5 times that backward.

void add_gpt_list(std::vector<Traffic>& out, const Layer& layer, const Split& split, const Amounts& a) {
  for (int part = mixers_of(layer) + feed_forwards_of(layer); part > 0; --part)
    out.push_back({"norm, dropout, residual", 17 * a.states(), kGptBackward * 17 * a.states(), 3});
  if (layer.attention && !split.flash) out.push_back(scores_of(*layer.attention, layer, split, a));
  if (!layer.mlp) return;
  out.push_back(gpt_activation(a.tokens * inner_of(*layer.mlp) / a.tensor));
}

// The list of RMS norms, per norm, residual, and so on.

void add_norm(std::vector<Traffic>& out, const Amounts& a) {
  out.push_back({"norm", 4 * a.states(), 8 * a.states(), 1});
}

void add_part(std::vector<Traffic>& out, const Amounts& a) {
  add_norm(out, a);
  out.push_back({"residual", 6 * a.states(), 6 * a.states(), 1});
}

void add_attention_traffic(std::vector<Traffic>& out, const Attention& attention, const Layer& layer,
                           const Split& split, const Amounts& a) {
  const std::int64_t kv_heads = worked_kv_heads(attention.kv_heads, split);
  const std::int64_t width =
      (attention.heads + kv_heads) * attention.head_dim + kv_heads * value_dim_of(attention);
  const double qkv = 2 * a.tokens * static_cast<double>(width) / a.tensor;
  out.push_back({"rope", 2 * qkv, qkv, 1});
  if (!split.flash) out.push_back(scores_of(attention, layer, split, a));
}

void add_latent_traffic(std::vector<Traffic>& out, const LatentAttention& latent, const Amounts& a) {
  const double queries =
      2 * a.tokens * static_cast<double>(latent.heads * (latent.nope_dim + latent.rope_dim)) / a.tensor;
  out.push_back({"splits of queries and keys", 8 * queries, 8 * queries, 4});
}

/// Norms and turns of queries, keys and outputs, and softmax over each entry's tokens: each reads and writes. Backward twice that; fitted to nothing.
void add_compressed_traffic(std::vector<Traffic>& out, const CompressedAttention& attention,
                            const Amounts& a) {
  const double queries = 2 * a.tokens * static_cast<double>(attention.heads * attention.head_dim) / a.tensor;
  const double entries =
      2 * a.tokens / a.sequence * static_cast<double>(compressor_width_of(attention, attention.head_dim));
  out.push_back({"norms and turns of heads", 6 * queries, 12 * queries, 3});
  if (attention.rate > 0) out.push_back({"compressor", 2 * entries, 4 * entries, 2});
}

/// Hyper-connections around a part: n streams are read for their weights, read again to be mixed into one, and read with the part's output to be written anew.
void add_streams_traffic(std::vector<Traffic>& out, double streams, const Amounts& a) {
  const double bytes = 2 * (4 * streams + 2) * a.states();
  out.push_back({"hyper-connection", bytes, 2 * bytes, 4});
}

/// Convolution (read and write), scan (reads its inputs and steps, writes its output), gated norm (reads two, writes one); backward twice
/// that. A roofline of Mamba-2's kernels (arXiv 2405.21060), fitted to nothing.
void add_mamba_traffic(std::vector<Traffic>& out, const Mamba& mamba, const Amounts& a) {
  const auto width = static_cast<double>(width_of(mamba));
  const auto conv = static_cast<double>(conv_width_of(mamba));
  const double tokens = a.tokens / a.tensor;
  const double scan = tokens * (2 * (conv + width) + 4 * static_cast<double>(mamba.heads));
  out.push_back({"convolution", 4 * tokens * conv, 8 * tokens * conv, 1});
  out.push_back({"scan", scan, 2 * scan, 5});
  out.push_back({"gated norm", 6 * tokens * width, 10 * tokens * width, 1});
}

void add_linear_traffic(std::vector<Traffic>& out, const Linear& linear, const Amounts& a) {
  const auto width = static_cast<double>(width_of(linear));
  const auto conv = static_cast<double>(conv_width_of(linear));
  const double tokens = a.tokens / a.tensor;
  if (linear.conv > 0) out.push_back({"convolution", 4 * tokens * conv, 8 * tokens * conv, 1});
  if (linear.rule != LinearRule::ShortConv) {
    const double scan = tokens * (2 * (conv + width) + 8 * static_cast<double>(linear.heads));
    out.push_back({"scan", scan, 2 * scan, 5});
  }
  out.push_back({"gated norm", 6 * tokens * width, 10 * tokens * width, 1});
}

void add_experts_traffic(std::vector<Traffic>& out, const Experts& experts, const Shares& shares,
                         const Split& split, const Amounts& a) {
  const auto routed = static_cast<double>(routed_tokens(experts, shares, split));
  out.push_back({"permutation", 6 * 2 * routed * a.hidden, 6 * 2 * routed * a.hidden, 3});
  out.push_back(activation(routed * static_cast<double>(experts.ffn), experts.gated));
  if (experts.shared_ffn > 0)
    out.push_back(activation(a.tokens * static_cast<double>(experts.shared_ffn) / a.tensor, experts.gated));
}

/// Activations of an encoder's patch embedding or projector.
void add_product_traffic(std::vector<Traffic>& out, const Model& model, const std::vector<Product>& products,
                         const Layer& layer, const Split& split) {
  for (const Product& product : products) {
    if (!product.activation) continue;
    const double elements = amounts_of(shares_of(product, layer, split), product.outputs).states();
    out.push_back(model.norm == NormKind::Layer ? gpt_activation(elements) : activation(elements, false));
  }
}

}  // namespace

void add_layer_traffic(std::vector<Traffic>& out, const Model& model, const Layer& layer,
                       const Split& split) {
  const Shares shares = shares_of(layer, split);
  const Amounts a = amounts_of(shares, model.hidden_of(layer));
  if (model.norm == NormKind::Layer) {
    add_gpt_list(out, layer, split, a);
  } else {
    const int parts = mixers_of(layer) + feed_forwards_of(layer);
    for (int part = parts; part > 0; --part) add_part(out, a);
    for (int norm = norms_of(layer); norm > parts; --norm) add_norm(out, a);
    if (layer.attention) add_attention_traffic(out, *layer.attention, layer, split, a);
    if (layer.mlp) out.push_back(activation(a.tokens * inner_of(*layer.mlp) / a.tensor, layer.mlp->gated));
  }
  if (layer.latent_attention) add_latent_traffic(out, *layer.latent_attention, a);
  if (layer.compressed_attention) add_compressed_traffic(out, *layer.compressed_attention, a);
  if (model.streams > 1 && !is_encoder(layer))
    for (int part = mixers_of(layer) + feed_forwards_of(layer); part > 0; --part)
      add_streams_traffic(out, static_cast<double>(model.streams), a);
  if (layer.mamba) add_mamba_traffic(out, *layer.mamba, a);
  if (layer.linear) add_linear_traffic(out, *layer.linear, a);
  if (layer.experts) add_experts_traffic(out, *layer.experts, shares, split, a);
  add_product_traffic(out, model, layer.before, layer, split);
  add_product_traffic(out, model, layer.behind, layer, split);
  add_product_traffic(out, model, layer.beside, layer, split);
}

void add_embedding_traffic(std::vector<Traffic>& out, const Model& model, const Split& split) {
  const double bytes = 10 * amounts_of(shares_of(split), model.hidden).states();
  out.push_back({"embedding", bytes, bytes, 2});
}

void add_final_norm_traffic(std::vector<Traffic>& out, const Model& model, const Split& split) {
  if (model.final_norm) add_norm(out, amounts_of(shares_of(split), model.hidden));
}

void add_loss_traffic(std::vector<Traffic>& out, const Model& model, const Split& split) {
  const Amounts a = amounts_of(shares_of(split), model.hidden);
  const double logits = a.tokens * static_cast<double>(model.vocabulary) / (a.tensor * split.output);
  const double each = model.norm == NormKind::Layer ? 8 : 5;
  out.push_back({"cross entropy", each * logits, each * logits, 3});
}

void add_mtp_traffic(std::vector<Traffic>& out, const Model& model, const Split& split) {
  const Amounts a = amounts_of(shares_of(split), model.hidden);
  add_norm(out, a);
  add_norm(out, a);
}

}  // namespace pipeloom::model
