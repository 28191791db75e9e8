#pragma once

// What a rank holds of a microbatch's tokens, heads and experts. REQUIRES everywhere: check() of sim/model/check.hpp passed.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/model/model.hpp"
#include "sim/model/weights.hpp"

namespace pipeloom::model {

[[nodiscard]] constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Shares {
  std::int64_t tokens = 0;  ///< T: of the context's share of the sequence, b s / c
  std::int64_t tensor = 1;  ///< t
  std::int64_t sequence =
      1;  ///< ranks that share tokens outside of products: t with sequence parallelism, else 1
};

/// Of samples with so many tokens.
[[nodiscard]] inline Shares shares_of_samples(std::int64_t tokens, const Split& split) {
  return {ceil_divide(split.micro_batch * tokens, split.context), split.tensor,
          split.sequence_parallel ? split.tensor : 1};
}
/// Tokens of a layer's sample, which may be others than the text's.
[[nodiscard]] inline std::int64_t sample_tokens(const Layer& layer, std::int64_t sequence) {
  return layer.tokens != 0 ? layer.tokens : sequence;
}
[[nodiscard]] inline Shares shares_of(const Layer& layer, const Split& split) {
  return shares_of_samples(sample_tokens(layer, split.sequence), split);
}
/// Of one of the layer's matrices, or of a product at its end.
template <class WithTokens>
[[nodiscard]] Shares shares_of(const WithTokens& product, const Layer& layer, const Split& split) {
  return product.tokens != 0 ? shares_of_samples(product.tokens, split) : shares_of(layer, split);
}
/// Of embedding and head.
[[nodiscard]] inline Shares shares_of(const Split& split) {
  return shares_of(Layer{}, split);
}

/// Tokens that one expert gets from all ranks of its group: where the load is even e ceil(k T / (t E)), each rank's share padded to whole tokens
/// per expert (capacity factor 1); of the rank with most tokens so many times the even load.
[[nodiscard]] inline std::int64_t expert_tokens(const Experts& experts, const Shares& shares,
                                                const Split& split) {
  const std::int64_t even =
      split.expert * ceil_divide(experts.top_k * shares.tokens, shares.tensor * experts.experts);
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(even) * split.expert_load));
}

/// N: of all experts of a rank together, k T / t before padding.
[[nodiscard]] inline std::int64_t routed_tokens(const Experts& experts, const Shares& shares,
                                                const Split& split) {
  return experts.experts / split.expert * expert_tokens(experts, shares, split);
}

/// Key/value heads that the ranks of tensor parallelism work on together: each has one at least, so that where there are fewer heads than ranks
/// several ranks have the same one (Megatron-core, Attention: num_query_groups below the tensor parallel size).
[[nodiscard]] inline std::int64_t worked_kv_heads(std::int64_t kv_heads, const Split& split) {
  return std::max<std::int64_t>(kv_heads, split.tensor);
}

/// Whether ranks of the context share out an attention's heads (two all-to-alls around it) instead of its queries.
[[nodiscard]] inline bool shares_heads(std::int64_t heads, std::int64_t kv_heads, const Split& split) {
  const std::int64_t ranks = std::int64_t{split.tensor} * split.context;
  return heads % ranks == 0 && kv_heads % ranks == 0;
}

}  // namespace pipeloom::model
