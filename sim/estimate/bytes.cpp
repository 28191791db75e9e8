#include "sim/estimate/bytes.hpp"

#include <algorithm>
#include <cmath>

#include "sim/estimate/replicas.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/shares.hpp"
#include "sim/model/tensors.hpp"

namespace pipeloom::estimate {
namespace {

using model::Model;
using model::Recomputation;
using model::Split;

constexpr double kHalf = 2;                    // bytes of a bf16 number
constexpr Bytes kWorkspace = Bytes{64} << 20;  // of the product library
constexpr double kRoutingBuffers = 1.6;        // of 2 N h: between 1.2 and 2.0 on the models measured

Bytes whole(double bytes) {
  return std::llround(bytes);
}

double tokens_of(const Split& split) {
  return static_cast<double>(split.sequence) * static_cast<double>(split.micro_batch) / split.context;
}

/// 2 T h / t: a stream of states on a rank.
double input_bytes(const Setting& setting) {
  const Split& split = setting.split;
  const int shares = split.sequence_parallel ? split.tensor : 1;
  return kHalf * tokens_of(split) * static_cast<double>(setting.model->hidden) / shares;
}

/// Of all streams, as stages send them.
double sent_bytes(const Setting& setting) {
  return static_cast<double>(setting.model->streams) * input_bytes(setting);
}

/// Adds the bytes of the tensors, split by when they may go.
void add_tensors(const std::vector<model::KeptTensor>& tensors, LayerBytes& out) {
  for (const model::KeptTensor& tensor : tensors)
    (tensor.until_weight ? out.until_weight : out.until_input) += tensor.bytes;
}

double sum_of(const std::vector<model::KeptTensor>& tensors) {
  double sum = 0;
  for (const model::KeptTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

/// 2 x 2 T f / t: the backward of a gated activation needs its two inputs' gradients while the kept ones are still held.
double backward_bytes(const Setting& setting, const model::Layer& layer) {
  const model::Shares shares = model::shares_of(layer, setting.split);
  const double each = kHalf * static_cast<double>(shares.tokens) / static_cast<double>(shares.tensor);
  double widest = layer.mlp ? static_cast<double>(layer.mlp->ffn) : 0;
  if (layer.experts)
    widest = std::max(widest, static_cast<double>(layer.experts->ffn * layer.experts->top_k));
  return 2 * each * widest;
}

double routing_bytes(const Setting& setting, const model::Layer& layer) {
  if (!layer.experts) return 0;
  const auto routed =
      model::routed_tokens(*layer.experts, model::shares_of(layer, setting.split), setting.split);
  return kRoutingBuffers * kHalf * static_cast<double>(routed) *
         static_cast<double>(setting.model->hidden_of(layer));
}

/// Bytes of dense parameters and of experts: whole, or the shard of a rank.
struct Sharing {
  double dense = 1;
  double experts = 1;
  [[nodiscard]] double of(double bytes, std::int64_t dense_count, std::int64_t expert_count) const {
    return bytes * (static_cast<double>(dense_count) / dense + static_cast<double>(expert_count) / experts);
  }
};

/// Frozen parameters are their weights in 16 bits and nothing else.
void add_parameters(const Setting& setting, const StageSum& sum, std::int64_t ends, Stage& out) {
  const int zero = setting.split.zero;
  const Replicas replicas = shards_of(setting);
  const Sharing each;
  const Sharing shared{static_cast<double>(replicas.dense), static_cast<double>(replicas.experts)};
  const auto trained = [&](const Sharing& sharing, double bytes) {
    return sharing.of(bytes, out.trained_dense, out.trained_experts);
  };
  const auto frozen = [&](const Sharing& sharing) {
    return sharing.of(2, out.dense - out.trained_dense, out.experts - out.trained_experts);
  };
  // Under ZeRO 3 the optimizer's 32-bit copy is the shard of the weights.
  const double gradient = setting.gradient_bytes;
  const double copy = zero >= 3 && setting.optimizer_bytes >= 4 ? 4 : 0;
  const double states = setting.optimizer_bytes - copy;
  const Sharing& weights = zero >= 3 ? shared : each;
  out.bytes.of(Category::Weights) = whole(trained(weights, copy > 0 ? copy : 2) + frozen(weights));
  // Pipelines of PyTorch reduce once: FSDP adds up whole gradients, in the width that it reduces them in, until the step ends
  // (set_requires_gradient_sync(false), FSDPParam.to_accumulated_grad_if_needed). The shards come when no pass holds anything any more.
  const bool by_layer = shards_layers(setting);
  out.bytes.of(Category::Gradients) = whole(trained(zero == 2 || by_layer ? shared : each, gradient));
  out.bytes.of(Category::Optimizer) = whole(trained(zero >= 1 ? shared : each, states));
  if (by_layer) {
    const auto widest = static_cast<double>(sum.widest);
    const bool is_trained = out.trained_dense + out.trained_experts > 0;
    out.bytes.of(Category::Gathered) = whole(kHalf * (2 * widest + static_cast<double>(ends)) +
                                             (is_trained ? (kHalf + gradient) * widest : 0));
    return;
  }
  // Parameters that no other rank holds are their own shard, but for a shard of 32 bits that products need in 16.
  const auto gathered = [&](int ranks, std::int64_t all, std::int64_t those_trained) {
    return ranks > 1 ? all : copy > 0 ? those_trained : 0;
  };
  if (zero >= 3)
    out.bytes.of(Category::Gathered) =
        whole(2.0 * static_cast<double>(gathered(replicas.dense, out.dense, out.trained_dense) +
                                        gathered(replicas.experts, out.experts, out.trained_experts)));
}

/// Parameters of an MTP layer in addition to those of a layer of its kind.
std::int64_t joining_parameters(const Model& model) {
  const model::Parameters all = model::mtp_parameters(model);
  return all.dense / model.mtp - model::parameters_of(model, *model.find(model.mtp_letter)).dense;
}

/// Bytes that a stage with the head, or a share of it, needs at the moment when the loss goes back.
double head_moment(const Setting& setting) {
  const Split& split = setting.split;
  const double rows = static_cast<double>(setting.model->vocabulary) / split.tensor / split.output;
  const double weight = kHalf * rows * static_cast<double>(setting.model->hidden);
  const double gathered = split.tensor > 1 ? 2 * input_bytes(setting) * split.tensor : 0;
  return (setting.split.trainable.head ? weight : 0) + 3 * input_bytes(setting) + gathered;
}

/// The most that a moment of its passes needs.
double busiest_moment(const Setting& setting, const StageSum& sum, const Stage& stage) {
  if (stage.head) return head_moment(setting);
  return shares_head(setting) ? std::max(sum.bytes.backward, head_moment(setting)) : sum.bytes.backward;
}

}  // namespace

void StageSum::add(char letter, const LayerBytes& layer, int count) {
  letters += letter;
  bytes.until_input += layer.until_input * count;
  bytes.until_weight += layer.until_weight * count;
  bytes.stash += layer.stash * count;
  bytes.recomputed = std::max(bytes.recomputed, layer.recomputed);
  bytes.backward = std::max(bytes.backward, layer.backward);
  bytes.routing = std::max(bytes.routing, layer.routing);
}

LayerBytes layer_bytes(const Setting& setting, const model::Layer& layer) {
  const Model& model = *setting.model;
  const auto kept = [&](Recomputation recomputation, const std::vector<std::string>& modules) {
    return model::kept_tensors(model, layer, setting.split, recomputation, modules);
  };
  const auto all = kept(Recomputation::None, {});
  const bool whole = recomputes_all(setting);
  const auto stays = kept(whole ? Recomputation::Full : Recomputation::None, setting.modules);
  LayerBytes out;
  // Where some passes keep all, a pass holds all of it; `stash` is the part that a recomputed pass holds until its recomputation.
  const bool keeps_some = whole && setting.keeps_some;
  add_tensors(keeps_some ? all : stays, out);
  // Gradients that the input pass leaves for the weights' pass take the place of the bytes that it frees.
  const double left =
      std::min(out.until_input, sum_of(model::gradients_for_weight(model, layer, setting.split)));
  out.until_input -= left;
  out.until_weight += left;
  if (whole) out.stash = sum_of(stays);
  out.recomputed = keeps_some ? 0 : sum_of(all) - sum_of(stays);
  if (setting.split.trainable.reach != model::Reach::None) out.backward = backward_bytes(setting, layer);
  out.routing = routing_bytes(setting, layer);
  return out;
}

void finish_bytes(const Setting& setting, const StageSum& sum, bool is_last, Stage& out) {
  const Split& split = setting.split;
  // Vocabulary Parallelism (arXiv 2411.05288) deals out the embedding's rows with the head's.
  const bool shared = shares_head(setting);
  const bool rows = out.embedding || shared;
  const std::int64_t layers = out.dense;
  const model::Trainable& trainable = split.trainable;
  const auto add = [&](std::int64_t parameters, bool trained) {
    out.dense += parameters;
    if (trained) out.trained_dense += parameters;
  };
  if (rows) add(model::local_embedding(*setting.model, split), trainable.embedding);
  if (out.embedding) add(model::position_parameters(*setting.model), trainable.embedding);
  if (out.mtp > 0) add(out.mtp * joining_parameters(*setting.model) / split.tensor, trainable.head);
  if (is_last) add(model::final_norm_parameters(*setting.model), trainable.head);
  if (out.head || shared) add(model::local_output(*setting.model, split, rows), trainable.head);
  add_parameters(setting, sum, out.dense - layers, out);
  out.bytes.of(Category::UntilInput) = whole(sum.bytes.until_input);
  out.bytes.of(Category::UntilWeight) = whole(sum.bytes.until_weight);
  out.stash = whole(sum.bytes.stash);
  // The run's memory shares them out from the last stage.
  if (is_last)
    out.bytes.of(Category::Logits) =
        whole(kHalf * tokens_of(split) * static_cast<double>(setting.model->vocabulary) / split.tensor);
  if (split.pipeline > 1) out.bytes.of(Category::Buffers) = whole(sent_bytes(setting));
  out.bytes.of(Category::Temporaries) =
      whole(model::stand_in_bytes(*setting.model, sum.letters, split) + busiest_moment(setting, sum, out) +
            sum.bytes.routing + sum.bytes.recomputed);
  out.bytes.of(Category::Reserve) = kWorkspace;
}

Bytes message_bytes(const Setting& setting) {
  return whole(sent_bytes(setting));
}

}  // namespace pipeloom::estimate
