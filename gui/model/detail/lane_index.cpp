#include "gui/model/detail/lane_index.hpp"

#include <algorithm>
#include <limits>

#include <pipeloom/metrics.hpp>
#include "gui/model/detail/lane_walk.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui {
namespace {

/// Curves of memory are kept whole up to so many ops.
constexpr std::size_t kMaxCurveOps = std::size_t{1} << 20;

Span span_of_steps(const Timeline& timeline) {
  Span all{std::numeric_limits<Ticks>::max(), 0};
  for (std::size_t i = 0; i < timeline.start.size(); ++i) {
    if (timeline.end[i] < 0) continue;
    all.start = std::min(all.start, timeline.start[i]);
    all.end = std::max(all.end, timeline.end[i]);
  }
  return all.start > all.end ? Span{} : all;
}

}  // namespace

LaneIndex::LaneIndex(const Timeline& timeline, const MemoryModel* memory)
    : timeline_(&timeline), ops_(timeline.schedule->ops()), span_(span_of_steps(timeline)) {
  const Schedule& schedule = *timeline.schedule;
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  rows_.resize(schedule.has_copies() ? 2 * ranks : ranks);
  BusyPyramid::Builder builder;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    index_row(rank, Lane::Work, builder);
    if (schedule.has_copies()) index_row(rank, Lane::Copies, builder);
  }
  if (memory == nullptr || span_.length() == 0) return;
  const bool keep_curves = timeline.start.size() <= kMaxCurveOps;
  each_memory_curve(timeline, *memory, [&](Rank rank, const std::vector<MemoryStep>& curve) {
    const std::size_t cells = row(rank, Lane::Work).ops / 2;
    memory_.emplace_back(curve, span_, std::max<std::size_t>(cells, 1), keep_curves);
    peak_bytes_ = std::max(peak_bytes_, memory_.back().peak());
  });
}

const LaneIndex::Row& LaneIndex::row(Rank rank, Lane lane) const {
  static const Row kNone;
  if (lane == Lane::Work) return rows_[rank.at()];
  const std::size_t ranks = static_cast<std::size_t>(timeline_->schedule->ranks());
  return rows_.size() > ranks ? rows_[ranks + rank.at()] : kNone;
}

OpSlice LaneIndex::queue(Rank rank, int step) const {
  const Schedule& schedule = *timeline_->schedule;
  return {timeline_->index(step, schedule.queue_begin(rank)),
          timeline_->index(step, schedule.queue_end(rank))};
}

void LaneIndex::index_row(Rank rank, Lane lane, BusyPyramid::Builder& builder) {
  Row& own =
      rows_[(lane == Lane::Copies ? static_cast<std::size_t>(timeline_->schedule->ranks()) : 0) + rank.at()];
  for (int step = 0; step < timeline_->steps; ++step) index_step(own, queue(rank, step), lane);
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

void LaneIndex::index_step(Row& row, OpSlice queue, Lane lane) const {
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

void LaneIndex::add_blocks(Row& row, OpSlice queue, Lane lane) const {
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

bool LaneIndex::has(Rank rank, Lane lane) const {
  return row(rank, lane).ops > 0;
}

StepSlice LaneIndex::steps(Rank rank, double from, double to, Lane lane) const {
  const std::vector<Span>& all = row(rank, lane).of_step;
  const auto first = std::partition_point(
      all.begin(), all.end(), [&](const Span& span) { return static_cast<double>(span.end) < from; });
  const auto last = std::partition_point(
      first, all.end(), [&](const Span& span) { return static_cast<double>(span.start) < to; });
  return {static_cast<int>(first - all.begin()), static_cast<int>(last - all.begin())};
}

OpSlice LaneIndex::visible(Rank rank, double from, double to, int step, Lane lane) const {
  const Row& own = row(rank, lane);
  const OpSlice all = queue(rank, step);
  if (own.ops == 0 || all.empty()) return {all.first, all.first};
  OpSlice slice = own.ordered ? visible_ordered(all, from, to) : visible_blocks(own, all, from, to, step);
  while (slice.first < slice.last && !overlaps(slice.first, from, to, lane)) ++slice.first;
  while (slice.first < slice.last && !overlaps(slice.last - 1, from, to, lane)) --slice.last;
  return slice;
}

OpSlice LaneIndex::visible_ordered(OpSlice all, double from, double to) const {
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

OpSlice LaneIndex::visible_blocks(const Row& row, OpSlice all, double from, double to, int step) const {
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

void LaneIndex::memory_peaks(Rank rank, TimeRange range, int bins, std::vector<MemoryExtent>& out) const {
  out.assign(static_cast<std::size_t>(bins), MemoryExtent{});
  if (!memory_.empty() && range.length() > 0) memory_[rank.at()].extents(range, bins, out);
}

std::size_t LaneIndex::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Row& own : rows_)
    bytes += own.busy.memory_bytes() + own.blocks.capacity() * sizeof(Span) +
             own.of_step.capacity() * sizeof(Span) + sizeof(Row);
  for (const MemoryPyramid& memory : memory_) bytes += memory.memory_bytes();
  return bytes;
}

}  // namespace pipeloom::gui
