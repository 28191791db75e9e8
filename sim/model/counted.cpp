#include "sim/model/counted.hpp"

#include <algorithm>
#include <cmath>

#include "sim/model/shares.hpp"

namespace pipeloom::model {
namespace {

/// Rows of all groups together, of as many samples as the split has.
std::int64_t rows_of(std::int64_t rows, const Counted& counted, const Split& split) {
  return ceil_divide(rows * split.micro_batch, counted.micro_batch);
}

double scaled(std::int64_t bytes, const Counted& counted, const Split& split) {
  return static_cast<double>(bytes) * static_cast<double>(split.micro_batch) /
         static_cast<double>(counted.micro_batch);
}

/// Causal attention with the window that lets as many pairs through: w s - w^2 / 2 of an area in which the diagonal counts half. More pairs than
/// causal attention has: every query sees the same number of keys.
void set_pairs(CoreAttention& core, const CountedAttention& seen) {
  const auto queries = static_cast<double>(seen.queries);
  const auto keys = static_cast<double>(seen.keys);
  const auto pairs = static_cast<double>(seen.pairs);
  const double area = pairs - queries / 2;
  core.causal = seen.queries == seen.keys && 2 * area <= keys * keys;
  const double window = core.causal ? keys - std::sqrt(keys * keys - 2 * area) : pairs / queries;
  core.window = window < keys ? std::max<std::int64_t>(1, std::llround(window)) : 0;
}

CoreAttention core_of(const CountedAttention& seen, const Counted& counted, const Split& split) {
  CoreAttention core;
  core.batch = rows_of(seen.batch * seen.times, counted, split);
  core.queries = seen.queries;
  core.keys = seen.keys;
  core.heads = seen.heads;
  core.kv_heads = seen.kv_heads;
  core.qk_dim = seen.qk_dim;
  core.v_dim = seen.v_dim;
  set_pairs(core, seen);
  return core;
}

/// Scores and the like: two products backward for one forward, and none for weights, as an attention that is not fused has.
CoreAttention core_of(const CountedProduct& inner, const Counted& counted, const Split& split) {
  CoreAttention core;
  core.batch = inner.groups * inner.times;
  core.queries = ceil_divide(rows_of(inner.rows, counted, split), inner.groups);
  core.keys = inner.outputs;
  core.heads = 1;
  core.kv_heads = 1;
  core.qk_dim = inner.inputs;
  core.causal = false;
  core.flash = false;
  return core;
}

}  // namespace

Work counted_work(const Counted& counted, const Split& split) {
  Work work;
  for (const CountedProduct& product : counted.products)
    for (std::int64_t i = 0; i < product.times; ++i)
      work.gemms.push_back({"product", ceil_divide(rows_of(product.rows, counted, split), product.groups),
                            product.inputs, product.outputs, product.groups});
  for (const CountedAttention& seen : counted.attention)
    work.attention.push_back(core_of(seen, counted, split));
  for (const CountedProduct& inner : counted.inner) work.attention.push_back(core_of(inner, counted, split));
  work.traffic.push_back({"elementwise", scaled(counted.elementwise[0], counted, split),
                          scaled(counted.elementwise[1], counted, split),
                          static_cast<int>(std::max(counted.kernels[0], counted.kernels[1]))});
  return work;
}

std::vector<KeptTensor> counted_tensors(const Counted& counted, const Split& split,
                                        Recomputation recomputation) {
  if (recomputation == Recomputation::Full)
    return {{"layer", "input", scaled(counted.input, counted, split), false}};
  return {{"layer", "what products read", scaled(counted.kept_for_weights, counted, split), true},
          {"layer", "all else", scaled(counted.kept - counted.kept_for_weights, counted, split), false}};
}

KeptTensor counted_gradients(const Counted& counted, const Split& split) {
  return {"gradient of output", "product", scaled(counted.gradients, counted, split), true};
}

double counted_flops(const Counted& counted, bool full_square) {
  double unseen = 0;
  for (const CountedAttention& seen : counted.attention)
    unseen += 2 *
              (static_cast<double>(seen.queries) * static_cast<double>(seen.keys) -
               (static_cast<double>(seen.pairs) - static_cast<double>(seen.queries) / 2)) *
              static_cast<double>(seen.batch * seen.heads * (seen.qk_dim + seen.v_dim) * seen.times);
  return (static_cast<double>(counted.flops[0]) - (full_square ? 0 : unseen)) /
         static_cast<double>(counted.micro_batch);
}

}  // namespace pipeloom::model
