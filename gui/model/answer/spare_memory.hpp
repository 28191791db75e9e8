#pragma once

// Uses for the memory that a model's run leaves free: changes that take more memory and less time, each simulated.

#include <optional>
#include <string>

#include "gui/model/edit/config_model.hpp"

namespace pipeloom::gui {

struct SpareUse {
  std::string text;  ///< "Use the free 49.9 GB: micro batch 2 takes 3.1 % less time"
  std::string room;  ///< "fits, 20.3 GB free"
  Assignments config;
};

/// The change that takes least time: a larger micro batch, no recomputation, or fewer ranks for each layer and more replicas. The global batch
/// and the number of devices stay. Nothing where no model is named, less than a tenth of the limit is free, nothing is faster, or once
/// `cancelled`. For jobs.
[[nodiscard]] std::optional<SpareUse> use_of_spare(const Assignments& now, const Cancelled& cancelled = {});

}  // namespace pipeloom::gui
