#pragma once

// Frozen weights: which parts of a model are trained, and how far its backward goes.
//
// Rules (docs/estimate.md): a frozen weight has no W; a part's I runs where it, or anything in front of it in the model, is trained; the inputs of frozen
// products are not kept. Adapters (LoRA, arXiv 2106.09685) are one pair of matrices beside each product of the decoder's layers as this model has them
// (queries, keys and values are one product, so are a gate and its other half), of each expert its own.

#include <string>
#include <vector>

#include "sim/model/model.hpp"
#include "sim/model/weights.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::model {

/// By the words of kTrainableParts (sim/options.hpp): "all", "none", or parts between commas. Weights that are tied are one. `rank`: of adapters; "none"
/// has them of any rank, of 0 too, which takes no time and no bytes.
[[nodiscard]] Trainable trainable_of(const Model& model, const std::string& words, int rank);
/// Returns why it is not of this model, "" if it is.
[[nodiscard]] std::string trainable_refusal(const Model& model, const std::string& words, int rank);

[[nodiscard]] bool trains_all(const Trainable& trainable);
/// How far the backward goes into each of Model::layers, in order.
[[nodiscard]] std::vector<Reach> reaches_of(const Model& model, const Trainable& trainable);

/// Takes from a layer's work what frozen weights do not need, and adds the adapters' products.
void freeze(Work& work, const Layer& layer, const Split& split);

}  // namespace pipeloom::model
