#pragma once

// How many parameters a model has, and how many of them a rank holds.

#include <cstdint>

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// Routed experts apart, since another group of ranks shares them out.
struct Parameters {
  std::int64_t dense = 0;
  std::int64_t experts = 0;
  [[nodiscard]] std::int64_t all() const { return dense + experts; }
  Parameters& operator+=(const Parameters& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
  }
};

/// Of the whole layer, norms included.
[[nodiscard]] Parameters parameters_of(const Model& model, const Layer& layer);
[[nodiscard]] std::int64_t embedding_parameters(const Model& model);  ///< with the table of positions
/// With the product in front of it.
[[nodiscard]] std::int64_t final_norm_parameters(const Model& model);
[[nodiscard]] std::int64_t head_parameters(
    const Model& model);  ///< with the final norm; tied: the norm alone
/// Of all MTP layers: each a layer, a product of 2 x hidden inputs, and three norms; embedding and head are the model's (DeepSeek-V3, arXiv
/// 2412.19437, section 2.2).
[[nodiscard]] Parameters mtp_parameters(const Model& model);
/// Of the whole model, MTP layers included.
[[nodiscard]] std::int64_t parameters_of(const Model& model);
/// Those that a token passes through on its way to the next one: top_k of the experts, no MTP layer, and the embedding's row of weights as the
/// whole table, as model cards count.
[[nodiscard]] std::int64_t active_parameters_of(const Model& model);

/// What a rank of the split holds of a layer: matrices / t, norms and router whole, experts / e.
[[nodiscard]] Parameters local_parameters(const Model& model, const Layer& layer, const Split& split);
/// Of these, what is trained (Split::trainable), and the adapters beside the layer's frozen products: of a product whose outputs tensor ranks share, A is
/// whole on each and B is cut like it; of one whose inputs they share, A is cut and B is whole.
[[nodiscard]] Parameters local_trained(const Model& model, const Layer& layer, const Split& split);
[[nodiscard]] Parameters local_adapters(const Model& model, const Layer& layer, const Split& split);
/// Rows of embedding and head on one rank of a stage that has them or shares them out (Split::output).
[[nodiscard]] std::int64_t vocabulary_rows(const Model& model, const Split& split);
/// The embedding's weights of these rows, and the table of positions, which the first stage has whole.
[[nodiscard]] std::int64_t local_embedding(const Model& model, const Split& split);
[[nodiscard]] std::int64_t position_parameters(const Model& model);
/// The head's weights of these rows: also where they are tied and the embedding is on another stage.
[[nodiscard]] std::int64_t local_output(const Model& model, const Split& split, bool embedding_is_here);
/// Of the last stage: with the final norm.
[[nodiscard]] std::int64_t local_head(const Model& model, const Split& split, bool embedding_is_here);

}  // namespace pipeloom::model
