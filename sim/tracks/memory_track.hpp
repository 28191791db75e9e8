#pragma once

// The least and most bytes that a rank holds, at every scale. Runs with few changes keep their curve and answer exactly; others keep
// extremes per cell as 16-bit parts of the rank's peak, rounded outwards.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/memory.hpp"
#include "sim/tracks/track.hpp"

namespace pipeloom::tracks {

class MemoryPyramid {
 public:
  MemoryPyramid() = default;
  /// `curve` in time order, as each_memory_curve() gives it; the last value holds to span.end. In `cells` / 2 to `cells` cells; `keep_curve` answers
  /// bins narrower than a cell exactly.
  MemoryPyramid(const std::vector<MemoryStep>& curve, Span span, std::size_t cells, bool keep_curve);

  /// As LevelTrack has it; within a cell, its extremes are those of every part of it. O(bins), plus the changes within the range where the
  /// curve answers.
  void extents(TimeRange range, std::span<Extent> out) const;
  [[nodiscard]] Bytes peak() const { return peak_; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct Cell {
    std::uint16_t least = 0;
    std::uint16_t most = 0;
  };
  struct Level {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  void add_cells(const std::vector<MemoryStep>& curve);
  void add_level();
  /// `at` is the last change at or before `from`, or an earlier one.
  [[nodiscard]] Extent of_curve(double from, double to, std::size_t& at) const;
  [[nodiscard]] Extent of_cells(const Level& level, double from, double to) const;

  Span span_;
  int shift_ = 0;  // log2 of a finest cell's ticks
  Bytes peak_ = 0;
  std::vector<Level> levels_;
  std::vector<Cell> cells_;
  std::vector<MemoryStep> curve_;
};

/// Bytes that every rank holds, static bytes included. Rows: ranks.
class MemoryTrack final : public LevelTrack {
 public:
  /// O(ops). Keeps no reference. `span` is that of the run's ops.
  MemoryTrack(const Timeline& timeline, const MemoryModel& memory, Span span);

  [[nodiscard]] std::size_t rows() const override { return ranks_.size(); }
  void extents(std::size_t row, TimeRange range, std::span<Extent> out) const override {
    ranks_[row].extents(range, out);
  }
  [[nodiscard]] Bytes peak() const override { return peak_; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  Bytes peak_ = 0;
  std::vector<MemoryPyramid> ranks_;
};

}  // namespace pipeloom::tracks
