#pragma once

// Level of detail: how busy each rank is with each kind of op, for any stretch of time at any scale, at a cost that follows the pixels
// and not the ops.
//
// Ops themselves are found by binary search in the timeline: nothing is copied. Shares come from a pyramid of busy time
// (sim/tracks/pyramid.hpp) about as fine as four ops per bin, and where even that is too coarse from the ops. Exact sums come from those
// of every 64th op. All of it together takes about 2 to 8 bytes per op.

#include <cstddef>
#include <span>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/kinds.hpp"
#include "sim/tracks/op_sums.hpp"
#include "sim/tracks/pyramid.hpp"
#include "sim/tracks/track.hpp"

namespace pipeloom::tracks {

/// Steps [first, last).
struct StepSlice {
  int first = 0;
  int last = 0;
};

/// Rows: the work of every rank, then, where there are any, the copies. Channels: index_of(kind). REQUIRES (everywhere): rank <
/// schedule->ranks().
class OpTrack final : public Track {
 public:
  /// O(ops). `timeline` must outlive it. Ops of negative times did not run (a run that hangs has them) and are left out.
  explicit OpTrack(const Timeline& timeline);

  [[nodiscard]] std::size_t rows() const override { return rows_.size(); }
  [[nodiscard]] std::size_t channels() const override { return kOpKinds; }
  /// Counted through all steps: step * ops of the queue + place in the queue.
  [[nodiscard]] Slice visible(std::size_t row, TimeRange range) const override;
  /// Exact to a part of 65536 where bins are finer than the pyramid; else a bin's ends are shared out evenly within cells no longer than
  /// the bin. Time before the first and after the last op is a gap. O(bins).
  void shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const override;
  /// Ops of an overlapped group take equal parts of the group's time, the first ones the ticks left over. O(steps log ops).
  void exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const override {
    (void)add_exact(row, from, to, out);
  }
  /// exact(), and the number of ops that overlap [from, to).
  [[nodiscard]] std::size_t add_exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const;
  /// REQUIRES: lane is Work, or the schedule has copies.
  [[nodiscard]] std::size_t row_of(Rank rank, Lane lane) const {
    return rank.at() + (lane == Lane::Copies ? ranks() : 0);
  }

  /// True if the rank has anything in this lane: a row for its copies then makes sense.
  [[nodiscard]] bool has(Rank rank, Lane lane) const;

  /// The steps in which the rank may have ops of this lane that overlap [from, to): most often one.
  [[nodiscard]] StepSlice steps(Rank rank, double from, double to, Lane lane = Lane::Work) const;
  /// Positions in timeline.start: the shortest slice of a rank's queue that holds every op of the lane that overlaps [from, to) in `step`. In time order. Where a
  /// queue mixes work and copies, it holds ops of the other lane too, and around overlapped ops some that end before `from`: callers that
  /// draw must look at kind and times. O(log ops).
  [[nodiscard]] Slice visible(Rank rank, double from, double to, int step = 0, Lane lane = Lane::Work) const;
  /// Calls fn(position in timeline.start) for the ops of the lane that overlap [from, to), in all steps. An op without length
  /// overlaps if it lies in between.
  template <class Fn>
  void for_each_visible(Rank rank, double from, double to, Lane lane, Fn&& fn) const {
    const StepSlice steps_seen = steps(rank, from, to, lane);
    for (int step = steps_seen.first; step < steps_seen.last; ++step) {
      const Slice slice = visible(rank, from, to, step, lane);
      for (std::size_t i = slice.first; i < slice.last; ++i)
        if (overlaps(i, from, to, lane)) fn(i);
    }
  }

  /// From the first start to the last end, over all ranks and steps.
  [[nodiscard]] Span span() const { return span_; }
  /// Bytes that it takes in addition to the timeline.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// One lane of a rank.
  struct Row {
    /// Ops end and start in the order of the queue, and no op of the other lane is among them: the timeline itself is searched.
    bool ordered = true;
    std::vector<Span> of_step;  ///< first start and last end, [step]; {0, -1} where it has no op
    /// Otherwise, per block of kBlock ops: the latest end up to and including it, the earliest start from it on; [step * blocks + b].
    std::vector<Span> blocks;
    Pyramid busy;
    std::vector<OpSums> sums;  ///< [step]
    std::size_t ops = 0;       ///< of all steps
  };
  class Walk;
  static constexpr std::size_t kBlock = 16;

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(timeline_->schedule->ranks()); }
  [[nodiscard]] Rank rank_of(std::size_t row) const { return Rank(static_cast<int>(row % ranks())); }
  [[nodiscard]] Lane lane_of(std::size_t row) const { return row < ranks() ? Lane::Work : Lane::Copies; }
  void index_row(Rank rank, Lane lane, Pyramid::Builder& builder);
  void index_step(Row& row, Slice queue, Lane lane) const;
  void add_blocks(Row& row, Slice queue, Lane lane) const;
  [[nodiscard]] Slice visible_ordered(Slice all, double from, double to) const;
  [[nodiscard]] Slice visible_blocks(const Row& row, Slice all, double from, double to, int step) const;
  void walk_shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const;

  [[nodiscard]] Slice queue(Rank rank, int step) const;
  [[nodiscard]] const Row& row(Rank rank, Lane lane) const;
  [[nodiscard]] Op op_at(std::size_t position) const {
    return ops_[position < ops_.size() ? position : position % ops_.size()];
  }
  [[nodiscard]] bool is_in(std::size_t position, Lane lane) const {
    return is_copy(op_at(position).kind()) == (lane == Lane::Copies) && timeline_->end[position] >= 0;
  }
  /// Something of the lane that is in [from, to) for a while, or without length lies there.
  [[nodiscard]] bool overlaps(std::size_t position, double from, double to, Lane lane) const {
    const auto start = static_cast<double>(timeline_->start[position]);
    return is_in(position, lane) && start < to &&
           (static_cast<double>(timeline_->end[position]) > from || start >= from);
  }

  const Timeline* timeline_;
  std::span<const Op> ops_;
  Span span_;
  std::vector<Row> rows_;  // [lane * ranks + rank]; copies only where there are any
};

}  // namespace pipeloom::tracks
