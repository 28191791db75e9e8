#include "study/targets/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/kinds.hpp"
#include "sim/model/patterns.hpp"
#include "sim/model/shares.hpp"

namespace pipeloom::study {
namespace {

/// The key/value heads of a decoder layer that tp does not divide; 0 where it divides all.
std::int64_t undivided_kv_heads(const model::Model& model, int tensor) {
  for (const model::Layer& layer : model.kinds)
    if (layer.attention && layer.hidden == 0 && layer.attention->kv_heads % tensor != 0)
      return layer.attention->kv_heads;
  return 0;
}

/// True if cp ranks can share these heads after tp: each has whole query heads, and whole key/value heads or equal copies of them.
bool shares_heads(const model::Attention& attention, int tensor, int context) {
  const std::int64_t queries = attention.heads / tensor;
  const std::int64_t keys = attention.kv_heads / tensor;
  if (queries % context != 0) return false;
  if (keys >= context) return keys % context == 0;
  return context % keys == 0 && attention.heads / attention.kv_heads % (context / keys) == 0;
}

/// Traits of attention that the exchange of context ranks depends on.
struct ContextTraits {
  bool windows = false;
  bool scores = false;       ///< learned, in the softmax
  bool shares_heads = true;  ///< every layer's heads are shared out over tp x cp ranks
};

ContextTraits context_traits(const model::Model& model, const model::Split& split) {
  ContextTraits out;
  for (const model::Layer& layer : model.kinds) {
    if (!layer.attention || layer.hidden != 0) continue;
    const model::Attention& attention = *layer.attention;
    out.windows = out.windows || attention.window > 0;
    out.scores = out.scores || attention.sinks;
    const std::int64_t kv_heads = model::worked_kv_heads(attention.kv_heads, split);
    out.shares_heads = out.shares_heads && model::shares_heads(attention.heads, kv_heads, split);
  }
  return out;
}

std::string scores_refusal(const Target& target, const model::Model& model, const model::Split& split) {
  if (!target.context_rings || split.context == 1) return "";
  const ContextTraits traits = context_traits(model, split);
  if (!traits.scores || traits.shares_heads) return "";
  return fmt::format(
      "{} shares heads out over context ranks where the softmax has learned scores, and tp x cp, {} x {}, "
      "does not divide them",
      target.title, split.tensor, split.context);
}

std::string heads_refusal(const Target& target, const model::Model& model, const model::Split& split) {
  if (const auto heads = undivided_kv_heads(model, split.tensor); target.tensor_splits_kv_heads && heads != 0)
    return fmt::format("{} wants tp to divide the key/value heads: {}, and tp is {}", target.title, heads,
                       split.tensor);
  if (!target.context_splits_heads || split.context == 1) return "";
  for (const model::Layer& layer : model.kinds)
    if (layer.attention && layer.hidden == 0 && !shares_heads(*layer.attention, split.tensor, split.context))
      return fmt::format(
          "{} shares {} query heads and {} key/value heads out over tp and cp, and {} x {} ranks "
          "cannot have equal shares",
          target.title, layer.attention->heads, layer.attention->kv_heads, split.tensor, split.context);
  return "";
}

std::string sequence_refusal(const Target& target, const model::Split& split) {
  if (split.context == 1) return "";
  const int parts = target.context_parts * split.context * (target.tensor_splits_parts ? split.tensor : 1);
  if (split.sequence % parts != 0)
    return fmt::format("{} cuts the {} tokens of a sample into {} equal parts; take a multiple of {}",
                       target.title, split.sequence, parts, parts);
  const int blocks = target.context_tokens * split.context;
  if (split.sequence % blocks != 0)
    return fmt::format(
        "{} gives each of {} context ranks whole blocks of {} tokens, and a sample has {}; take a "
        "multiple of {}",
        target.title, split.context, target.context_tokens, split.sequence, blocks);
  return "";
}

std::string mtp_refusal(const Target& target, const model::Model& model, const model::Split& split) {
  if (target.has_mtp || model.mtp == 0) return "";
  if (split.pipeline > 1)
    return fmt::format("{} has no pipeline for layers of multi-token prediction", target.title);
  if (split.context > 1)
    return fmt::format("{} has no context ranks for layers of multi-token prediction", target.title);
  return "";
}

std::string experts_refusal(const Target& target, const model::Split& split) {
  if (split.expert == 1) return "";
  const int inside = split.context * split.tensor;
  if (target.experts_span_tensor && split.expert % inside != 0)
    return fmt::format("{} wants ep to be a multiple of cp x tp, {}, and ep is {}", target.title, inside,
                       split.expert);
  if (target.experts_within_shards && split.zero == 0 && inside % split.expert != 0)
    return fmt::format(
        "{} shares experts out over ranks that share weights: ep {} does not divide cp x tp, "
        "{}, and with ZeRO 0 the {} data ranks are replicas",
        target.title, split.expert, inside, split.data);
  return "";
}

/// The target has models of some types alone. Of a model whose type is not known the lines to paste say which (family_need()).
std::string family_refusal(const Target& target, const model::Model& model) {
  if (target.families.empty() || model.type.empty()) return "";
  if (std::ranges::find(target.families, model.type) != target.families.end()) return "";
  return fmt::format("{} has models of the types {} alone, and {} is of {}", target.title,
                     fmt::join(target.families, ", "), shortened(model.name, 64), shortened(model.type, 64));
}

bool has_mamba(const model::Model& model) {
  return std::ranges::any_of(model.kinds, [](const model::Layer& layer) { return layer.mamba.has_value(); });
}

/// The mixer that Target::has_newer_mixers is about, or "".
std::string newer_mixer_of(const model::Model& model) {
  if (model.streams > 1) return "hyper-connections";
  for (const model::Layer& layer : model.kinds) {
    if (layer.compressed_attention) return "attention over compressed entries";
    if (layer.linear && layer.linear->rule != model::LinearRule::GatedDelta)
      return "linear mixers other than gated delta nets";
  }
  return "";
}

std::string mixer_refusal(const Target& target, const model::Model& model) {
  const std::string mixer = target.has_newer_mixers ? "" : newer_mixer_of(model);
  return mixer.empty() ? "" : fmt::format("{} has no {}", target.title, mixer);
}

/// True if every R is directly in front of its backward, where frameworks recompute.
bool recomputes_at_use(const Schedule& order) {
  for (Rank rank{0}; rank < Rank(order.ranks()); ++rank) {
    const auto queue = order.queue(rank);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (!kTakesDropped.has(queue[i].kind())) continue;
      const bool next_uses = i + 1 < queue.size() && queue[i + 1].stage() == queue[i].stage() &&
                             queue[i + 1].microbatch() == queue[i].microbatch();
      if (!next_uses) return false;
    }
  }
  return true;
}

/// True if the last stage's forwards come in order: PyTorch keeps their losses by number of arrival.
bool ends_in_order(const Schedule& order) {
  const Stage last(order.stages() - 1);
  int next = 0;
  for (const Op op : order.queue(order.placement().rank_of(last)))
    if (op.kind() == OpKind::Forward && op.stage() == last && op.microbatch().value() != next++) return false;
  return true;
}

bool is_dealt(const Placement& placement) {
  return placement == Placement::loop(placement.ranks(), placement.chunks()) ||
         (placement.chunks() == 2 && placement == Placement::wave(placement.ranks(), 2));
}

bool updates_in_between(const std::string& schedule) {
  return schedule != io::kCustomSchedule &&
         schedules::find(schedule).generator->requirements.takes.has(Option::Updates);
}

std::string recompute_refusal(const Target& target, const Deployment& deployment) {
  const RecomputeOption& recompute = deployment.recompute;
  if (!deployment.recomputes()) return "";
  if (recompute.keep > 0)
    return fmt::format("{} cannot be told to keep what some passes of a stage leave", target.title);
  if (!recomputes_at_use(*deployment.order))
    return fmt::format("{} computes again where the backward begins, not ahead of it", target.title);
  if (target.recompute == RecomputeWords::Code) return "";
  if (!recompute.stages.empty() && static_cast<int>(recompute.stages.size()) < deployment.order->stages())
    return fmt::format("{} is told recomputation for all stages alike, not for some", target.title);
  if (recompute.layers && target.recompute == RecomputeWords::All)
    return fmt::format("{} computes all layers of a stage again, not {} of them", target.title,
                       *recompute.layers);
  // megatron/core/transformer/multi_token_prediction.py asserts it.
  const bool has_mtp = deployment.model != nullptr && deployment.model->mtp > 0;
  if (recompute.layers.value_or(1) > 1 && recompute.method == RecomputeMethod::Uniform && has_mtp)
    return fmt::format(
        "{} computes layers again one by one where there are layers for multi-token "
        "prediction, not in groups of {}",
        target.title, *recompute.layers);
  if (target.recompute == RecomputeWords::All && !deployment.recomputes_all())
    return fmt::format("{} computes whole layers or chosen ops again, not {}", target.title,
                       recompute.modules);
  return "";
}

/// Megatron-core's mesh of experts has etp x ep ranks where all else has tp x cp, and both must have the same pipelines (megatron/core/parallel_state.py,
/// initialize_model_parallel()). In dense models etp is tp.
bool has_equal_meshes(const model::Model& model, const model::Split& split) {
  return model::has_experts(model) ? split.expert == split.tensor * split.context : split.context == 1;
}

std::string order_refusal(const Target& target, const model::Model& model, const model::Split& split) {
  if (split.order == DeviceOrder::PipelineLast || target.block == Block::Python) return "";
  if (split.order == DeviceOrder::PipelineFirst || target.block != Block::Megatron)
    return fmt::format("{} cannot be told costs.order {}", target.title, name_of(split.order));
  if (has_equal_meshes(model, split)) return "";
  return fmt::format(
      "{} takes --use-tp-pp-dp-mapping where ep is tp x cp, in dense models where cp is 1; here tp is {}, cp "
      "{} and ep {}",
      target.title, split.tensor, split.context, split.expert);
}

}  // namespace

std::string_view exchange_instead_of_ring(const model::Model& model, const model::Split& split) {
  if (split.context == 1) return "";
  const ContextTraits traits = context_traits(model, split);
  if (!traits.windows && !traits.scores) return "";
  return traits.shares_heads ? "a2a" : "all_gather";
}

std::string split_refusal(const Target& target, const model::Model& model, const model::Split& split) {
  if (std::string refusal = order_refusal(target, model, split); !refusal.empty()) return refusal;
  if (!target.has_mamba && has_mamba(model)) return fmt::format("{} has no state-space layers", target.title);
  if (!target.has_towers && model::encoder_layers(model) > 0)
    return fmt::format("{} leaves an encoder out of its stages", target.title);
  for (const std::string& refusal :
       {mixer_refusal(target, model), mtp_refusal(target, model, split), family_refusal(target, model),
        heads_refusal(target, model, split), scores_refusal(target, model, split),
        sequence_refusal(target, split), experts_refusal(target, split)})
    if (!refusal.empty()) return refusal;
  if (is_hybrid(split) && !target.shares_in_groups)
    return fmt::format("{} is told to share out over all data ranks, not over groups of {}", target.title,
                       split.shards);
  if (split.pipeline > 1 && has_replicas(split) && split.zero > target.most_zero)
    return fmt::format("{} shares out optimizer states alone beside a pipeline (ZeRO {}), not ZeRO {}",
                       target.title, target.most_zero, split.zero);
  return "";
}

std::string model_refusal(const Target& target, const Deployment& deployment) {
  const int stages = deployment.order->stages();
  if (target.stage_a_microbatch && deployment.order->microbatches() < stages)
    return fmt::format("{} makes at least one microbatch for each stage: {}, not {}", target.title, stages,
                       deployment.order->microbatches());
  return deployment.model == nullptr ? "" : split_refusal(target, *deployment.model, deployment.split);
}

std::string options_refusal(const Target& target, const Deployment& deployment) {
  if (deployment.offload.on)
    return fmt::format("{} cannot be told which activations go to the host and when they come back",
                       target.title);
  if (deployment.pairs_save && !target.overlaps_pairs)
    return fmt::format(
        "{} runs the ops of a pair one after the other, and the numbers count on their overlap",
        target.title);
  return recompute_refusal(target, deployment);
}

std::string file_refusal(const Target& target, const Deployment& deployment) {
  const Schedule& order = *deployment.order;
  if (updates_in_between(deployment.schedule))
    return "it updates weights in between, which changes the training";
  if (order.placement().replicas() > 1) return "PyTorch's files have one copy of the model, not two";
  if (order.slices() > 1) return "PyTorch's files have whole microbatches, no slices";
  if (order.has_copies() || order.shares_output())
    return "PyTorch's files have no ops but F, B, I and W and pairs of them";
  if (order.is_forward_only()) return "PyTorch's files are of training steps";
  if (!ends_in_order(order))
    return "PyTorch keeps losses in the order of the last stage's forwards, which are not in order here";
  if (target.files == FilePlacements::LoopsAndVs && !is_dealt(order.placement()))
    return fmt::format("{} deals stages out in a loop or in a V of two a rank", target.title);
  return "";
}

std::string own_refusal(const Target& target, const Deployment& deployment, const RunsAs& runs) {
  // The one own order that is an option: experts' exchanges run beside the other direction's work.
  if (!runs.order->word.starts_with("--") || deployment.model == nullptr) return "";
  if (deployment.split.expert == 1)
    return fmt::format("{} overlaps forwards and backwards where experts are exchanged alone: ep is 1",
                       target.title);
  if (deployment.recomputes_all() || deployment.recompute.modules.find("moe") != std::string::npos)
    return fmt::format("{} refuses recomputation of whole layers or experts beside {}", target.title,
                       runs.order->word);
  if (deployment.model->mtp > 1)
    return fmt::format("{} takes one layer of multi-token prediction beside {}", target.title,
                       runs.order->word);
  return "";
}

}  // namespace pipeloom::study
