#pragma once

// Idle time by cause as stacked bars: a bar per rank of a run, or per run of a comparison.

#include <string>
#include <vector>

#include <pipeloom/units.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"
#include "study/document/document.hpp"

namespace pipeloom::study::page {

struct CauseBar {
  std::string label;
  CauseSums causes;
  /// The whole of which the bar is a part: time of a rank, or of all ranks. Bars of equal wholes can be compared by length.
  TickSum whole;
};

/// REQUIRES: some bar has idle time. All bars have one scale: that of the longest.
[[nodiscard]] Figure draw_cause_bars(const std::vector<CauseBar>& bars, TimeUnit unit, const std::string& id);
/// The causes that any of them has.
[[nodiscard]] Legend cause_legend(const std::vector<CauseBar>& bars);

}  // namespace pipeloom::study::page
