#pragma once

// Level of detail: how busy each rank is with each kind of op, for any stretch of time at any scale, at a cost that follows the pixels
// and not the ops.
//
// Ops themselves are found by binary search in the timeline: nothing is copied. Shares come from a pyramid of busy time
// (gui/model/detail/busy_pyramid.hpp) about as fine as four ops per bin, and where even that is too coarse from the ops. Bytes held come from a
// pyramid of their own (gui/model/detail/memory_pyramid.hpp). All of it together takes about 2 to 8 bytes per op.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/simulate.hpp>
#include "gui/model/detail/busy_pyramid.hpp"
#include "gui/model/detail/memory_pyramid.hpp"
#include "gui/model/detail/time_range.hpp"
#include "sim/draw/marks.hpp"
#include "sim/kinds.hpp"

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

/// A rank's ops [first, last): positions in timeline.start, all of one step.
struct OpSlice {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
  [[nodiscard]] bool empty() const { return first == last; }
};

/// Steps [first, last).
struct StepSlice {
  int first = 0;
  int last = 0;
};

/// REQUIRES (everywhere): rank < schedule->ranks().
class LaneIndex {
 public:
  /// O(ops). `timeline` must outlive it; `memory`, if given, gives the curves of memory_peaks() and is not kept. Ops of negative times
  /// did not run (a run that hangs has them) and are left out.
  explicit LaneIndex(const Timeline& timeline, const MemoryModel* memory = nullptr);

  /// Whether the rank has anything in this lane: whether a row for its copies makes sense.
  [[nodiscard]] bool has(Rank rank, Lane lane) const;

  /// The steps in which the rank may have ops of this lane that overlap [from, to): most often one.
  [[nodiscard]] StepSlice steps(Rank rank, double from, double to, Lane lane = Lane::Work) const;
  /// The shortest slice of a rank's queue that holds every op of the lane that overlaps [from, to) in `step`. In time order. Where a
  /// queue mixes work and copies, it holds ops of the other lane too, and around overlapped ops some that end before `from`: whoever
  /// draws looks at kind and times. O(log ops).
  [[nodiscard]] OpSlice visible(Rank rank, double from, double to, int step = 0,
                                Lane lane = Lane::Work) const;
  /// Calls fn(position in timeline.start) for the ops of the lane that overlap [from, to), in all steps. An op without length
  /// overlaps if it lies in between.
  template <class Fn>
  void for_each_visible(Rank rank, double from, double to, Lane lane, Fn&& fn) const {
    const StepSlice steps_seen = steps(rank, from, to, lane);
    for (int step = steps_seen.first; step < steps_seen.last; ++step) {
      const OpSlice slice = visible(rank, from, to, step, lane);
      for (std::size_t i = slice.first; i < slice.last; ++i)
        if (overlaps(i, from, to, lane)) fn(i);
    }
  }

  /// out[i] is the busy shares of bin i of `bins` equal bins of [range.start, range.end). At least kLeastShare in total for a bin that
  /// an op longer than 0 touches, at most 1 - kLeastShare for one that a gap touches (what lies before the first and behind the last
  /// op is a gap). Exact to a part of 65536 where bins are finer than the pyramid; else a bin's ends are shared out evenly within
  /// cells no longer than the bin. O(bins).
  void shares(Rank rank, TimeRange range, int bins, std::vector<BusyShares>& out,
              Lane lane = Lane::Work) const;

  /// out[i] is the least and most bytes that the rank holds during bin i, static bytes included. Without a memory model: all 0.
  /// O(bins).
  void memory_peaks(Rank rank, TimeRange range, int bins, std::vector<MemoryExtent>& out) const;
  [[nodiscard]] bool has_memory() const { return !memory_.empty(); }
  /// Most bytes that any rank ever holds: the scale of the curves. 0 without a memory model.
  [[nodiscard]] Bytes peak_bytes() const { return peak_bytes_; }

  /// From the first start to the last end, over all ranks and steps.
  [[nodiscard]] Span span() const { return span_; }
  /// What it takes besides the timeline.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// One lane of a rank.
  struct Row {
    /// Ops end and start in the order of the queue, and no op of the other lane is among them: the timeline itself is searched.
    bool ordered = true;
    std::vector<Span> of_step;  ///< first start and last end, [step]; {0, -1} where it has no op
    /// Otherwise, per block of kBlock ops: the latest end up to and including it, the earliest start from it on; [step * blocks + b].
    std::vector<Span> blocks;
    BusyPyramid busy;
    std::size_t ops = 0;  ///< of all steps
  };
  class Walk;
  static constexpr std::size_t kBlock = 16;

  void index_row(Rank rank, Lane lane, BusyPyramid::Builder& builder);
  void index_step(Row& row, OpSlice queue, Lane lane) const;
  void add_blocks(Row& row, OpSlice queue, Lane lane) const;
  [[nodiscard]] OpSlice visible_ordered(OpSlice all, double from, double to) const;
  [[nodiscard]] OpSlice visible_blocks(const Row& row, OpSlice all, double from, double to, int step) const;
  void walk_shares(Rank rank, TimeRange range, int bins, std::vector<BusyShares>& out, Lane lane) const;

  [[nodiscard]] OpSlice queue(Rank rank, int step) const;
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
  Bytes peak_bytes_ = 0;
  std::vector<Row> rows_;              // [lane * ranks + rank]; copies only where there are any
  std::vector<MemoryPyramid> memory_;  // [rank]
};

}  // namespace pipeloom::gui
