#pragma once

// Share of a row's time that is taken, by channel (a kind of op, a direction of messages), at every scale.
//
//   level l   cells of cell() * 2^l ticks, the first at the span's start; per cell a 16-bit share for every channel
//
// A cell that anything longer than 0 touches is never 0, and one that a gap touches is never full, on every level: shares are
// rounded up, and their sum is kept below full where there is a gap.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/tracks/track.hpp"

namespace pipeloom::tracks {

/// Least share that a bin shows if it is touched, and that it lacks if it has a gap: one step of an 8-bit colour.
inline constexpr float kLeastShare = 1.0F / 255;
/// Channels that a row may have: every kind of op.
inline constexpr std::size_t kMaxChannels = kOpKinds;

/// Scales the shares of one bin, out[place] for every place, so that they sum to kLeastShare at least unless all are 0, and to
/// 1 - kLeastShare at most if there is a gap (to 1, give or take 1e-4, if there is none).
void keep_visible(float* out, std::span<const std::uint8_t> places, bool gap);

class Pyramid {
 public:
  Pyramid() = default;
  /// Collects the things of a row.
  class Builder;

  [[nodiscard]] bool empty() const { return levels_.empty(); }
  [[nodiscard]] std::size_t channels() const { return channels_; }
  /// Ticks of a cell of the finest level: narrower bins are better answered from the things themselves.
  [[nodiscard]] double cell() const { return static_cast<double>(Ticks{1} << shift_); }

  /// Writes channel c's share of bin i to out[i * stride + places[c]], kept visible; bins outside of the span are left alone.
  /// Within a cell, things count as spread evenly. REQUIRES: range longer than 0, bins >= 1, places.size() == channels(), out is 0 so far.
  /// O(bins) where a bin is a cell or longer, as no cell longer than a bin is asked.
  void shares(TimeRange range, int bins, std::span<const std::uint8_t> places, float* out,
              std::size_t stride) const;

  [[nodiscard]] std::size_t memory_bytes() const { return cells_.capacity() * sizeof(std::uint16_t); }

 private:
  struct Level {
    std::size_t begin = 0;  // into cells_, in cells
    std::size_t count = 0;
  };
  struct Query;
  template <std::size_t kChannels>
  void fill(const Query& query, std::span<const std::uint8_t> places, float* out) const;
  void add_level();

  Span span_;
  int shift_ = 0;  // log2 of a finest cell's ticks
  std::size_t channels_ = 0;
  std::vector<Level> levels_;
  std::vector<std::uint16_t> cells_;  // level by level, [cell][channel]
};

/// Its scratch is kept between rows: begin(), then add() and gap() in any order, then take().
class Pyramid::Builder {
 public:
  /// A row of 1 .. kMaxChannels channels over `span`, in `cells` / 2 to `cells` cells (at least 1).
  void begin(Span span, std::size_t channels, std::size_t cells);
  /// An equal part of [start, end) for one of `of` ops: an op of an overlapped pair has 1 of 2.
  void add(Ticks start, Ticks end, std::size_t channel, std::size_t of = 1);
  /// Marks [start, end) as a gap.
  void gap(Ticks start, Ticks end);
  [[nodiscard]] Pyramid take();

 private:
  void quantise(std::size_t cell, std::uint16_t* out) const;

  Pyramid row_;
  std::vector<float> busy_;  // [cell][channel], ticks
  std::vector<std::uint8_t> gap_;
};

/// Adds things one by one to bins, exactly: for bins that are narrower than cells.
class BinAdder {
 public:
  /// Shares go to out[bin * stride + place], which are 0 so far. REQUIRES: range longer than 0, bins >= 1.
  BinAdder(TimeRange range, int bins, float* out, std::size_t stride);
  void add(double start, double end, std::size_t place, std::size_t of = 1);
  void gap(double start, double end);
  /// Keeps all bins visible.
  void finish(std::span<const std::uint8_t> places);

 private:
  /// Position of a time, in bins from the start of the range and within it.
  [[nodiscard]] double place_of(double time) const {
    const double place = (time - range_.start) * per_tick_;
    return place < 0 ? 0 : place > bins_ ? bins_ : place;
  }

  TimeRange range_;
  int bins_;
  double per_tick_;
  float* out_;
  std::size_t stride_;
  std::vector<std::uint8_t> gap_;
};

}  // namespace pipeloom::tracks
