#pragma once

// How much of a row's time is taken, by channel (a kind of op, a direction of messages), at every scale.
//
//   level l   cells of `width` * 2^l ticks, the first at span.start; per cell a 16-bit share for every channel
//
// A cell that anything longer than 0 touches is never 0, and one that a gap touches is never full, on every level: shares are
// rounded up, and their sum is kept below full where there is a gap.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gui/model/view_state.hpp"
#include "sim/timeline.hpp"

namespace pipeloom::gui {

/// What a bin that is touched shows at least, and what one with a gap lacks at least: one step of an 8-bit colour.
inline constexpr float kLeastShare = 1.0F / 255;

class BusyPyramid {
 public:
  BusyPyramid() = default;
  /// Collects for a row of `channels` >= 1 over `span`, in about `cells` cells (at least 1).
  class Builder;

  [[nodiscard]] bool empty() const { return levels_.empty(); }
  [[nodiscard]] std::size_t channels() const { return channels_; }
  /// Ticks of a cell of the finest level: bins narrower than this are better answered from the things themselves.
  [[nodiscard]] double cell() const { return static_cast<double>(width_); }

  /// out[i * channels() + c] is channel c's share of bin i; `out` is resized. Bins outside of the span are 0. The rules for least
  /// and most are the caller's (keep_visible). REQUIRES: range longer than 0, bins >= 1. O(bins) where a bin is a cell or longer.
  void shares(TimeRange range, int bins, std::vector<float>& out) const;

  [[nodiscard]] std::size_t memory_bytes() const { return cells_.capacity() * sizeof(std::uint16_t); }

 private:
  struct Level {
    std::size_t begin = 0;  // into cells_
    std::size_t count = 0;
  };
  void add_levels();

  Span span_;
  Ticks width_ = 1;
  std::size_t channels_ = 0;
  std::vector<Level> levels_;
  std::vector<std::uint16_t> cells_;  // level by level, [cell][channel]
};

/// Scratch is kept between rows. add() in any order, then take().
class BusyPyramid::Builder {
 public:
  void begin(Span span, std::size_t channels, std::size_t cells);
  /// `parts` of `of` of [start, end) belong to the channel: 1 of 2 for an op of an overlapped pair.
  void add(Ticks start, Ticks end, std::size_t channel, Ticks parts = 1, Ticks of = 1);
  [[nodiscard]] BusyPyramid take();

 private:
  void quantise(std::size_t cell, std::uint16_t* out) const;

  BusyPyramid row_;
  double cells_per_tick_ = 0;
  std::vector<double> busy_;  // [cell][channel], ticks
};

/// Adds things one by one to bins, exactly: what shares() does where bins are narrower than cells.
class BinAdder {
 public:
  /// REQUIRES: range longer than 0; out has bins * channels values.
  BinAdder(TimeRange range, int bins, std::size_t channels, std::vector<float>& out);
  /// `weight` of [start, end) belongs to the channel.
  void add(double start, double end, std::size_t channel, float weight);

 private:
  TimeRange range_;
  int bins_;
  double per_tick_;
  std::size_t channels_;
  std::vector<float>* out_;
};

/// Scales the shares of one bin so that those which are touched sum to kLeastShare at least, and to 1 - kLeastShare at most where
/// they do not fill the bin.
void keep_visible(float* shares, std::size_t channels);

}  // namespace pipeloom::gui
