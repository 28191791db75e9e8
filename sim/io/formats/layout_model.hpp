#pragma once

// A model as `pipeloom layout` reads it: how many layers there are and how heavy they are.
//
//   {"layers": 32, "layer_weights": [202, 202, ...], "embedding_weight": 131, "output_weight": 131, "mtp": 0}

#include <optional>

#include "sim/io/json/json_value.hpp"
#include "sim/layout/layer_split.hpp"

namespace pipeloom::io {

struct LayoutModel {
  int layers = 0;  ///< decoder layers
  int mtp = 0;     ///< MTP layers after them
  /// Set if any weight is given: parameters, as many as layers. Layers count 1 where only the ends are given.
  std::optional<layout::LayerWeights> weights;
};

/// Reads the object. "layers" may be left out where "layer_weights" is an array; that may be one number for all layers. Weights
/// are whole numbers from 0, and 1e9 is one. Throws InputError at the first thing that is wrong: unknown keys, other types,
/// numbers out of range, a number of weights that is not that of the layers.
[[nodiscard]] LayoutModel read_layout_model(const Value& root);

}  // namespace pipeloom::io
