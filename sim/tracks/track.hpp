#pragma once

// Things that run beside time, row by row: ops, messages, idle time, bytes held. A track answers for any stretch of time at any scale, at a cost
// that follows the pixels and not the things in it.

#include <cstddef>
#include <cstdint>
#include <span>

#include <pipeloom/units.hpp>

namespace pipeloom::tracks {

/// The visible stretch of time, in ticks. Floating point, so that zooming at the pointer is exact to a pixel and returns to where
/// it came from. All stacked runs share it.
struct TimeRange {
  double start = 0;
  double end = 1;
  [[nodiscard]] double length() const { return end - start; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// Things [first, last) of a row. Each track says how it counts them.
struct Slice {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
  [[nodiscard]] bool empty() const { return first == last; }
};

/// Asked once per row and frame, never once per thing. A channel is the meaning of a colour: a kind of op, a direction, a cause.
/// REQUIRES (everywhere): row < rows().
class Track {
 public:
  Track() = default;
  Track(const Track&) = delete;
  Track& operator=(const Track&) = delete;
  virtual ~Track() = default;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual std::size_t channels() const = 0;
  /// A short slice that holds every thing that overlaps [range.start, range.end). O(log things).
  [[nodiscard]] virtual Slice visible(std::size_t row, TimeRange range) const = 0;
  /// Writes the part of each of `bins` equal bins of the range that every channel takes: out[bin * channels() + channel]. A bin that
  /// something longer than 0 touches is never all 0, and one that a gap touches never full. REQUIRES: bins >= 1, out.size() == bins *
  /// channels(), and all of it is 0.
  virtual void shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const = 0;
  /// Adds the ticks of each channel within [from, to), exactly, to out[channel].
  virtual void exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const = 0;
};

/// The lowest and the highest value of a level within a bin.
struct Extent {
  std::int64_t least = 0;
  std::int64_t most = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// A level at every time, drawn as a curve: bytes held, a counter. Asked once per row and frame. REQUIRES
/// (everywhere): row < rows().
class LevelTrack {
 public:
  LevelTrack() = default;
  LevelTrack(const LevelTrack&) = delete;
  LevelTrack& operator=(const LevelTrack&) = delete;
  virtual ~LevelTrack() = default;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  /// Writes the extent of each of `out.size()` equal bins of the range, 0 where nothing is known. REQUIRES: out is not empty. O(bins).
  virtual void extents(std::size_t row, TimeRange range, std::span<Extent> out) const = 0;
  /// The highest of all rows at any time: the scale of their curves.
  [[nodiscard]] virtual std::int64_t peak() const = 0;
};

}  // namespace pipeloom::tracks
