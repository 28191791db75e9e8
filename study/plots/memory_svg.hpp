#pragma once

// Memory of every rank over time, with the limit, as inline SVG.

#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/simulate.hpp>
#include "study/document/document.hpp"

namespace pipeloom::study::page {

struct MemoryInput {
  const Timeline* timeline = nullptr;
  const MemoryModel* model = nullptr;
  /// Ranks to show, in order.
  std::vector<Rank> ranks;
  std::string id = "memory-chart";
  std::string link = "time";
};

/// A strip per rank, all on one scale. A strip has one to three points for each of some 1,600 columns: the highest,
/// lowest and last value there.
[[nodiscard]] Figure draw_memory(const MemoryInput& input);

}  // namespace pipeloom::study::page
