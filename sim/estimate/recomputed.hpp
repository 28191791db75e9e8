#pragma once

// The part of a layer's forward that runs again.

#include <string>
#include <vector>

#include "sim/model/work.hpp"

namespace pipeloom::estimate {

/// Full: all of `work`. Selective: what `modules` name, core attention where they name nothing. None: nothing. Collectives as often as in the forward.
[[nodiscard]] model::Work recomputed_work(const model::Work& work, model::Recomputation recomputation,
                                          const std::vector<std::string>& modules);

}  // namespace pipeloom::estimate
