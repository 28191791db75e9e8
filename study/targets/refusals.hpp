#pragma once

// Deployments that a target cannot run or be told, apart from sizes of its own orders and from layers.

#include <string>
#include <string_view>

#include "study/targets/deployment.hpp"
#include "study/targets/own_order.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

/// True if several ranks have the same weights, of all layers or of experts, so that ZeRO shares something
/// out. Context ranks have the same as data ranks have; experts are not cut by tensor ranks.
[[nodiscard]] inline bool has_replicas(const model::Split& split) {
  const int replicas = split.data * split.context;
  return replicas > 1 || (split.expert > 1 && replicas * split.tensor > split.expert);
}

/// The exchange that context ranks are told where windows of attention or learned scores of its softmax keep
/// them from passing keys and values around: "a2a" where they share out heads, else "all_gather". "" where
/// neither is there. Transformer Engine 2.20 (pytorch/attention/dot_product_attention/context_parallel.py,
/// attn_forward_func_with_cp()).
[[nodiscard]] std::string_view exchange_instead_of_ring(const model::Model& model, const model::Split& split);

// Each is one line, "" where nothing is to be said.

/// Refusals of the model's parallel split, whatever the order.
[[nodiscard]] std::string split_refusal(const Target& target, const model::Model& model,
                                        const model::Split& split);
/// Refusals of the model and its parallel split.
[[nodiscard]] std::string model_refusal(const Target& target, const Deployment& deployment);
/// Refusals of recomputation and copies to the host.
[[nodiscard]] std::string options_refusal(const Target& target, const Deployment& deployment);
/// Refusals of an order that has to come from a file: ops that a file cannot hold, or stages that a class cannot deal out.
[[nodiscard]] std::string file_refusal(const Target& target, const Deployment& deployment);
/// Refusals of an own order together with the other options.
[[nodiscard]] std::string own_refusal(const Target& target, const Deployment& deployment, const RunsAs& runs);

}  // namespace pipeloom::study
