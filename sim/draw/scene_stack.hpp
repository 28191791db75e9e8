#pragma once

// Several timelines above each other in one picture, on one time scale.

#include <vector>

#include "sim/draw/scene.hpp"

namespace pipeloom::draw {

struct StackedTimeline {
  const Timeline* timeline = nullptr;
  /// Options as for a picture of it alone. Heights are of the whole picture, and shared out as the runs would take them by themselves; of the
  /// widths the largest holds for all. Each has its own title, legend and axis.
  SceneOptions options;
};

/// Where all have the same range, the same time is at the same x. The scene's `time` is that of the first; rows are those of all, from the
/// top. REQUIRES: not empty. Throws as build_scene does.
[[nodiscard]] Scene build_stacked_scene(const std::vector<StackedTimeline>& runs);

}  // namespace pipeloom::draw
