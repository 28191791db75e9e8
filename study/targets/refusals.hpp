#pragma once

// Deployments that a target cannot run or be told, apart from sizes of its own orders and from layers.

#include <string>

#include "study/targets/deployment.hpp"
#include "study/targets/own_order.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

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
