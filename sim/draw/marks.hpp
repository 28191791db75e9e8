#pragma once

// Level of detail: what of a rank's row can be seen at a given scale, found without visiting every op.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/kinds.hpp"

namespace pipeloom::draw {

/// Busy ticks by op kind, [index_of(kind)].
using BusyByKind = std::array<Ticks, kOpKinds>;
[[nodiscard]] inline Ticks total(const BusyByKind& busy) {
  Ticks sum = 0;
  for (const Ticks ticks : busy) sum += ticks;
  return sum;
}

/// What of a rank is drawn in one row: the work of its queue, or the copies that run beside it.
using pipeloom::Lane;

/// One entry of a queue as it was run: the ops [op, op + count) of one step, overlapped if there are several.
struct DrawnEntry {
  Ticks start = 0;
  Ticks end = 0;
  /// Position in timeline.start: step * num_ops + op index.
  std::size_t op = 0;
  std::size_t count = 1;
};

/// What TimelineIndex keeps for each.
inline constexpr double kIndexBytesPerEntry = sizeof(DrawnEntry) + sizeof(BusyByKind);

/// Something to draw in a row: one entry, or several that are too narrow to be told apart.
struct Mark {
  Ticks start = 0;
  Ticks end = 0;
  /// Entries [first, last) of TimelineIndex::entries(rank) begin in it or reach into it; one if `merged` is false.
  std::size_t first = 0;
  std::size_t last = 0;
  bool merged = false;
  /// Busy ticks within [start, end). Single: as long as the mark itself, clipped to the range asked for.
  BusyByKind busy{};
};

/// The entries of all steps in time order, rank by rank, with prefix sums of busy time. Build it once per timeline,
/// O(ops); every question below costs O(log ops) and a picture O(pixels).
class TimelineIndex {
 public:
  /// REQUIRES: entries of one rank do not overlap each other (simulated ones never do). Keeps no reference.
  explicit TimelineIndex(const Timeline& timeline, Lane lane = Lane::Work);

  [[nodiscard]] int ranks() const { return static_cast<int>(begin_.size()) - 1; }
  [[nodiscard]] std::span<const DrawnEntry> entries(Rank rank) const;
  /// First start and last end over all ranks and steps.
  [[nodiscard]] Span span() const { return span_; }

  /// Busy ticks of a rank within [from, to), by kind. The time of an overlapped group counts once, in equal parts for
  /// its ops.
  [[nodiscard]] BusyByKind busy(Rank rank, Ticks from, Ticks to) const;

  /// What to draw of [range.start, range.end) cut into `bins` equal bins: entries of at least one bin's length as they are,
  /// shorter ones merged bin by bin. Marks are in time order and do not overlap, the busy ticks of all add up to
  /// busy(rank, range), and an idle stretch of two bins or more is never covered by a mark.
  /// REQUIRES: bins >= 1, range not empty. O(bins log ops).
  [[nodiscard]] std::vector<Mark> marks(Rank rank, Span range, int bins) const;

  /// Shortest entry longer than 0 (a positive number even without any).
  [[nodiscard]] Ticks shortest() const { return shortest_; }

 private:
  void add_up(const Timeline& timeline);
  [[nodiscard]] BusyByKind busy_before(Rank rank, Ticks time) const;

  Span span_;
  Ticks shortest_ = 1;
  std::vector<DrawnEntry> entries_;
  std::vector<BusyByKind> prefix_;  // per rank one more than entries: busy time of the entries before
  std::vector<std::size_t> begin_;  // p + 1 offsets into entries_
};

}  // namespace pipeloom::draw
