#include "sim/model/tensors.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/model/counted.hpp"
#include "sim/model/patterns.hpp"
#include "sim/model/shares.hpp"
#include "sim/model/weights.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::model {
namespace {

/// What sizes are made of, per rank before the division by tensor or sequence ranks.
struct Terms {
  double tokens = 0;   ///< T
  double hidden = 0;   ///< h
  double heads = 0;    ///< a
  double keys = 0;     ///< s
  double queries = 0;  ///< width of all heads' queries
  double key_values = 0;
  double values = 0;      ///< width of all heads' outputs
  double narrow = 0;      ///< of its groups' outputs
  double compressor = 0;  ///< of what becomes its entries
  double q_rank = 0;
  double kv_rank = 0;
  double inner = 0;    ///< f
  double halves = 1;   ///< outputs of fc1 per f: 2 if gated
  double shared = 0;   ///< f of shared experts
  double routed = 0;   ///< N, per rank already
  double experts = 0;  ///< E
  double chosen = 0;   ///< k of them per token
  double width = 0;    ///< D of a state-space mixer
  double conv = 0;     ///< D + 2 G N
  double steps = 0;    ///< heads of it
  double state = 0;
  double chunk = 0;       ///< numbers of a chunk's matrix per token: of delta rules
  double gate = 0;        ///< width of what weights attention's output
  double statistics = 1;  ///< numbers that a norm keeps per token
  bool flash = true;
  bool fused_experts = true;
  bool dropout = false;
  bool context_heads = false;  ///< the context's ranks share heads
};

enum class Part : std::uint8_t { Attention, Latent, Compressed, Mamba, Mlp, Experts };
/// Who shares a tensor out: nobody else, the sequence's ranks, the tensor's.
enum class Among : std::uint8_t { Rank, Sequence, Tensor };
/// Which pass needs a tensor last: the input pass; or the weights' pass, for a product alone, which keeps it in its own precision, for one whose attention
/// has it in 16 bits before, or for a router, in 16 bits.
enum class Until : std::uint8_t { Input, Weight, WeightBehindAttention, WeightOfRouter };

constexpr std::string_view kCore = "core_attn";
constexpr std::string_view kNorm = "layernorm";

/// A tensor that a part keeps. `unit` is what Megatron-LM calls the piece that would make it again; "" if only the whole module would. A size of 0
/// means that the layer has no such tensor.
struct Row {
  Part part;
  Among among;
  Until until;
  std::string_view module;
  std::string_view unit;
  std::string_view name;
  double (*bytes)(const Terms&);
};

constexpr double norm_input(const Terms& t) {
  return 2 * t.tokens * t.hidden;
}
constexpr double norm_statistics(const Terms& t) {
  return 4 * t.statistics * t.tokens;
}
constexpr double dropout_mask(const Terms& t) {
  return t.dropout ? t.tokens * t.hidden : 0;
}
constexpr double score_count(const Terms& t) {
  return t.flash ? 0 : t.tokens * t.keys * t.heads;
}

// Fused kernels keep their inputs until I; what a product needs for its weights' gradient stays until W.
constexpr Row kRows[] = {
    {Part::Attention, Among::Sequence, Until::Input, "attention", "", "norm input", norm_input},
    {Part::Attention, Among::Sequence, Until::Input, "attention", "", "norm statistics", norm_statistics},
    {Part::Attention, Among::Sequence, Until::Weight, "attention", kNorm, "norm output", norm_input},
    {Part::Attention, Among::Tensor, Until::Input, "attention", "", "queries, keys, values",
     [](const Terms& t) { return 2 * t.tokens * (t.queries + t.key_values); }},
    {Part::Attention, Among::Tensor, Until::Input, "attention", kCore, "softmax",
     [](const Terms& t) { return 2 * score_count(t); }},
    {Part::Attention, Among::Tensor, Until::Input, "attention", kCore, "score dropout: output and mask",
     [](const Terms& t) { return t.dropout ? 3 * score_count(t) : 0; }},
    {Part::Attention, Among::Tensor, Until::Input, "attention", kCore, "softmax sums",
     [](const Terms& t) { return t.flash ? 4 * t.tokens * t.heads : 0; }},
    {Part::Attention, Among::Tensor, Until::Input, "attention", "", "output before all-to-all",
     [](const Terms& t) { return t.context_heads ? 2 * t.tokens * t.values : 0; }},
    {Part::Attention, Among::Tensor, Until::WeightBehindAttention, "attention", "", "output",
     [](const Terms& t) { return 2 * t.tokens * t.values; }},
    {Part::Attention, Among::Tensor, Until::Input, "attention", "", "gate",
     [](const Terms& t) { return 2 * t.tokens * t.gate; }},
    {Part::Attention, Among::Tensor, Until::Weight, "attention", "", "gated output",
     [](const Terms& t) { return 2 * t.tokens * t.gate; }},
    {Part::Attention, Among::Sequence, Until::Input, "attention", "", "dropout mask", dropout_mask},

    {Part::Latent, Among::Sequence, Until::Input, "attention", "", "norm input", norm_input},
    {Part::Latent, Among::Sequence, Until::Input, "attention", "", "norm statistics", norm_statistics},
    {Part::Latent, Among::Sequence, Until::Weight, "attention", kNorm, "norm output", norm_input},
    {Part::Latent, Among::Sequence, Until::Input, "attention", "", "compressed: norm inputs",
     [](const Terms& t) { return 2 * t.tokens * (t.q_rank + t.kv_rank); }},
    {Part::Latent, Among::Sequence, Until::Weight, "attention", "mla_up_proj", "compressed: norm outputs",
     [](const Terms& t) { return 2 * t.tokens * (t.q_rank + t.kv_rank); }},
    {Part::Latent, Among::Tensor, Until::Input, "attention", "mla_up_proj", "queries, keys, values",
     [](const Terms& t) { return 2 * t.tokens * (t.queries + t.key_values); }},
    {Part::Latent, Among::Tensor, Until::Input, "attention", kCore, "softmax",
     [](const Terms& t) { return 2 * score_count(t); }},
    {Part::Latent, Among::Tensor, Until::Input, "attention", kCore, "softmax sums",
     [](const Terms& t) { return t.flash ? 4 * t.tokens * t.heads : 0; }},
    {Part::Latent, Among::Tensor, Until::Input, "attention", "", "output before all-to-all",
     [](const Terms& t) { return t.context_heads ? 2 * t.tokens * t.values : 0; }},
    {Part::Latent, Among::Tensor, Until::WeightBehindAttention, "attention", "", "output",
     [](const Terms& t) { return 2 * t.tokens * t.values; }},

    {Part::Latent, Among::Tensor, Until::Input, "attention", "", "gate",
     [](const Terms& t) { return 2 * t.tokens * t.gate; }},
    {Part::Latent, Among::Tensor, Until::Weight, "attention", "", "gated output",
     [](const Terms& t) { return 2 * t.tokens * t.gate; }},

    {Part::Compressed, Among::Sequence, Until::Input, "attention", "", "norm input", norm_input},
    {Part::Compressed, Among::Sequence, Until::Input, "attention", "", "norm statistics", norm_statistics},
    {Part::Compressed, Among::Sequence, Until::Weight, "attention", kNorm, "norm output", norm_input},
    {Part::Compressed, Among::Sequence, Until::Input, "attention", "", "compressed: norm inputs",
     [](const Terms& t) { return 2 * t.tokens * (t.q_rank + t.kv_rank); }},
    {Part::Compressed, Among::Sequence, Until::Weight, "attention", "", "compressed: norm output",
     [](const Terms& t) { return 2 * t.tokens * t.q_rank; }},
    {Part::Compressed, Among::Rank, Until::Input, "attention", "", "keys",
     [](const Terms& t) { return 2 * t.tokens * t.key_values; }},
    {Part::Compressed, Among::Sequence, Until::Input, "attention", "", "entries: inputs and gates",
     [](const Terms& t) { return 2 * t.tokens * t.compressor; }},
    {Part::Compressed, Among::Tensor, Until::Input, "attention", "", "queries before and after their norm",
     [](const Terms& t) { return 4 * t.tokens * t.queries; }},
    {Part::Compressed, Among::Tensor, Until::Input, "attention", kCore, "softmax",
     [](const Terms& t) { return 2 * score_count(t); }},
    {Part::Compressed, Among::Tensor, Until::Input, "attention", kCore, "softmax sums",
     [](const Terms& t) { return t.flash ? 4 * t.tokens * t.heads : 0; }},
    {Part::Compressed, Among::Tensor, Until::Input, "attention", "", "output",
     [](const Terms& t) { return 2 * t.tokens * t.values; }},
    {Part::Compressed, Among::Tensor, Until::Weight, "attention", "", "output, turned back",
     [](const Terms& t) { return 2 * t.tokens * t.values; }},
    {Part::Compressed, Among::Tensor, Until::Weight, "attention", "", "output of groups",
     [](const Terms& t) { return 2 * t.tokens * t.narrow; }},

    {Part::Mamba, Among::Sequence, Until::Input, "mamba", "", "norm input", norm_input},
    {Part::Mamba, Among::Sequence, Until::Input, "mamba", "", "norm statistics", norm_statistics},
    {Part::Mamba, Among::Sequence, Until::Weight, "mamba", kNorm, "norm output", norm_input},
    {Part::Mamba, Among::Tensor, Until::Input, "mamba", "", "projected: gate, scan inputs, steps",
     [](const Terms& t) { return 2 * t.tokens * (t.width + t.conv + t.steps); }},
    {Part::Mamba, Among::Tensor, Until::Input, "mamba", "", "convolved",
     [](const Terms& t) { return 2 * t.tokens * t.conv; }},
    {Part::Mamba, Among::Tensor, Until::Input, "mamba", "", "steps and decays",
     [](const Terms& t) { return 8 * t.tokens * t.steps; }},
    {Part::Mamba, Among::Tensor, Until::Input, "mamba", "", "states, one per 256 tokens",
     [](const Terms& t) { return 4 * t.tokens / 256 * t.width * t.state; }},
    {Part::Mamba, Among::Tensor, Until::Input, "mamba", "", "matrices of chunks of 64 tokens",
     [](const Terms& t) { return 2 * t.tokens * t.chunk; }},
    {Part::Mamba, Among::Tensor, Until::Input, "mamba", "", "scanned",
     [](const Terms& t) { return 2 * t.tokens * t.width; }},
    {Part::Mamba, Among::Tensor, Until::Weight, "mamba", "", "output",
     [](const Terms& t) { return 2 * t.tokens * t.width; }},

    {Part::Mlp, Among::Sequence, Until::Input, "mlp", "", "norm input", norm_input},
    {Part::Mlp, Among::Sequence, Until::Input, "mlp", "", "norm statistics", norm_statistics},
    {Part::Mlp, Among::Sequence, Until::Weight, "mlp", kNorm, "norm output", norm_input},
    {Part::Mlp, Among::Tensor, Until::Input, "mlp", "mlp", "activation input",
     [](const Terms& t) { return 2 * t.tokens * t.halves * t.inner; }},
    {Part::Mlp, Among::Tensor, Until::Weight, "mlp", "mlp", "activation output",
     [](const Terms& t) { return 2 * t.tokens * t.inner; }},
    {Part::Mlp, Among::Sequence, Until::Input, "mlp", "", "dropout mask", dropout_mask},

    {Part::Experts, Among::Sequence, Until::Input, "moe", "", "norm input", norm_input},
    {Part::Experts, Among::Sequence, Until::Input, "moe", "", "norm statistics", norm_statistics},
    {Part::Experts, Among::Sequence, Until::WeightOfRouter, "moe", kNorm, "norm output", norm_input},
    {Part::Experts, Among::Sequence, Until::Input, "moe", "moe", "router logits and probabilities",
     [](const Terms& t) { return 8 * t.tokens * t.experts; }},
    {Part::Experts, Among::Rank, Until::Weight, "moe", "moe", "permuted input",
     [](const Terms& t) { return 2 * t.routed * t.hidden; }},
    {Part::Experts, Among::Rank, Until::Input, "moe", "moe", "expert activation input",
     [](const Terms& t) { return 2 * t.routed * t.halves * t.inner; }},
    {Part::Experts, Among::Rank, Until::Weight, "moe", "moe_act", "expert activation output",
     [](const Terms& t) { return 2 * t.routed * t.inner; }},
    {Part::Experts, Among::Rank, Until::Input, "moe", "moe_act", "expert activation between its kernels",
     [](const Terms& t) { return t.fused_experts || t.halves == 1 ? 0 : 2 * t.routed * t.inner; }},
    {Part::Experts, Among::Sequence, Until::Input, "moe", "moe", "results before they are weighted",
     [](const Terms& t) { return t.fused_experts ? 0 : 2 * t.tokens * t.chosen * t.hidden; }},
    {Part::Experts, Among::Tensor, Until::Input, "moe", "shared_experts", "shared activation input",
     [](const Terms& t) { return 2 * t.tokens * t.halves * t.shared; }},
    {Part::Experts, Among::Tensor, Until::Weight, "moe", "shared_experts", "shared activation output",
     [](const Terms& t) { return 2 * t.tokens * t.shared; }},
    {Part::Experts, Among::Sequence, Until::Input, "moe", "", "dropout mask", dropout_mask},
};

bool has_part(const Layer& layer, Part part) {
  switch (part) {
    case Part::Attention:
      return layer.attention.has_value();
    case Part::Latent:
      return layer.latent_attention.has_value();
    case Part::Compressed:
      return layer.compressed_attention.has_value();
    case Part::Mamba:
      return layer.mamba || layer.linear;
    case Part::Mlp:
      return layer.mlp.has_value();
    case Part::Experts:
      return layer.experts.has_value();
  }
  return false;
}

void set_mixer(Terms& t, const Layer& layer, const Split& split) {
  if (const auto& attention = layer.attention) {
    t.heads = static_cast<double>(attention->heads);
    t.queries = static_cast<double>(attention->heads * attention->head_dim);
    const std::int64_t kv_heads = worked_kv_heads(attention->kv_heads, split);
    t.key_values = attention->own_keys
                       ? static_cast<double>(kv_heads * (attention->head_dim + value_dim_of(*attention)))
                       : 0;
    t.values = static_cast<double>(attention->heads * value_dim_of(*attention));
    t.gate = attention->gated ? t.values : 0;
    t.context_heads = split.context > 1 && shares_heads(attention->heads, kv_heads, split);
  } else if (const auto& latent = layer.latent_attention) {
    t.heads = static_cast<double>(latent->heads);
    t.queries = t.heads * static_cast<double>(latent->nope_dim + latent->rope_dim);
    t.values = t.heads * static_cast<double>(latent->v_dim);
    t.key_values = t.queries + t.values;
    t.q_rank = static_cast<double>(latent->q_rank);
    t.kv_rank = static_cast<double>(latent->kv_rank);
    t.gate = latent->gated || latent->joint_gate ? t.values : 0;
    t.context_heads = split.context > 1 && shares_heads(latent->heads, latent->heads, split);
  }
}

void set_compressed(Terms& t, const CompressedAttention& attention) {
  t.heads = static_cast<double>(attention.heads);
  t.queries = t.values = t.heads * static_cast<double>(attention.head_dim);
  t.q_rank = static_cast<double>(attention.q_rank);
  t.kv_rank = t.key_values = static_cast<double>(attention.head_dim);
  t.narrow = static_cast<double>(attention.output_groups * attention.output_rank);
  if (attention.rate == 0) return;
  t.compressor = static_cast<double>(compressor_width_of(attention, attention.head_dim));
  t.key_values += t.key_values / static_cast<double>(attention.rate);
  t.keys += t.keys / static_cast<double>(attention.rate);
}

/// Chunks of delta rules keep a matrix of their tokens for each head; other linear rules make their states again.
void set_scan(Terms& t, const Layer& layer) {
  if (const auto& mamba = layer.mamba) {
    t.width = static_cast<double>(width_of(*mamba));
    t.conv = static_cast<double>(conv_width_of(*mamba));
    t.steps = static_cast<double>(mamba->heads);
    t.state = static_cast<double>(mamba->state);
  } else if (const auto& linear = layer.linear) {
    t.width = static_cast<double>(width_of(*linear));
    t.conv = static_cast<double>(conv_width_of(*linear));
    if (linear->rule == LinearRule::Lightning || linear->rule == LinearRule::ShortConv) t.conv = 2 * t.width;
    if (linear->rule == LinearRule::GatedDelta || linear->rule == LinearRule::KimiDelta) {
      t.steps = 2 * static_cast<double>(linear->heads);
      t.chunk = 64 * static_cast<double>(linear->heads);
    } else if (linear->rule == LinearRule::Mamba1) {
      t.steps = static_cast<double>(linear->rank);
    }
  }
}

Terms terms_of(const Model& model, const Layer& layer, const Split& split, const Shares& shares) {
  Terms t;
  t.tokens = static_cast<double>(shares.tokens);
  t.hidden = static_cast<double>(model.hidden_of(layer));
  t.keys = static_cast<double>(sample_tokens(layer, split.sequence));
  t.statistics =
      model.norm_of(layer) == NormKind::Rms ? 1 : 2;  // a root of squares, or a mean and a deviation
  t.flash = split.flash;
  t.fused_experts = split.fused_experts;
  t.dropout = model.dropout;
  set_mixer(t, layer, split);
  if (layer.compressed_attention) set_compressed(t, *layer.compressed_attention);
  set_scan(t, layer);
  if (const auto& mlp = layer.mlp) {
    t.inner = static_cast<double>(mlp->ffn);
    t.halves = mlp->gated ? 2 : 1;
  } else if (const auto& experts = layer.experts) {
    t.inner = static_cast<double>(experts->ffn);
    t.halves = experts->gated ? 2 : 1;
    t.shared = static_cast<double>(experts->shared_ffn);
    t.routed = static_cast<double>(routed_tokens(*experts, shares, split));
    t.experts = static_cast<double>(experts->experts);
    t.chosen = static_cast<double>(experts->top_k);
  }
  return t;
}

double divisor_of(Among among, const Shares& shares) {
  if (among == Among::Tensor) return static_cast<double>(shares.tensor);
  return among == Among::Sequence ? static_cast<double>(shares.sequence) : 1;
}

/// Whether the part has a norm of its own in front: side by side, the first part's serves all.
bool has_norm(const Layer& layer, Part part) {
  if (part == Part::Mamba) return !has_attention(layer);
  if (part == Part::Mlp || part == Part::Experts)
    return layer.place != NormPlace::Shared || mixers_of(layer) == 0;
  return true;
}

/// Of the norms at the ends of parts that have one in front too.
void add_outer_norms(std::vector<KeptTensor>& out, const Layer& layer, const Terms& terms,
                     const Shares& shares) {
  if (layer.place != NormPlace::Around) return;
  const auto ranks = static_cast<double>(shares.sequence);
  for (int part = mixers_of(layer) + feed_forwards_of(layer); part > 0; --part) {
    out.push_back({"layer", "input of a norm behind", norm_input(terms) / ranks, false});
    out.push_back({"layer", "statistics of a norm behind", norm_statistics(terms) / ranks, false});
  }
}

/// Of hyper-connections, which mix the streams in front of each part and add its output to them.
void add_streams(std::vector<KeptTensor>& out, const Model& model, const Layer& layer, const Terms& terms,
                 const Shares& shares) {
  if (model.streams == 1 || is_encoder(layer)) return;
  const double states = norm_input(terms) / static_cast<double>(shares.sequence);
  for (int part = mixers_of(layer) + feed_forwards_of(layer); part > 0; --part) {
    out.push_back({"layer", "streams of states", static_cast<double>(model.streams) * states, false});
    out.push_back({"layer", "output of a part", states, false});
  }
}

/// States in front of the gate, the gate and the side input, their product, and the norm behind.
void add_side(std::vector<KeptTensor>& out, const Layer& layer, const Terms& terms, const Shares& shares) {
  if (layer.side == 0) return;
  const auto ranks = static_cast<double>(shares.sequence);
  const double narrow = 2 * terms.tokens * static_cast<double>(layer.side) / ranks;
  out.push_back({"layer", "states in front of the side input", norm_input(terms) / ranks, true});
  out.push_back({"layer", "gate and side input", 2 * narrow, false});
  out.push_back({"layer", "gated side input", narrow, true});
  out.push_back({"layer", "input of the side norm", norm_input(terms) / ranks, false});
}

bool is_recomputed(const Row& row, Recomputation recomputation, const std::vector<std::string>& modules) {
  if (row.unit.empty()) return false;
  if (recomputation == Recomputation::Selective && row.unit == kCore) return true;
  return std::any_of(modules.begin(), modules.end(), [&](const std::string& module) {
    // Experts made again as a whole take their activation and the shared ones with them.
    return module == row.unit || (module == "moe" && row.part == Part::Experts && row.unit != kNorm);
  });
}

/// The part of the layer that a row belongs to.
LayerPart layer_part(const Row& row, const Layer& layer) {
  if (is_encoder(layer)) return LayerPart::Encoder;
  if (row.part == Part::Experts) return LayerPart::Experts;
  return row.part == Part::Mlp ? LayerPart::Mlp : LayerPart::Mixer;
}

/// True if some weights of the part have gradients, which need the inputs of its products.
bool needs_inputs(const Trainable& trainable, LayerPart part) {
  return trainable.trains(part) || (trainable.adapts(part) && trainable.rank > 0);
}

/// A row's tensor. What products read in 8 bits is kept in these; attention's backward has its own in 16 then. Frozen products keep no inputs.
void add_row(std::vector<KeptTensor>& out, const Row& row, double bytes, const Split& split, LayerPart part) {
  const bool until_weight = row.until != Until::Input;
  if (until_weight && !needs_inputs(split.trainable, part)) {
    if (row.until == Until::WeightBehindAttention) out.push_back({row.module, row.name, bytes, false});
    return;
  }
  const bool narrow = until_weight && row.until != Until::WeightOfRouter && split.product_bytes < 2;
  if (narrow && row.until == Until::WeightBehindAttention)
    out.push_back({row.module, row.name, bytes, false});
  out.push_back({row.module, row.name, narrow ? bytes / 2 * split.product_bytes : bytes, until_weight});
}

/// Tokens of a matrix on a rank: of experts those that are routed to it.
double rows_of(const Matrix& matrix, const Layer& layer, const Split& split) {
  const Shares shares = shares_of(matrix, layer, split);
  if (matrix.experts != 0) return static_cast<double>(routed_tokens(*layer.experts, shares, split));
  return static_cast<double>(shares.tokens) /
         divisor_of(matrix.cut == Cut::Whole ? Among::Sequence : Among::Rank, shares);
}

/// The outputs of adapters' A, which gradients of B need.
void add_adapter_tensors(std::vector<KeptTensor>& out, const Model& model, const Layer& layer,
                         const Split& split) {
  const Trainable& trainable = split.trainable;
  if (!trainable.adapters || trainable.rank == 0) return;
  for (const Matrix& matrix : weights_of(model, layer).matrices)
    if (trainable.adapts(matrix.part) && trainable.reaches(matrix.part))
      out.push_back({"adapter", matrix.what,
                     2 * rows_of(matrix, layer, split) * static_cast<double>(trainable.rank), true});
}

/// Of an encoder's patch embedding or projector, or of small products beside parts.
void add_product_tensors(std::vector<KeptTensor>& out, std::string_view module,
                         const std::vector<Product>& products, const Layer& layer, const Split& split,
                         LayerPart part) {
  if (!split.trainable.reaches(part)) return;
  for (const Product& product : products) {
    const Shares shares = shares_of(product, layer, split);
    const double each = static_cast<double>(shares.tokens) / static_cast<double>(shares.sequence);
    if (split.trainable.trains(part))
      out.push_back(
          {module, "input", split.product_bytes * each * static_cast<double>(product.inputs), true});
    if (product.activation)
      out.push_back({module, "activation input", 2 * each * static_cast<double>(product.outputs), false});
  }
}

/// Without those of the parts that run after the layer's own.
std::vector<KeptTensor> own_tensors(const Model& model, const Layer& layer, const Split& split,
                                    Recomputation recomputation, const std::vector<std::string>& modules) {
  if (layer.counted) return counted_tensors(*layer.counted, split, recomputation);
  std::vector<KeptTensor> out;
  if (split.trainable.reach == Reach::None) return out;
  const Shares shares = shares_of(layer, split);
  const Terms terms = terms_of(model, layer, split, shares);
  if (recomputation == Recomputation::Full) {
    const double streams = is_encoder(layer) ? 1 : static_cast<double>(model.streams);
    out.push_back(
        {"layer", "input", streams * norm_input(terms) / static_cast<double>(shares.sequence), false});
    return out;
  }
  out.reserve(20);
  for (const Row& row : kRows) {
    if (!has_part(layer, row.part) || is_recomputed(row, recomputation, modules)) continue;
    if (row.name.starts_with("norm ") && !has_norm(layer, row.part)) continue;
    const LayerPart part = layer_part(row, layer);
    if (!split.trainable.reaches(part)) continue;
    const double bytes = row.bytes(terms) / divisor_of(row.among, shares);
    if (bytes > 0) add_row(out, row, bytes, split, part);
  }
  add_adapter_tensors(out, model, layer, split);
  add_outer_norms(out, layer, terms, shares);
  add_streams(out, model, layer, terms, shares);
  add_side(out, layer, terms, shares);
  add_product_tensors(out, kBefore, layer.before, layer, split, LayerPart::Encoder);
  add_product_tensors(out, kBeside, layer.beside, layer, split,
                      is_encoder(layer) ? LayerPart::Encoder : LayerPart::Mixer);
  add_product_tensors(out, kBehind, layer.behind, layer, split, LayerPart::Projector);
  return out;
}

std::vector<KeptTensor> own_gradients(const Model& model, const Layer& layer, const Split& split) {
  if (layer.counted) return {counted_gradients(*layer.counted, split)};
  std::vector<KeptTensor> out;
  for (const Matrix& matrix : weights_of(model, layer).matrices) {
    if (!needs_inputs(split.trainable, matrix.part)) continue;
    const Shares shares = shares_of(matrix, layer, split);
    const auto width = static_cast<double>(matrix.outputs);
    const double numbers =
        matrix.experts != 0
            ? static_cast<double>(routed_tokens(*layer.experts, shares, split)) * width
            : static_cast<double>(shares.tokens) * width /
                  divisor_of(matrix.cut == Cut::Columns ? Among::Tensor : Among::Sequence, shares);
    out.push_back({"gradient of output", matrix.what, split.product_bytes * numbers, true});
  }
  return out;
}

}  // namespace

std::vector<KeptTensor> kept_tensors(const Model& model, const Layer& layer, const Split& split,
                                     Recomputation recomputation, const std::vector<std::string>& modules) {
  std::vector<KeptTensor> out = own_tensors(model, layer, split, recomputation, modules);
  if (recomputation == Recomputation::Full) return out;
  for (const Layer& part : layer.then)
    for (const KeptTensor& tensor : own_tensors(model, part, split, recomputation, modules))
      out.push_back(tensor);
  return out;
}

std::vector<KeptTensor> gradients_for_weight(const Model& model, const Layer& layer, const Split& split) {
  std::vector<KeptTensor> out = own_gradients(model, layer, split);
  for (const Layer& part : layer.then)
    for (const KeptTensor& tensor : own_gradients(model, part, split)) out.push_back(tensor);
  return out;
}

double stand_in_bytes(const Model& model, std::string_view letters, const Split& split) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  const std::set<char> kinds(letters.begin(), letters.end());
  for (const char letter : kinds) {
    const Layer* layer = model.find(letter);
    if (layer == nullptr) continue;
    for (const Matrix& matrix : weights_of(model, *layer).matrices)
      if (split.trainable.trains(matrix.part))
        shapes.insert({matrix.inputs / (matrix.cut == Cut::Rows ? split.tensor : 1),
                       matrix.outputs / (matrix.cut == Cut::Columns ? split.tensor : 1)});
  }
  double bytes = 0;
  for (const auto& [inputs, outputs] : shapes)
    bytes += 2.0 * static_cast<double>(inputs) * static_cast<double>(outputs);
  return bytes;
}

}  // namespace pipeloom::model
