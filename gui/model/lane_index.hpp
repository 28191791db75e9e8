#pragma once

// Level of detail: how busy each rank is with each kind of op, for any stretch of time at any scale, at a cost that follows the pixels
// and not the ops.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gui/model/view_state.hpp"
#include "sim/timeline.hpp"

namespace pipeloom::gui {

/// The share of a stretch of time that a rank spent in each kind, 0 .. 1. An overlapped group counts once, in equal parts for its ops.
struct BusyShares {
  std::array<float, kOpKinds> of{};
  [[nodiscard]] float total() const {
    float sum = 0;
    for (const float share : of) sum += share;
    return sum;
  }
};

/// A rank's ops [first, last): positions in timeline.start of one step.
struct OpSlice {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};

class LaneIndex {
 public:
  /// O(ops). `timeline` must outlive it.
  explicit LaneIndex(const Timeline& timeline, const std::vector<std::vector<MemoryStep>>& memory = {});

  /// The work ops of a rank in `step` that overlap [from, to). O(log ops).
  [[nodiscard]] OpSlice visible(Rank rank, double from, double to, int step = 0) const;
  /// out[i] is the busy shares of bin i of `bins` equal bins of [range.start, range.end). Never 0 for a bin that an op longer than 0
  /// touches, never 1 (in total) for one that a gap touches. O(bins).
  void shares(Rank rank, TimeRange range, int bins, std::vector<BusyShares>& out) const;
};

}  // namespace pipeloom::gui
