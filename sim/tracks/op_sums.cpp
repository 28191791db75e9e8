#include "sim/tracks/op_sums.hpp"

#include "sim/kinds.hpp"

namespace pipeloom::tracks {
namespace {

std::size_t kind_at(const Timeline& timeline, std::size_t position) {
  const auto ops = timeline.schedule->ops();
  return index_of(ops[position % ops.size()].kind());
}

/// The op's time within [from, to), or its part of that where its group ran as one.
Ticks part_of_op(const Timeline& timeline, std::size_t position, Ticks from, Ticks to) {
  const Ticks time = overlap(timeline.start[position], timeline.end[position], from, to);
  const DrawnGroup group = group_of(timeline, position);
  const auto count = static_cast<Ticks>(group.last - group.first);
  const auto number = static_cast<Ticks>(position - group.first);
  return time / count + (number < time % count ? 1 : 0);
}

}  // namespace

DrawnGroup group_of(const Timeline& timeline, std::size_t op) {
  if (!timeline.schedule->has_groups()) return {op, op + 1};
  const auto ops = timeline.schedule->ops();
  const std::size_t base = op - op % ops.size();
  const auto together = [&](std::size_t left) {
    return ops[left - base].joined() && timeline.start[left] == timeline.start[left + 1] &&
           timeline.end[left] == timeline.end[left + 1];
  };
  DrawnGroup group{op, op + 1};
  while (group.first > base && together(group.first - 1)) --group.first;
  while (group.last < base + ops.size() && together(group.last - 1)) ++group.last;
  return group;
}

OpSums::OpSums(const Timeline& timeline, Rank rank, Lane lane, int step) {
  const Schedule& schedule = *timeline.schedule;
  begin_ = timeline.index(step, schedule.queue_begin(rank));
  const auto queue = schedule.queue(rank);
  size_ = queue.size();
  if (schedule.has_copies()) {
    for (std::size_t i = 0; i < queue.size(); ++i)
      if (is_copy(queue[i].kind()) == (lane == Lane::Copies)) order_.push_back(static_cast<std::uint32_t>(i));
    size_ = order_.size();
  }
  // Ops that did not run (a run that hangs) are at the end of its queue, at negative times.
  while (size_ > 0 && timeline.end[at(size_ - 1)] < 0) --size_;
  before_ = BlockSums<BusyByKind>(size_, [&](BusyByKind& sums, std::size_t i) {
    sums[kind_at(timeline, at(i))] += part_of_op(timeline, at(i), 0, kMaxTicks);
  });
}

std::size_t OpSums::add(const Timeline& timeline, Ticks from, Ticks to, std::span<Ticks> out) const {
  const std::size_t first = first_that(0, size_, [&](std::size_t i) { return timeline.end[at(i)] > from; });
  const std::size_t last = first_that(0, size_, [&](std::size_t i) { return timeline.start[at(i)] >= to; });
  if (last <= first) return 0;
  const auto whole = [&](BusyByKind& sums, std::size_t i) {
    sums[kind_at(timeline, at(i))] += part_of_op(timeline, at(i), 0, kMaxTicks);
  };
  const BusyByKind low = before_.up_to(first, whole);
  const BusyByKind high = before_.up_to(last, whole);
  for (std::size_t k = 0; k < kOpKinds; ++k) out[k] += high[k] - low[k];
  // Ops that stick out at either end count in part.
  const auto cut = [&](std::size_t i) {
    const std::size_t op = at(i);
    out[kind_at(timeline, op)] += part_of_op(timeline, op, from, to) - part_of_op(timeline, op, 0, kMaxTicks);
  };
  std::size_t left = first;
  for (; left < last && timeline.start[at(left)] < from; ++left) cut(left);
  for (std::size_t i = last; i > left && timeline.end[at(i - 1)] > to; --i) cut(i - 1);
  return last - first;
}

}  // namespace pipeloom::tracks
