#pragma once

// Rows of actions as a text table, one line per step, as PyTorch lays it out.

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "sim/actions.hpp"

namespace pipeloom::torch {

struct GridOptions {
  /// The step whose line ends in " <-- ERROR HERE".
  std::optional<std::size_t> error_step = {};
  /// Steps [first, last) are shown; columns are as wide as all steps need.
  std::size_t first = 0;
  std::size_t last = std::numeric_limits<std::size_t>::max();
};

/// A header with the ranks, then "Step 07: " and the ranks' cells of that step: a step is a position in the row, blanks counted,
/// and not a time. Numbers of steps are padded with zeros to the digits of the last, cells with blanks to the longer of the label
/// and the rank's longest cell. Every line ends with a line feed.
[[nodiscard]] std::string grid_text(const ActionLists& lists, const GridOptions& options = {});

}  // namespace pipeloom::torch
