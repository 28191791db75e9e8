#pragma once

// The place for a rank that is dragged by its name.

#include <optional>

#include "gui/model/chart/chart_layout.hpp"

namespace pipeloom::gui {

struct RankDrop {
  int rank = 0;
  int place = 0;  ///< from the top of all ranks of its run, hidden ones too
  int ranks = 0;  ///< of its run
  double y = 0;   ///< of the line between the rows where it would be dropped
};

/// The drop of the rank under `held`, with the pointer at `y`: between those rows of its run whose middles are above and below. Nullopt for
/// a pinned rank, or where it would keep its place.
[[nodiscard]] std::optional<RankDrop> drop_of(const ViewState& view, const ChartLayout& layout,
                                              const Hit& held, double y);

}  // namespace pipeloom::gui
