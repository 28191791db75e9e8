#include "sim/tracks/op_track.hpp"

#include <algorithm>
#include <limits>

#include "sim/kinds.hpp"

namespace pipeloom::tracks {
namespace {

/// Ops that are walked rather than looked up in the pyramid: per bin, where that is exact and as cheap; and where a bin is finer than a
/// cell, as long as it stays cheap.
constexpr std::size_t kWalkedPerBin = 2;
constexpr std::size_t kMostWalkedPerBin = 16;

Span span_of_steps(const Timeline& timeline) {
  Span all{std::numeric_limits<Ticks>::max(), 0};
  for (std::size_t i = 0; i < timeline.start.size(); ++i) {
    if (timeline.end[i] < 0) continue;
    all.start = std::min(all.start, timeline.start[i]);
    all.end = std::max(all.end, timeline.end[i]);
  }
  return all.start > all.end ? Span{} : all;
}

/// Kinds of a lane that the schedule has: the channels of its rows.
struct LaneChannels {
  std::array<std::uint8_t, kOpKinds> kinds{};       // [channel]
  std::array<std::uint8_t, kOpKinds> channel_of{};  // [kind]
  std::size_t count = 0;
  LaneChannels(const Schedule& schedule, Lane lane) {
    for (const OpKind kind : kAllOpKinds) {
      if (!schedule.contains(kind) || is_copy(kind) != (lane == Lane::Copies)) continue;
      channel_of[index_of(kind)] = static_cast<std::uint8_t>(count);
      kinds[count++] = static_cast<std::uint8_t>(index_of(kind));
    }
  }
  [[nodiscard]] std::span<const std::uint8_t> places() const { return {kinds.data(), count}; }
};

/// One entry of the queue as it ran.
struct LaneEntry {
  Ticks start = 0;
  Ticks end = 0;
  std::size_t first = 0;  // position in timeline.start
  std::size_t count = 1;
};

}  // namespace

/// The entries of a lane within a slice of a queue, in time order.
class OpTrack::Walk {
 public:
  Walk(const OpTrack& index, Lane lane) : index_(index), lane_(lane) {}

  /// Calls add(start, end, kind, of) for the ops and gap(start, end) for the time between the entries. `until` is the end of the entries
  /// before the slice, and becomes the end of those in it.
  template <class Add, class Gap>
  void operator()(Slice slice, bool ordered, Ticks& until, Add&& add, Gap&& gap) {
    const auto take = [&](const LaneEntry& entry) {
      if (entry.start > until) gap(until, entry.start);
      until = std::max(until, entry.end);
      add_ops(entry, add);
    };
    if (ordered && !index_.timeline_->schedule->has_groups()) return walk_ops(slice, until, add, gap);
    if (ordered) return for_each_entry_of(slice, take);
    entries_.clear();
    for_each_entry_of(slice, [&](const LaneEntry& entry) { entries_.push_back(entry); });
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const LaneEntry& a, const LaneEntry& b) { return a.start < b.start; });
    for (const LaneEntry& entry : entries_) take(entry);
  }

 private:
  /// The same where every entry is one op that ran.
  template <class Add, class Gap>
  void walk_ops(Slice slice, Ticks& until, Add&& add, Gap&& gap) const {
    const Ticks* start = index_.timeline_->start.data();
    const Ticks* end = index_.timeline_->end.data();
    for (std::size_t i = slice.first; i < slice.last; ++i) {
      if (start[i] > until) gap(until, start[i]);
      until = end[i];
      add(start[i], end[i], index_.op_at(i).kind(), 1);
    }
  }

  template <class Fn>
  void for_each_entry_of(Slice slice, Fn&& fn) const {
    const Timeline& timeline = *index_.timeline_;
    for (std::size_t i = slice.first; i < slice.last;) {
      LaneEntry entry{timeline.start[i], timeline.end[i], i, 1};
      const bool ran = index_.is_in(i, lane_);
      for (++i; index_.op_at(i - 1).joined() && i < slice.last; ++i, ++entry.count) {
        entry.start = std::min(entry.start, timeline.start[i]);
        entry.end = std::max(entry.end, timeline.end[i]);
      }
      if (ran) fn(entry);
    }
  }

  /// Parts that ran one after another count by their own times, others share the entry's in equal parts.
  template <class Add>
  void add_ops(const LaneEntry& entry, Add&& add) const {
    const Timeline& timeline = *index_.timeline_;
    const auto kind = [&](std::size_t i) { return index_.op_at(i).kind(); };
    if (entry.count == 1) return add(entry.start, entry.end, kind(entry.first), 1);
    bool one_by_one = true;
    for (std::size_t i = entry.first + 1; i < entry.first + entry.count; ++i)
      one_by_one = one_by_one && timeline.start[i] == timeline.end[i - 1];
    for (std::size_t i = entry.first; i < entry.first + entry.count; ++i)
      if (one_by_one)
        add(timeline.start[i], timeline.end[i], kind(i), 1);
      else
        add(entry.start, entry.end, kind(i), entry.count);
  }

  const OpTrack& index_;
  Lane lane_;
  std::vector<LaneEntry> entries_;
};

OpTrack::OpTrack(const Timeline& timeline)
    : timeline_(&timeline), ops_(timeline.schedule->ops()), span_(span_of_steps(timeline)) {
  const Schedule& schedule = *timeline.schedule;
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  rows_.resize(schedule.has_copies() ? 2 * ranks : ranks);
  Pyramid::Builder builder;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    index_row(rank, Lane::Work, builder);
    if (schedule.has_copies()) index_row(rank, Lane::Copies, builder);
  }
}

const OpTrack::Row& OpTrack::row(Rank rank, Lane lane) const {
  static const Row kNone;
  const std::size_t at = row_of(rank, lane);
  return at < rows_.size() ? rows_[at] : kNone;
}

Slice OpTrack::queue(Rank rank, int step) const {
  const Schedule& schedule = *timeline_->schedule;
  return {timeline_->index(step, schedule.queue_begin(rank)),
          timeline_->index(step, schedule.queue_end(rank))};
}

void OpTrack::index_row(Rank rank, Lane lane, Pyramid::Builder& builder) {
  Row& own = rows_[row_of(rank, lane)];
  for (int step = 0; step < timeline_->steps; ++step) {
    index_step(own, queue(rank, step), lane);
    own.sums.emplace_back(*timeline_, rank, lane, step);
  }
  if (!own.ordered)
    for (int step = 0; step < timeline_->steps; ++step) add_blocks(own, queue(rank, step), lane);
  // Later steps end later and earlier ones start earlier, so that steps are found by bisection.
  for (std::size_t step = 1; step < own.of_step.size(); ++step)
    own.of_step[step].end = std::max(own.of_step[step].end, own.of_step[step - 1].end);
  for (std::size_t step = own.of_step.size(); step-- > 1;)
    own.of_step[step - 1].start = std::min(own.of_step[step - 1].start, own.of_step[step].start);
  if (own.ops == 0) return;

  const LaneChannels channels(*timeline_->schedule, lane);
  builder.begin(span_, channels.count, own.ops / (channels.count > 3 ? 4 : 2));
  Walk walk(*this, lane);
  Ticks until = span_.start;
  for (int step = 0; step < timeline_->steps; ++step)
    walk(
        queue(rank, step), own.ordered, until,
        [&](Ticks start, Ticks end, OpKind kind, std::size_t of) {
          builder.add(start, end, channels.channel_of[index_of(kind)], of);
        },
        [&](Ticks start, Ticks end) { builder.gap(start, end); });
  builder.gap(until, span_.end);
  own.busy = builder.take();
}

void OpTrack::index_step(Row& row, Slice queue, Lane lane) const {
  Span span{std::numeric_limits<Ticks>::max(), -1};
  Ticks start = 0;
  Ticks end = 0;
  for (std::size_t i = queue.first; i < queue.last; ++i) {
    if (!is_in(i, lane)) {
      row.ordered = false;
      continue;
    }
    row.ordered = row.ordered && timeline_->start[i] >= start && timeline_->end[i] >= end;
    start = timeline_->start[i];
    end = timeline_->end[i];
    span.start = std::min(span.start, start);
    span.end = std::max(span.end, end);
    ++row.ops;
  }
  row.of_step.push_back(span);
}

void OpTrack::add_blocks(Row& row, Slice queue, Lane lane) const {
  const std::size_t begin = row.blocks.size();
  for (std::size_t first = queue.first; first < queue.last; first += kBlock) {
    Span block{std::numeric_limits<Ticks>::max(), -1};
    for (std::size_t i = first; i < std::min(first + kBlock, queue.last); ++i) {
      if (!is_in(i, lane)) continue;
      block.start = std::min(block.start, timeline_->start[i]);
      block.end = std::max(block.end, timeline_->end[i]);
    }
    if (row.blocks.size() > begin) block.end = std::max(block.end, row.blocks.back().end);
    row.blocks.push_back(block);
  }
  for (std::size_t b = row.blocks.size(); b-- > begin + 1;)
    row.blocks[b - 1].start = std::min(row.blocks[b - 1].start, row.blocks[b].start);
}

bool OpTrack::has(Rank rank, Lane lane) const {
  return row(rank, lane).ops > 0;
}

StepSlice OpTrack::steps(Rank rank, double from, double to, Lane lane) const {
  const std::vector<Span>& all = row(rank, lane).of_step;
  const auto first = std::partition_point(
      all.begin(), all.end(), [&](const Span& span) { return static_cast<double>(span.end) < from; });
  const auto last = std::partition_point(
      first, all.end(), [&](const Span& span) { return static_cast<double>(span.start) < to; });
  return {static_cast<int>(first - all.begin()), static_cast<int>(last - all.begin())};
}

Slice OpTrack::visible(Rank rank, double from, double to, int step, Lane lane) const {
  const Row& own = row(rank, lane);
  const Slice all = queue(rank, step);
  if (own.ops == 0 || all.empty()) return {all.first, all.first};
  Slice slice = own.ordered ? visible_ordered(all, from, to) : visible_blocks(own, all, from, to, step);
  while (slice.first < slice.last && !overlaps(slice.first, from, to, lane)) ++slice.first;
  while (slice.first < slice.last && !overlaps(slice.last - 1, from, to, lane)) --slice.last;
  return slice;
}

Slice OpTrack::visible_ordered(Slice all, double from, double to) const {
  const auto at = [](const std::vector<Ticks>& times, std::size_t i) {
    return times.begin() + static_cast<std::ptrdiff_t>(i);
  };
  const auto first = std::partition_point(at(timeline_->end, all.first), at(timeline_->end, all.last),
                                          [&](Ticks end) { return static_cast<double>(end) < from; });
  const auto begin = static_cast<std::size_t>(first - timeline_->end.begin());
  const auto last = std::partition_point(at(timeline_->start, begin), at(timeline_->start, all.last),
                                         [&](Ticks start) { return static_cast<double>(start) < to; });
  return {begin, static_cast<std::size_t>(last - timeline_->start.begin())};
}

Slice OpTrack::visible_blocks(const Row& row, Slice all, double from, double to, int step) const {
  const std::size_t count = (all.size() + kBlock - 1) / kBlock;
  const auto begin = row.blocks.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(step) * count);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  const auto first = std::partition_point(
      begin, end, [&](const Span& block) { return static_cast<double>(block.end) < from; });
  const auto last = std::partition_point(
      first, end, [&](const Span& block) { return static_cast<double>(block.start) < to; });
  return {std::min(all.last, all.first + static_cast<std::size_t>(first - begin) * kBlock),
          std::min(all.last, all.first + static_cast<std::size_t>(last - begin) * kBlock)};
}

Slice OpTrack::visible(std::size_t row, TimeRange range) const {
  const Rank rank = rank_of(row);
  const std::size_t each = timeline_->schedule->queue(rank).size();
  const auto counted = [&](int step, std::size_t position) {
    return static_cast<std::size_t>(step) * each + position - queue(rank, step).first;
  };
  const StepSlice seen = steps(rank, range.start, range.end, lane_of(row));
  Slice all;
  for (int step = seen.first; step < seen.last; ++step) {
    const Slice slice = visible(rank, range.start, range.end, step, lane_of(row));
    if (slice.empty()) continue;
    if (all.empty()) all.first = counted(step, slice.first);
    all.last = counted(step, slice.last);
  }
  return all;
}

void OpTrack::shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const {
  const Row& own = rows_[row];
  const Rank rank = rank_of(row);
  const Lane lane = lane_of(row);
  if (own.ops == 0 || !(range.length() > 0)) return;
  const StepSlice seen = steps(rank, range.start, range.end, lane);
  std::size_t ops = 0;
  for (int step = seen.first; step < seen.last; ++step)
    ops += visible(rank, range.start, range.end, step, lane).size();
  const LaneChannels channels(*timeline_->schedule, lane);
  const bool fine = range.length() / bins < own.busy.cell();
  if (ops > static_cast<std::size_t>(bins) * (fine ? kMostWalkedPerBin : kWalkedPerBin))
    return own.busy.shares(range, bins, channels.places(), out.data(), kOpKinds);
  if (ops > 0) walk_shares(row, range, bins, out);
}

void OpTrack::walk_shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const {
  const Rank rank = rank_of(row);
  const Lane lane = lane_of(row);
  const StepSlice seen = steps(rank, range.start, range.end, lane);
  const LaneChannels channels(*timeline_->schedule, lane);
  BinAdder adder(range, bins, out.data(), kOpKinds);
  const auto add = [&](Ticks start, Ticks end, OpKind kind, std::size_t of) {
    adder.add(static_cast<double>(start), static_cast<double>(end), index_of(kind), of);
  };
  const auto gap = [&](Ticks start, Ticks end) {
    adder.gap(static_cast<double>(start), static_cast<double>(end));
  };
  Walk walk(*this, lane);
  Ticks until = std::numeric_limits<Ticks>::min();
  for (int step = seen.first; step < seen.last; ++step) {
    const Slice all = queue(rank, step);
    Slice slice = visible(rank, range.start, range.end, step, lane);
    if (slice.empty()) continue;
    // Whole groups only.
    while (slice.first > all.first && op_at(slice.first - 1).joined()) --slice.first;
    while (slice.last < all.last && op_at(slice.last - 1).joined()) ++slice.last;
    walk(slice, rows_[row].ordered, until, add, gap);
  }
  adder.gap(static_cast<double>(until), range.end);
  adder.finish(channels.places());
}

std::size_t OpTrack::add_exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const {
  std::size_t ops = 0;
  for (const OpSums& sums : rows_[row].sums) ops += sums.add(*timeline_, from, to, out);
  return ops;
}

std::size_t OpTrack::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Row& own : rows_) {
    bytes += own.busy.memory_bytes() + own.blocks.capacity() * sizeof(Span) +
             own.of_step.capacity() * sizeof(Span) + sizeof(Row);
    for (const OpSums& sums : own.sums) bytes += sums.memory_bytes();
  }
  return bytes;
}

}  // namespace pipeloom::tracks
