#pragma once

// The steady state of a step: the cycle of ops that every rank goes through over and over.

#include <optional>

#include "gui/model/run/run_model.hpp"

namespace pipeloom::gui {

struct Steady {
  /// One period, from the middle of the step on.
  Ticks start = 0;
  Ticks period = 0;
  /// So many microbatches later the ops of a period are those of the one before.
  int microbatches = 0;
};

/// The shortest period in the middle of the first step that every rank repeats: the same kinds of ops of the same stages, as long and at
/// the same distances, of later microbatches. No value where there are not two of them. O(ops of a few periods), for every length tried.
[[nodiscard]] std::optional<Steady> find_steady(const RunModel& run);

}  // namespace pipeloom::gui
