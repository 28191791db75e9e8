#include "sim/model/parameters.hpp"

#include <array>
#include <cstddef>

#include "sim/model/weights.hpp"

namespace pipeloom::model {
namespace {

/// Of the parts that `counts` names.
template <class Counts>
Parameters sum_of(const Weights& weights, std::int64_t tensor, std::int64_t expert, const Counts& counts) {
  Parameters out;
  for (const Matrix& matrix : weights.matrices) {
    if (!counts(matrix.part)) continue;
    if (matrix.experts != 0)
      out.experts += matrix.size() / expert;
    else
      out.dense += matrix.cut == Cut::Whole ? matrix.size() : matrix.size() / tensor;
  }
  for (const Vector& vector : weights.vectors) {
    if (!counts(vector.part)) continue;
    if (vector.experts != 0)
      out.experts += vector.size * vector.experts / expert;
    else
      out.dense += vector.cut ? (vector.size + tensor - 1) / tensor : vector.size;
  }
  return out;
}

/// Of a layer's own parts and of those that run after them.
template <class Of>
Parameters with_then(const Layer& layer, const Of& of) {
  Parameters out = of(layer);
  for (const Layer& part : layer.then) out += of(part);
  return out;
}

Parameters adapters_of(const Model& model, const Layer& layer, const Split& split) {
  Parameters out;
  for (const Matrix& matrix : weights_of(model, layer).matrices) {
    if (!split.trainable.adapts(matrix.part)) continue;
    const std::int64_t inputs = matrix.inputs / (matrix.cut == Cut::Rows ? split.tensor : 1);
    const std::int64_t outputs = matrix.outputs / (matrix.cut == Cut::Columns ? split.tensor : 1);
    const std::int64_t each = split.trainable.rank * (inputs + outputs);
    if (matrix.experts != 0)
      out.experts += each * matrix.experts / split.expert;
    else
      out.dense += each;
  }
  return out;
}

bool any_part(LayerPart) {
  return true;
}

/// Calls `visit(layer, times)` for each kind of the model's decoder and encoder layers.
template <class Visit>
void for_each_kind(const Model& model, Visit&& visit) {
  std::array<std::int64_t, 256> times = {};
  for (const char letter : model.layers) ++times.at(static_cast<unsigned char>(letter));
  for (const Layer& layer : model.kinds)
    if (const std::int64_t n = times.at(static_cast<unsigned char>(layer.letter)); n > 0) visit(layer, n);
}

}  // namespace

Parameters parameters_of(const Model& model, const Layer& layer) {
  return with_then(layer, [&](const Layer& part) { return sum_of(weights_of(model, part), 1, 1, any_part); });
}

std::int64_t embedding_parameters(const Model& model) {
  return model.vocabulary * model.hidden + position_parameters(model);
}

std::int64_t final_norm_parameters(const Model& model) {
  const std::int64_t product =
      model.head_product ? model.hidden * (model.hidden + (model.head_product_bias ? 1 : 0)) : 0;
  return product + (model.final_norm ? norm_size(model.norm, model.hidden) : 0);
}

std::int64_t head_parameters(const Model& model) {
  return final_norm_parameters(model) + (model.tied ? 0 : model.vocabulary * model.hidden) +
         (model.head_bias ? model.vocabulary : 0);
}

Parameters mtp_parameters(const Model& model) {
  Parameters out;
  const Layer* layer = model.find(model.mtp_letter);
  if (model.mtp == 0 || layer == nullptr) return out;
  Parameters one = parameters_of(model, *layer);
  one.dense += 2 * model.hidden * model.hidden + 3 * norm_size(model.norm, model.hidden);
  out.dense = model.mtp * one.dense;
  out.experts = model.mtp * one.experts;
  return out;
}

std::int64_t parameters_of(const Model& model) {
  std::int64_t sum = embedding_parameters(model) + head_parameters(model) + mtp_parameters(model).all();
  for_each_kind(model, [&](const Layer& layer, std::int64_t times) {
    sum += times * parameters_of(model, layer).all();
  });
  return sum;
}

std::int64_t active_parameters_of(const Model& model) {
  std::int64_t sum = embedding_parameters(model) + head_parameters(model);
  for_each_kind(model, [&](const Layer& layer, std::int64_t times) {
    const Parameters one = parameters_of(model, layer);
    const std::int64_t passed_by = layer.counted ? layer.counted->parameters - layer.counted->active : 0;
    sum += times *
           (one.dense - passed_by +
            (layer.experts ? one.experts / layer.experts->experts * layer.experts->top_k : std::int64_t{0}));
  });
  return sum;
}

Parameters local_parameters(const Model& model, const Layer& layer, const Split& split) {
  return with_then(layer, [&](const Layer& part) {
    return sum_of(weights_of(model, part), split.tensor, split.expert, any_part);
  });
}

Parameters local_trained(const Model& model, const Layer& layer, const Split& split) {
  return with_then(layer, [&](const Layer& part) {
    return sum_of(weights_of(model, part), split.tensor, split.expert,
                  [&](LayerPart of) { return split.trainable.trains(of); });
  });
}

Parameters local_adapters(const Model& model, const Layer& layer, const Split& split) {
  return with_then(layer, [&](const Layer& part) { return adapters_of(model, part, split); });
}

std::int64_t vocabulary_rows(const Model& model, const Split& split) {
  const std::int64_t ranks = static_cast<std::int64_t>(split.tensor) * split.output;
  return (model.vocabulary + ranks - 1) / ranks;
}

std::int64_t local_embedding(const Model& model, const Split& split) {
  return vocabulary_rows(model, split) * model.hidden;
}

std::int64_t position_parameters(const Model& model) {
  return model.positions * model.hidden + model.tables;
}

std::int64_t local_output(const Model& model, const Split& split, bool embedding_is_here) {
  const std::int64_t rows = vocabulary_rows(model, split);
  const bool shared = model.tied && embedding_is_here;
  return (shared ? 0 : rows * model.hidden) + (model.head_bias ? rows : 0);
}

std::int64_t local_head(const Model& model, const Split& split, bool embedding_is_here) {
  return final_norm_parameters(model) + local_output(model, split, embedding_is_here);
}

}  // namespace pipeloom::model
