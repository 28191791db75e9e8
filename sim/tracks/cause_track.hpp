#pragma once

// Idle time, by its causes.

#include <span>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/tracks/block_sums.hpp"
#include "sim/tracks/track.hpp"

namespace pipeloom::tracks {

/// Rows: ranks. Channels: causes.
class CauseTrack final : public Track {
 public:
  /// `idle` by rank, each in order of time and without overlaps, as all_idle_spans() gives it; it must outlive the track. O(spans).
  explicit CauseTrack(std::span<const std::vector<IdleSpan>> idle);

  [[nodiscard]] std::size_t rows() const override { return idle_.size(); }
  [[nodiscard]] std::size_t channels() const override { return kIdleCauses; }
  /// Positions in the rank's spans: exactly those that overlap the range.
  [[nodiscard]] Slice visible(std::size_t row, TimeRange range) const override;
  /// O(bins + spans within the range).
  void shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const override;
  /// O(log spans).
  void exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const override;

 private:
  using Sums = std::array<Ticks, kIdleCauses>;

  std::span<const std::vector<IdleSpan>> idle_;
  std::vector<BlockSums<Sums>> before_;  // [rank]
};

}  // namespace pipeloom::tracks
