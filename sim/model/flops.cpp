// FLOPs of a model as MFU counts them: no padding, nothing recomputed, nothing shared out.

#include <array>
#include <cstddef>

#include "sim/model/shares.hpp"
#include "sim/model/weights.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::model {
namespace {

/// Forward, of a sample of so many tokens: 2 per weight that each passes.
double product_flops(const Model& model, const Layer& layer, std::int64_t tokens) {
  double sum = 0;
  for (const Matrix& matrix : weights_of(model, layer).matrices)
    sum += 2.0 * static_cast<double>(matrix.inputs) * static_cast<double>(matrix.outputs) *
           static_cast<double>(matrix.experts == 0 ? 1 : layer.experts->top_k) *
           static_cast<double>(matrix.tokens != 0 ? matrix.tokens : tokens);
  return sum;
}

/// Forward, of a sample of so many tokens: core attention, or a scan of 7 D N per token as Megatron-LM counts it.
double mixing_flops(const Layer& layer, std::int64_t tokens, bool full_square) {
  if (layer.mamba)
    return 7 * static_cast<double>(tokens) * static_cast<double>(width_of(*layer.mamba) * layer.mamba->state);
  CoreAttention core;
  core.batch = 1;
  core.queries = tokens;
  core.keys = tokens;
  if (const auto& attention = layer.attention) {
    core.heads = attention->heads;
    core.qk_dim = attention->head_dim;
    core.v_dim = attention->head_dim;
    core.causal = attention->causal;
    core.window = attention->window;
  } else if (const auto& latent = layer.latent_attention) {
    core.heads = latent->heads;
    core.qk_dim = latent->nope_dim + latent->rope_dim;
    core.v_dim = latent->v_dim;
  } else {
    return 0;
  }
  return full_square ? core.full_flops() : core.flops();
}

/// Forward, of a sample.
double layer_flops(const Model& model, const Layer& layer, std::int64_t sequence, bool full_square,
                   std::span<const std::int64_t> documents) {
  const bool packed = layer.tokens == 0 && !documents.empty();
  const std::int64_t tokens = sample_tokens(layer, sequence);
  double out = product_flops(model, layer, tokens);
  if (!packed) return out + mixing_flops(layer, tokens, full_square);
  for (const std::int64_t length : documents) out += mixing_flops(layer, length, full_square);
  return out;
}

}  // namespace

double flops_per_token(const Model& model, std::int64_t sequence, bool full_square,
                       std::span<const std::int64_t> documents) {
  std::array<std::int64_t, 256> times = {};
  for (const char letter : model.layers) ++times.at(static_cast<unsigned char>(letter));
  times.at(static_cast<unsigned char>(model.mtp_letter)) += model.mtp;
  double sample = 0;
  for (const Layer& layer : model.kinds)
    if (const auto n = times.at(static_cast<unsigned char>(layer.letter)); n > 0)
      sample += static_cast<double>(n) * layer_flops(model, layer, sequence, full_square, documents);
  const auto h = static_cast<double>(model.hidden);
  const double ends =
      2 * h * static_cast<double>(model.vocabulary) * (1 + model.mtp) + 2 * 2 * h * h * model.mtp;
  return 3 * (sample / static_cast<double>(sequence) + ends);
}

}  // namespace pipeloom::model
