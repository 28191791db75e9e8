#pragma once

// The part of a layer's forward that runs again.

#include <string>
#include <string_view>
#include <vector>

#include "sim/model/work.hpp"

namespace pipeloom::estimate {

/// The part of the layer's `work` that runs again. Full: all. Selective: the parts that `modules` name, core attention where they name nothing,
/// each part once. None: nothing. Collectives as often as in the forward.
[[nodiscard]] model::Work recomputed_work(const model::Layer& layer, const model::Work& work,
                                          model::Recomputation recomputation,
                                          const std::vector<std::string>& modules);
/// True if a layer of this kind has the module.
[[nodiscard]] bool has_module(const model::Layer& layer, std::string_view module);

}  // namespace pipeloom::estimate
