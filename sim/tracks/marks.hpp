#pragma once

// The marks of a rank's row in a picture at a given scale, found without visiting every op, and its ticks by kind.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/kinds.hpp"
#include "sim/tracks/block_sums.hpp"
#include "sim/tracks/op_sums.hpp"

namespace pipeloom::tracks {

/// One entry of a queue as it was run: the ops [op, op + count) of one step, overlapped if there are several.
struct DrawnEntry {
  Ticks start = 0;
  Ticks end = 0;
  /// Position in timeline.start: step * num_ops + op index.
  std::size_t op = 0;
  std::size_t count = 1;
};

/// The bin rule: a range cut into equal bins, to the tick.
struct Bins {
  Span range;
  std::int64_t count = 1;

  /// Where bin k starts, and bin k - 1 ends.
  [[nodiscard]] Ticks edge(std::int64_t k) const {
    return range.start + multiply_divide(range.length(), k, count);
  }
  [[nodiscard]] Span span_of(std::int64_t bin) const { return {edge(bin), edge(bin + 1)}; }
  /// The bin that holds `time`, or the nearest one.
  [[nodiscard]] std::int64_t at(Ticks time) const;
};

/// Something to draw in a row: one entry, or several that are too narrow to be told apart.
struct Mark {
  Ticks start = 0;
  Ticks end = 0;
  /// Entries [first, last) of the rank begin in it or reach into it; one if `merged` is false.
  std::size_t first = 0;
  std::size_t last = 0;
  bool merged = false;
  /// Busy ticks within [start, end). Single: as long as the mark itself, clipped to the range asked for.
  BusyByKind busy{};
};

/// The entries of all steps in time order, rank by rank, with sums of busy time. They are found in the timeline: about a byte per entry
/// is kept, and four more where entries are no single ops in order. Build it once per timeline, O(ops); every question below costs
/// O(log ops) and a picture O(pixels).
class TimelineIndex {
 public:
  /// REQUIRES: entries of one rank do not overlap each other (simulated ones never do). `timeline` must outlive it.
  explicit TimelineIndex(const Timeline& timeline, Lane lane = Lane::Work);

  [[nodiscard]] int ranks() const { return static_cast<int>(rows_.size()); }
  /// Number of a rank's entries.
  [[nodiscard]] std::size_t size(Rank rank) const { return rows_[rank.at()].size; }
  /// REQUIRES: i < size(rank).
  [[nodiscard]] DrawnEntry entry(Rank rank, std::size_t i) const { return entry(rows_[rank.at()], i); }
  /// First start and last end over all ranks and steps.
  [[nodiscard]] Span span() const { return span_; }

  /// Busy ticks of a rank within [from, to), by kind. The time of an overlapped group counts once, in equal parts for
  /// its ops.
  [[nodiscard]] BusyByKind busy(Rank rank, Ticks from, Ticks to) const;

  /// Adds busy(rank, bin) to sums[bin] for every bin. O(bins in which something runs * log ops). REQUIRES: sums.size() == bins.count.
  void add_busy(Rank rank, const Bins& bins, std::vector<BusyByKind>& sums) const;

  /// Marks to draw of [range.start, range.end) cut into `bins` equal bins: entries of at least one bin's length as they are,
  /// shorter ones merged bin by bin. Marks are in time order and do not overlap, the busy ticks of all add up to
  /// busy(rank, range), and an idle stretch of two bins or more is never covered by a mark.
  /// REQUIRES: bins >= 1, range not empty. O(bins log ops).
  [[nodiscard]] std::vector<Mark> marks(Rank rank, Span range, int bins) const;

  /// Shortest entry longer than 0 (a positive number even without any).
  [[nodiscard]] Ticks shortest() const { return shortest_; }

 private:
  struct Row {
    std::size_t first_op = 0;  // op index of the queue's start
    std::size_t queue = 0;     // ops of the queue
    std::size_t size = 0;      // entries of all steps
    /// [entry]: step * queue + the place of its first op in the queue. Empty: that is the entry's own number.
    std::vector<std::uint32_t> order;
    BlockSums<BusyByKind> before;
  };
  void find_entries(Row& row, Rank rank, Lane lane) const;
  void add_up(Row& row);
  [[nodiscard]] std::size_t position(const Row& row, std::size_t i) const {
    return position_of(row, row.order.empty() ? i : row.order[i]);
  }
  /// The position in timeline.start of step * queue + place in the queue.
  [[nodiscard]] std::size_t position_of(const Row& row, std::size_t counted) const {
    if (timeline_->steps == 1) return row.first_op + counted;
    return timeline_->index(static_cast<int>(counted / row.queue), row.first_op + counted % row.queue);
  }
  [[nodiscard]] DrawnEntry entry(const Row& row, std::size_t i) const { return entry_at(position(row, i)); }
  /// Pictures ask this more often than anything else: an op by itself is answered on the spot.
  [[nodiscard]] DrawnEntry entry_at(std::size_t position) const {
    const DrawnEntry single{timeline_->start[position], timeline_->end[position], position, 1};
    return groups_ ? with_joined(single) : single;
  }
  [[nodiscard]] DrawnEntry with_joined(DrawnEntry entry) const;
  void add_entry(BusyByKind& busy, const DrawnEntry& entry) const;
  class Sweep;

  const Timeline* timeline_;
  bool groups_;
  Span span_;
  Ticks shortest_ = 1;
  bool some_ = false;  // span_ and shortest_ are of entries
  bool positive_ = false;
  std::vector<Row> rows_;  // [rank]
};

/// Bytes that a TimelineIndex keeps for each entry at most: 4 for its place in the order, 7 / 8 for the sums in front of every 64th.
inline constexpr double kIndexBytesPerEntry = 5;

}  // namespace pipeloom::tracks
