// Products, attention and collectives of a layer. Traffic stands in traffic.cpp.

#include "sim/model/work.hpp"

#include <algorithm>

#include "sim/model/counted.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/shares.hpp"
#include "sim/model/traffic_inside.hpp"
#include "sim/model/trainable.hpp"
#include "sim/model/weights.hpp"

namespace pipeloom::model {
namespace {

using Times = std::array<int, kPasses>;

double as_bytes(std::int64_t tokens, std::int64_t width) {
  return 2.0 * static_cast<double>(tokens) * static_cast<double>(width);
}

/// Matrices that are not cut see the tokens of the sequence's share, the others those of all t ranks.
Gemm gemm_of(const Matrix& matrix, const Layer& layer, const Split& split) {
  const Shares shares = shares_of(matrix, layer, split);
  Gemm gemm{matrix.what, shares.tokens, matrix.inputs, matrix.outputs, 1, matrix.part};
  if (matrix.experts != 0) {
    gemm.m = expert_tokens(*layer.experts, shares, split);
    gemm.groups = matrix.experts / split.expert;
  } else if (matrix.cut == Cut::Whole) {
    gemm.m = ceil_divide(shares.tokens, shares.sequence);
  } else if (matrix.cut == Cut::Columns) {
    gemm.n /= split.tensor;
  } else {
    gemm.k /= split.tensor;
  }
  return gemm;
}

/// A region of tensor parallelism: from tokens that are shared out to products that see all of them, and back. `inputs` and `outputs` are
/// widths of what is gathered and of what is added up.
void add_region(Work& work, std::string_view what, const Shares& shares, std::int64_t inputs,
                std::int64_t outputs) {
  if (shares.tensor == 1) return;
  const double in = as_bytes(shares.tokens, inputs);
  const double out = as_bytes(shares.tokens, outputs);
  if (shares.sequence == 1) {
    work.collectives.push_back({what, CollectiveKind::AllReduce, Group::Tensor, out, Times{1, 0, 0}});
    work.collectives.push_back({what, CollectiveKind::AllReduce, Group::Tensor, in, Times{0, 1, 0}});
    return;
  }
  // The input is gathered again for the gradients of the weights, rather than kept whole.
  work.collectives.push_back({what, CollectiveKind::AllGather, Group::Tensor, in, Times{1, 0, 1}});
  work.collectives.push_back({what, CollectiveKind::ReduceScatter, Group::Tensor, out, Times{1, 0, 0}});
  work.collectives.push_back({what, CollectiveKind::AllGather, Group::Tensor, out, Times{0, 1, 0}});
  work.collectives.push_back({what, CollectiveKind::ReduceScatter, Group::Tensor, in, Times{0, 1, 0}});
}

/// One entry per length: packed documents attend to themselves alone. A key is made of `rate` tokens.
void add_core(Work& work, CoreAttention core, const Layer& layer, const Split& split, std::int64_t rate = 1) {
  const std::int64_t sample = sample_tokens(layer, split.sequence);
  const bool heads = shares_heads(core.heads, core.kv_heads, split);
  const std::int64_t ranks = std::int64_t{split.tensor} * (heads ? split.context : 1);
  core.heads /= ranks;
  core.kv_heads /= ranks;
  core.flash = split.flash;
  const auto add = [&](std::int64_t length, std::int64_t batch) {
    core.batch = batch;
    core.keys = std::max<std::int64_t>(1, length / rate);
    core.queries = heads ? length : ceil_divide(length, split.context);
    work.attention.push_back(core);
  };
  if (split.documents.empty() || layer.tokens != 0) return add(sample, split.micro_batch);
  std::vector<std::int64_t> lengths = split.documents;
  std::sort(lengths.begin(), lengths.end());
  for (auto at = lengths.begin(); at != lengths.end();) {
    const auto next = std::upper_bound(at, lengths.end(), *at);
    add(*at, (next - at) * split.micro_batch);
    at = next;
  }
}

/// Shared heads: all-to-alls of queries, keys, values before and of the output behind. Shared queries: keys and values are gathered, and
/// gathered again for the backward, whose gradients are added up (Llama 3, arXiv 2407.21783, section 3.3.2).
void add_context(Work& work, const Shares& shares, bool heads, std::int64_t qkv, std::int64_t kv,
                 std::int64_t output, const Split& split) {
  if (split.context == 1) return;
  const auto add = [&](std::string_view what, CollectiveKind kind, std::int64_t tokens, std::int64_t width,
                       Times times) {
    work.collectives.push_back({what, kind, Group::Context, as_bytes(tokens, width) / split.tensor, times});
  };
  if (heads) {
    add("queries, keys, values", CollectiveKind::AllToAll, shares.tokens, qkv, {1, 1, 0});
    add("attention output", CollectiveKind::AllToAll, shares.tokens, output, {1, 1, 0});
  } else {
    add("keys, values", CollectiveKind::AllGather, shares.tokens * split.context, kv, {1, 1, 0});
    add("keys, values", CollectiveKind::ReduceScatter, shares.tokens * split.context, kv, {0, 1, 0});
  }
}

/// Every tensor rank scores all of its heads; the product of queries and keys alone.
void add_indexer(Work& work, const Indexer& indexer, const Layer& layer, const Split& split,
                 std::int64_t rate) {
  CoreAttention core;
  core.heads = indexer.heads * split.tensor;
  core.kv_heads = split.tensor;
  core.qk_dim = indexer.head_dim;
  add_core(work, core, layer, split, rate);
}

void add_attention(Work& work, const Attention& attention, const Layer& layer, const Split& split,
                   const Shares& shares) {
  const std::int64_t kv_heads = worked_kv_heads(attention.kv_heads, split);
  CoreAttention core;
  core.heads = attention.heads;
  core.kv_heads = kv_heads;
  core.qk_dim = attention.head_dim;
  core.v_dim = value_dim_of(attention);
  core.causal = attention.causal;
  core.window = window_of(attention);
  core.chunked = attention.chunked;
  add_core(work, core, layer, split);
  if (attention.indexer) add_indexer(work, *attention.indexer, layer, split, attention.indexer->pool);
  const std::int64_t kv = kv_heads * (attention.head_dim + value_dim_of(attention));
  const std::int64_t q = attention.heads * attention.head_dim;
  const std::int64_t output = attention.heads * value_dim_of(attention);
  if (kv_heads != attention.kv_heads) {
    // The weights are cut without regard to heads: what they make is gathered, and each rank takes its heads of it.
    const double bytes = as_bytes(shares.tokens, q + key_value_width_of(attention));
    work.collectives.push_back({"qkv", CollectiveKind::AllGather, Group::Tensor, bytes, Times{1, 0, 0}});
    work.collectives.push_back({"qkv", CollectiveKind::ReduceScatter, Group::Tensor, bytes, Times{0, 1, 0}});
  }
  add_context(work, shares, shares_heads(attention.heads, kv_heads, split), q + kv, kv, output, split);
}

void add_latent(Work& work, const LatentAttention& latent, const Layer& layer, const Split& split,
                const Shares& shares) {
  CoreAttention core;
  core.heads = latent.heads;
  core.kv_heads = latent.heads;
  core.qk_dim = latent.nope_dim + latent.rope_dim;
  core.v_dim = latent.v_dim;
  core.window = window_of(latent);
  add_core(work, core, layer, split);
  if (latent.indexer) add_indexer(work, *latent.indexer, layer, split, latent.indexer->pool);
  const std::int64_t kv = latent.heads * (core.qk_dim + core.v_dim);
  add_context(work, shares, shares_heads(latent.heads, latent.heads, split), kv + latent.heads * core.qk_dim,
              kv, latent.heads * core.v_dim, split);
}

/// A window of the keys, and compressed entries: each tensor rank has the one head of both.
void add_compressed(Work& work, const CompressedAttention& attention, const Layer& layer, const Split& split,
                    const Shares& shares) {
  CoreAttention core;
  core.heads = attention.heads;
  core.kv_heads = worked_kv_heads(1, split);
  core.qk_dim = core.v_dim = attention.head_dim;
  core.window = attention.window;
  add_core(work, core, layer, split);
  std::int64_t kv = core.kv_heads * attention.head_dim;
  if (attention.rate > 0) {
    core.window = attention.indexer ? attention.indexer->top_k : 0;
    add_core(work, core, layer, split, attention.rate);
    if (attention.indexer) add_indexer(work, *attention.indexer, layer, split, attention.rate);
    kv += core.kv_heads * ceil_divide(attention.head_dim, attention.rate);
  }
  add_context(work, shares, false, 0, kv, 0, split);
}

void add_experts(Work& work, const Experts& experts, const Split& split, const Shares& shares,
                 std::int64_t h) {
  if (experts.shared_ffn > 0) add_region(work, "shared experts", shares, h, h);
  if (split.expert == 1) return;
  const double bytes = as_bytes(routed_tokens(experts, shares, split), h);
  work.collectives.push_back({"dispatch", CollectiveKind::AllToAll, Group::Expert, bytes, Times{1, 1, 0}});
  work.collectives.push_back({"combine", CollectiveKind::AllToAll, Group::Expert, bytes, Times{1, 1, 0}});
}

/// Pairs of a query and a key that it sees, as areas: the diagonal counts half.
double seen_pairs(const CoreAttention& core) {
  const auto queries = static_cast<double>(core.queries);
  const auto keys = static_cast<double>(core.keys);
  const double window = core.window == 0 ? keys : std::min(static_cast<double>(core.window), keys);
  if (core.causal && core.chunked) return queries * window / 2;
  if (core.causal) return queries / keys * (window * keys - window * window / 2);
  return queries * window;
}

/// The states are gathered for the product and again for its weights' gradient; their own gradient is added up.
void add_head_collectives(Work& work, const Model& model, const Shares& shares) {
  const double bytes = as_bytes(shares.tokens, model.hidden);
  if (shares.sequence > 1) {
    work.collectives.push_back({"head", CollectiveKind::AllGather, Group::Tensor, bytes, Times{1, 0, 1}});
    work.collectives.push_back({"head", CollectiveKind::ReduceScatter, Group::Tensor, bytes, Times{0, 1, 0}});
  } else {
    work.collectives.push_back({"head", CollectiveKind::AllReduce, Group::Tensor, bytes, Times{0, 1, 0}});
  }
  // Cross entropy over a vocabulary that is cut: largest logit, the target's, the sum of exponentials.
  work.collectives.push_back({"loss", CollectiveKind::AllReduce, Group::Tensor,
                              4.0 * static_cast<double>(shares.tokens), Times{3, 0, 0}});
}

/// The product in front of the final norm, which every tensor rank holds whole, for the tokens that it shares.
void add_head_product(Work& work, const Model& model, const Split& split) {
  if (!model.head_product) return;
  const Shares shares = shares_of(split);
  work.gemms.push_back(
      {"head product", ceil_divide(shares.tokens, shares.sequence), model.hidden, model.hidden, 1});
}

void drop_backward(Work& work) {
  for (Traffic& traffic : work.traffic) traffic.backward = 0;
  for (Collective& collective : work.collectives) collective.times[1] = collective.times[2] = 0;
}

/// The loss, the final norm and the head's product: what they have in the backward where something in front of them is trained, or they are.
void freeze_head(Work& work, const Trainable& trainable) {
  for (Gemm& gemm : work.gemms) {
    gemm.input_gradient = trainable.head_backward;
    gemm.weight_gradient = trainable.head;
  }
  for (Collective& collective : work.collectives) {
    if (!trainable.head_backward) collective.times[1] = 0;
    if (!trainable.head) collective.times[2] = 0;
  }
}

template <class Item>
void append(std::vector<Item>& to, const std::vector<Item>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void append(Work& to, const Work& from) {
  append(to.gemms, from.gemms);
  append(to.attention, from.attention);
  append(to.traffic, from.traffic);
  append(to.collectives, from.collectives);
}

/// Without the parts that run after these.
Work own_work(const Model& model, const Layer& layer, const Split& split) {
  if (layer.counted) return counted_work(*layer.counted, split);
  const Shares shares = shares_of(layer, split);
  const std::int64_t h = model.hidden_of(layer);
  Work work;
  work.gemms.reserve(12);
  work.traffic.reserve(12);
  work.collectives.reserve(12);
  for (const Matrix& matrix : weights_of(model, layer).matrices)
    work.gemms.push_back(gemm_of(matrix, layer, split));
  if (layer.side > 0) {  // its share of the product that makes all layers' side inputs
    Matrix matrix{"side inputs", h, layer.side};
    matrix.part = layer.mlp ? LayerPart::Mlp : LayerPart::Experts;
    work.gemms.push_back(gemm_of(matrix, layer, split));
  }
  if (layer.attention) add_attention(work, *layer.attention, layer, split, shares);
  if (layer.latent_attention) {
    const LatentAttention& latent = *layer.latent_attention;
    add_latent(work, latent, layer, split, shares);
    // What is gathered is compressed.
    add_region(work, "attention", shares,
               (latent.q_rank > 0 ? latent.q_rank : h) + latent.kv_rank + latent.rope_dim, h);
  } else if (layer.compressed_attention) {
    const CompressedAttention& attention = *layer.compressed_attention;
    add_compressed(work, attention, layer, split, shares);
    add_region(work, "attention", shares, attention.q_rank + attention.head_dim, h);
  } else if (mixers_of(layer) != 0) {
    const bool scans = layer.mamba || layer.linear;
    add_region(work, scans && !layer.attention ? "mamba" : "attention", shares, h, h);
  }
  if (layer.mlp) add_region(work, "mlp", shares, h, h);
  if (layer.experts) add_experts(work, *layer.experts, split, shares, h);
  add_layer_traffic(work.traffic, model, layer, split);
  freeze(work, layer, split);
  return work;
}

}  // namespace

double CoreAttention::flops() const {
  return 2 * static_cast<double>(batch) * seen_pairs(*this) * static_cast<double>(heads) *
         static_cast<double>(qk_dim + v_dim);
}

double CoreAttention::full_flops() const {
  return 2 * static_cast<double>(batch) * static_cast<double>(queries) * static_cast<double>(keys) *
         static_cast<double>(heads) * static_cast<double>(qk_dim + v_dim);
}

Work work_of(const Model& model, const Layer& layer, const Split& split) {
  Work work = own_work(model, layer, split);
  for (const Layer& part : layer.then) append(work, own_work(model, part, split));
  return work;
}

Work embedding_work(const Model& model, const Split& split) {
  const Shares shares = shares_of(split);
  Work work;
  add_embedding_traffic(work.traffic, model, split);
  if (shares.tensor > 1) {
    const double bytes = as_bytes(shares.tokens, model.hidden);
    const bool sequence = shares.sequence > 1;
    work.collectives.push_back({"embedding",
                                sequence ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
                                Group::Tensor, bytes, Times{1, 0, 0}});
    if (sequence)
      work.collectives.push_back(
          {"embedding", CollectiveKind::AllGather, Group::Tensor, bytes, Times{0, 1, 0}});
  }
  if (!split.trainable.embedding) drop_backward(work);
  return work;
}

Work final_norm_work(const Model& model, const Split& split) {
  Work work;
  add_head_product(work, model, split);
  add_final_norm_traffic(work.traffic, model, split);
  freeze_head(work, split.trainable);
  return work;
}

Work output_work(const Model& model, const Split& split) {
  const Shares shares = shares_of(split);
  Work work;
  work.gemms.push_back({"head", shares.tokens, model.hidden, vocabulary_rows(model, split), 1});
  add_loss_traffic(work.traffic, model, split);
  if (shares.tensor > 1) add_head_collectives(work, model, shares);
  freeze_head(work, split.trainable);
  return work;
}

Work head_work(const Model& model, const Split& split) {
  Work work = output_work(model, split);
  add_head_product(work, model, split);
  add_final_norm_traffic(work.traffic, model, split);
  freeze_head(work, split.trainable);
  return work;
}

Work mtp_work(const Model& model, const Split& split) {
  const Shares shares = shares_of(split);
  Work work;
  const std::int64_t width = model.hidden;
  work.gemms.push_back({"mtp", shares.tokens, 2 * width, ceil_divide(width, split.tensor), 1});
  add_mtp_traffic(work.traffic, model, split);
  add_region(work, "mtp", shares, 2 * width, width);
  freeze_head(work, split.trainable);
  return work;
}

}  // namespace pipeloom::model
