#pragma once

// The paint of each op of a run now: the chosen colouring, changed by a comparison, its slack, a search, the legend or a
// chosen kind. The chart and exported pictures both ask here.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// Points into the run, its colours and ChartPart: good until one of them changes.
struct OpLook {
  const RunModel* run = nullptr;
  const ChartColours* colours = nullptr;
  const std::vector<std::int8_t>* tint = nullptr;  ///< by position; null: not compared
  const std::vector<std::uint8_t>* slack =
      nullptr;  ///< by op index; null: not coloured by slack, or not known
  const std::vector<std::size_t>* matches = nullptr;  ///< null: nothing is searched for or pointed at
  std::optional<OpKind> kind;                         ///< the only one not dimmed, from the legend

  /// Dimmed, as a search or the chosen kind leave it out. O(log matches).
  [[nodiscard]] bool is_left_out(std::size_t position) const;
  /// REQUIRES: position < run->timeline.start.size(). O(log matches).
  [[nodiscard]] const OpPaint& of(std::size_t position) const;
};

/// `colours` are those of the run under the present colouring.
[[nodiscard]] OpLook op_look(const Session& session, const ChartPart& part, const RunModel& run,
                             const ChartColours& colours);

}  // namespace pipeloom::gui
