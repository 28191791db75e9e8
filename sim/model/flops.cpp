// FLOPs of a model as MFU counts them: no padding, nothing recomputed, nothing shared out.

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "sim/model/counted.hpp"
#include "sim/model/patterns.hpp"
#include "sim/model/shares.hpp"
#include "sim/model/trainable.hpp"
#include "sim/model/weights.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::model {
namespace {

/// Passes that a product of this part has: F, I where the backward reaches it, W where it is trained.
int passes_of(LayerPart part, const Trainable& trainable) {
  return 1 + (trainable.reaches(part) ? 1 : 0) + (trainable.trains(part) ? 1 : 0);
}

/// All passes, of a sample of so many tokens: 2 in each per weight that a token passes. An adapter's pair has all three where it is reached.
double product_flops(const Model& model, const Layer& layer, std::int64_t tokens,
                     const Trainable& trainable) {
  double sum = 0;
  for (const Matrix& matrix : weights_of(model, layer).matrices) {
    const double rows = 2.0 * static_cast<double>(matrix.experts == 0 ? 1 : layer.experts->top_k) *
                        static_cast<double>(matrix.tokens != 0 ? matrix.tokens : tokens);
    sum += passes_of(matrix.part, trainable) * rows * static_cast<double>(matrix.inputs) *
           static_cast<double>(matrix.outputs);
    if (trainable.adapts(matrix.part))
      sum += 3 * rows * static_cast<double>(trainable.rank) *
             static_cast<double>(matrix.inputs + matrix.outputs);
  }
  // The side inputs of all layers are made by one product, which belongs to none of them.
  const int passes = passes_of(layer.mlp ? LayerPart::Mlp : LayerPart::Experts, trainable);
  sum +=
      passes * 2.0 * static_cast<double>(tokens) * static_cast<double>(model.hidden_of(layer) * layer.side);
  return sum;
}

/// Forward, of a token: of D channels with N states each as Megatron-LM counts them (Mamba-2: 7 D N; delta rules: four products of a state, 8 D N), a
/// selective scan of 9 D N (arXiv 2312.00752), a state that is added to and read (4 D N), or a convolution alone.
double scan_flops(const Linear& linear) {
  const auto width = static_cast<double>(width_of(linear));
  const double taps = 2 * static_cast<double>(conv_width_of(linear) * linear.conv);
  switch (linear.rule) {
    case LinearRule::GatedDelta:
    case LinearRule::KimiDelta:
      return 8 * width * static_cast<double>(linear.key_dim) + taps;
    case LinearRule::Lightning:
      return 4 * width * static_cast<double>(linear.head_dim);
    case LinearRule::Mamba1:
      return 9 * width * static_cast<double>(linear.key_dim) + taps;
    case LinearRule::ShortConv:
      return taps;
  }
  return 0;
}

/// Scores of an indexer, of a sample: it looks at all keys.
double indexer_flops(const Indexer& indexer, std::int64_t tokens, std::int64_t keys, bool full_square) {
  CoreAttention core;
  core.batch = 1;
  core.queries = tokens;
  core.keys = keys;
  core.heads = indexer.heads;
  core.qk_dim = indexer.head_dim;
  return full_square ? core.full_flops() : core.flops();
}

/// Of one that looks at blocks of the layer's own keys.
double pooled_flops(const Indexer& indexer, std::int64_t tokens, bool full_square) {
  return indexer_flops(indexer, tokens, std::max<std::int64_t>(1, tokens / indexer.pool), full_square);
}

/// Forward, of a sample: the window, the compressed entries, and their indexer.
double compressed_flops(const CompressedAttention& attention, std::int64_t tokens, bool full_square) {
  CoreAttention core;
  core.batch = 1;
  core.queries = core.keys = tokens;
  core.heads = attention.heads;
  core.qk_dim = core.v_dim = attention.head_dim;
  core.window = attention.window;
  const auto flops_of = [&] { return full_square ? core.full_flops() : core.flops(); };
  double sum = flops_of();
  if (attention.rate == 0) return sum;
  core.keys = std::max<std::int64_t>(1, tokens / attention.rate);
  core.window = attention.indexer ? attention.indexer->top_k : 0;
  sum += flops_of();
  return sum + (attention.indexer ? indexer_flops(*attention.indexer, tokens, core.keys, full_square) : 0);
}

/// Forward, of a sample of so many tokens: core attention, and scans.
double mixing_flops(const Layer& layer, std::int64_t tokens, bool full_square) {
  double scans = 0;
  if (layer.mamba)
    scans =
        7 * static_cast<double>(tokens) * static_cast<double>(width_of(*layer.mamba) * layer.mamba->state);
  if (layer.linear) scans += static_cast<double>(tokens) * scan_flops(*layer.linear);
  if (layer.compressed_attention)
    return scans + compressed_flops(*layer.compressed_attention, tokens, full_square);
  CoreAttention core;
  core.batch = 1;
  core.queries = tokens;
  core.keys = tokens;
  if (const auto& attention = layer.attention) {
    core.heads = attention->heads;
    core.qk_dim = attention->head_dim;
    core.v_dim = value_dim_of(*attention);
    core.causal = attention->causal;
    core.window = window_of(*attention);
    core.chunked = attention->chunked;
    if (attention->indexer) scans += pooled_flops(*attention->indexer, tokens, full_square);
  } else if (const auto& latent = layer.latent_attention) {
    core.heads = latent->heads;
    core.qk_dim = latent->nope_dim + latent->rope_dim;
    core.v_dim = latent->v_dim;
    core.window = window_of(*latent);
    if (latent->indexer) scans += pooled_flops(*latent->indexer, tokens, full_square);
  } else {
    return scans;
  }
  return scans + (full_square ? core.full_flops() : core.flops());
}

/// All passes, of a sample: core attention and scans have no weights, and twice their forward in I.
double layer_flops(const Model& model, const Layer& layer, std::int64_t sequence, bool full_square,
                   std::span<const std::int64_t> documents, const Trainable& trainable) {
  if (layer.counted) return 3 * counted_flops(*layer.counted, full_square);
  const bool packed = layer.tokens == 0 && !documents.empty();
  const std::int64_t tokens = sample_tokens(layer, sequence);
  const double out = product_flops(model, layer, tokens, trainable);
  const int passes = trainable.reaches(is_encoder(layer) ? LayerPart::Encoder : LayerPart::Mixer) ? 3 : 1;
  if (!packed) return out + passes * mixing_flops(layer, tokens, full_square);
  double mixing = 0;
  for (const std::int64_t length : documents) mixing += mixing_flops(layer, length, full_square);
  return out + passes * mixing;
}

double whole_layer_flops(const Model& model, const Layer& layer, std::int64_t sequence, bool full_square,
                         std::span<const std::int64_t> documents, const Trainable& trainable) {
  double out = layer_flops(model, layer, sequence, full_square, documents, trainable);
  for (const Layer& part : layer.then)
    out += layer_flops(model, part, sequence, full_square, documents, trainable);
  return out;
}

/// Layers of each kind, by how far the backward goes into them: [letter][reach].
using Counts = std::array<std::array<std::int64_t, 3>, 256>;
Counts counts_of(const Model& model, const Trainable& trainable) {
  Counts out = {};
  const std::vector<Reach> reaches = reaches_of(model, trainable);
  for (std::size_t i = 0; i < reaches.size(); ++i)
    ++out.at(static_cast<unsigned char>(model.layers[i])).at(static_cast<std::size_t>(reaches[i]));
  const Reach at_end = trainable.head_backward ? Reach::Whole : Reach::None;
  out.at(static_cast<unsigned char>(model.mtp_letter)).at(static_cast<std::size_t>(at_end)) += model.mtp;
  return out;
}

}  // namespace

double flops_per_token(const Model& model, std::int64_t sequence, bool full_square,
                       std::span<const std::int64_t> documents, const Trainable& trainable) {
  const Counts times = counts_of(model, trainable);
  double sample = 0;
  for (const Layer& layer : model.kinds)
    for (const Reach reach : {Reach::Whole, Reach::Late, Reach::None}) {
      const auto n = times.at(static_cast<unsigned char>(layer.letter)).at(static_cast<std::size_t>(reach));
      if (n == 0) continue;
      Trainable at = trainable;
      at.reach = reach;
      sample +=
          static_cast<double>(n) * whole_layer_flops(model, layer, sequence, full_square, documents, at);
    }
  const auto h = static_cast<double>(model.hidden);
  const double ends = 2 * h * static_cast<double>(model.vocabulary) * (1 + model.mtp) +
                      2 * 2 * h * h * model.mtp + (model.head_product ? 2 * h * h : 0);
  const int passes = 1 + (trainable.head_backward ? 1 : 0) + (trainable.head ? 1 : 0);
  return sample / static_cast<double>(sequence) + passes * ends;
}

}  // namespace pipeloom::model
