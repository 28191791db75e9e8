#pragma once

// What a microbatch leaves in memory between its forward and its backward, tensor by tensor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// A tensor that a module keeps from its forward on, and when it may go.
struct KeptTensor {
  std::string_view module;    ///< "attention", "mlp"
  std::string_view name;      ///< "q", "gelu input"
  double bytes = 0;           ///< per rank and microbatch
  bool until_weight = false;  ///< W needs it; else the input pass is its last user
};

/// Of one layer, largest modules as they run. None recomputed: all. Selective: without core attention's; full: the layer's input alone.
/// `modules`, if not empty, names modules that are recomputed besides.
[[nodiscard]] std::vector<KeptTensor> kept_tensors(const Model& model, const Layer& layer, const Split& split,
                                                   Recomputation recomputation,
                                                   const std::vector<std::string>& modules = {});

/// Bytes of a layer's activations by Korthikanti et al. (arXiv 2205.05198, Table 2): no flash attention, dropout, f = 4h. A reference for tests and
/// for models of that time.
[[nodiscard]] double korthikanti_bytes(const Model& model, const Layer& layer, const Split& split,
                                       Recomputation recomputation);

}  // namespace pipeloom::model
