#include "gui/model/chart/op_walk.hpp"

#include <algorithm>
#include <tuple>

#include <pipeloom/error.hpp>
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

/// The first position of a step: an op's position is its index plus this.
std::size_t base_of(const RunModel& run, std::size_t position) {
  const std::size_t ops = run.schedule->num_ops();
  return position / ops * ops;
}

/// Marks the one that came last; of equals the one whose op ended last, then the dependency before the queue.
void mark_binding(const RunModel& run, std::vector<Neighbour>& all) {
  const auto rank_of = [&](const Neighbour& one) {
    return std::tuple(one.arrival, run.timeline.end[one.position], one.link != DependencyKind::Queue);
  };
  const auto last = std::max_element(all.begin(), all.end(), [&](const Neighbour& a, const Neighbour& b) {
    return rank_of(a) < rank_of(b);
  });
  if (last != all.end()) last->binding = true;
}

/// The last op of work, or the last copy, before `position` in its rank's queue: the one that keeps its own engine busy.
std::size_t in_front(const RunModel& run, std::size_t position, bool copies) {
  std::size_t before = previous_in_queue(run, position);
  while (before != OpWalk::kNone && is_copy(op_at(run, before).kind()) != copies)
    before = previous_in_queue(run, before);
  return before;
}

}  // namespace

OpWalk::OpWalk(std::shared_ptr<const Schedule> schedule)
    : schedule_(std::move(schedule)), dependencies_(*schedule_) {}

Ticks OpWalk::arrival(const RunModel& run, std::size_t base, std::size_t producer,
                      std::size_t consumer) const {
  const Ticks end = run.timeline.end[base + producer];
  const Op from = schedule_->ops()[producer];
  const Op to = schedule_->ops()[consumer];
  if (!run.costs || from.stage() == to.stage()) return end;
  return end + arrival_delay(*run.costs, to.kind(), schedule_->slot_of(to));
}

std::vector<Neighbour> OpWalk::predecessors(const RunModel& run, std::size_t position) const {
  const std::size_t base = base_of(run, position);
  const std::pair<std::size_t, std::size_t> entry = entry_at(run, position);
  const std::size_t first = entry.first;
  const std::size_t last = entry.second;
  std::vector<Neighbour> out;
  const bool copy = is_copy(op_at(run, position).kind());
  const std::size_t before = in_front(run, first, false);
  if (before != kNone) out.push_back({before, DependencyKind::Queue, run.timeline.end[before]});
  const std::size_t copied = copy ? in_front(run, first, true) : kNone;
  if (copied != kNone) out.push_back({copied, DependencyKind::Queue, run.timeline.end[copied]});
  const auto add_needs = [&](std::size_t member) {
    for (const Dependency& need : dependencies_.needs(op_at(run, member))) {
      const std::size_t at = base + need.op;
      // Within a group no op waits for another.
      if (at >= first && at < last) continue;
      out.push_back({at, need.kind, arrival(run, base, need.op, member - base)});
    }
  };
  add_needs(position);
  for (std::size_t member = first; member < last; ++member)
    if (member != position) add_needs(member);
  mark_binding(run, out);
  return out;
}

std::vector<Neighbour> OpWalk::successors(const RunModel& run, std::size_t position) const {
  const std::size_t base = base_of(run, position);
  const auto [first, last] = entry_at(run, position);
  std::vector<Neighbour> out;
  for (const Dependency& user : dependencies_.needed_by(op_at(run, position))) {
    const std::size_t at = base + user.op;
    if (at >= first && at < last) continue;
    out.push_back({at, user.kind, arrival(run, base, position - base, user.op)});
  }
  std::sort(out.begin(), out.end(), [&](const Neighbour& a, const Neighbour& b) {
    return std::pair(run.timeline.start[a.position], a.position) <
           std::pair(run.timeline.start[b.position], b.position);
  });
  std::size_t next = next_in_queue(run, last - 1);
  const bool copy = is_copy(op_at(run, position).kind());
  while (next != kNone && is_copy(op_at(run, next).kind()) != copy) next = next_in_queue(run, next);
  if (next != kNone) out.push_back({next, DependencyKind::Queue, run.timeline.end[position]});
  return out;
}

std::size_t OpWalk::back(const RunModel& run, std::size_t position) const {
  for (const Neighbour& neighbour : predecessors(run, position))
    if (neighbour.binding) return neighbour.position;
  return kNone;
}

std::size_t OpWalk::forward(const RunModel& run, std::size_t position) const {
  const std::vector<Neighbour> all = successors(run, position);
  return all.empty() ? kNone : all.front().position;
}

std::vector<std::size_t> OpWalk::microbatch(const RunModel& run, Microbatch k, int step) const {
  const std::size_t base = static_cast<std::size_t>(step) * schedule_->num_ops();
  const Op like(OpKind::Forward, Stage(0), k);
  std::vector<std::size_t> out;
  for (const OpKind kind : kAllOpKinds)
    for (std::int32_t stage = 0; stage < schedule_->stages(); ++stage)
      for (int slice = 0; slice < schedule_->slices(); ++slice) {
        const std::size_t index = dependencies_.find(kind, stage, like, slice);
        if (index != kNone) out.push_back(base + index);
      }
  std::sort(out.begin(), out.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(run.timeline.start[a], a) < std::pair(run.timeline.start[b], b);
  });
  return out;
}

Op op_at(const RunModel& run, std::size_t position) {
  return run.schedule->ops()[position % run.schedule->num_ops()];
}

int step_at(const RunModel& run, std::size_t position) {
  return static_cast<int>(position / run.schedule->num_ops());
}

Rank rank_at(const RunModel& run, std::size_t position) {
  return run.schedule->rank_of_op(position % run.schedule->num_ops());
}

std::pair<std::size_t, std::size_t> entry_at(const RunModel& run, std::size_t position) {
  const std::size_t base = base_of(run, position);
  const auto ops = run.schedule->ops();
  const Rank rank = rank_at(run, position);
  std::size_t first = position - base;
  std::size_t last = first + 1;
  while (first > run.schedule->queue_begin(rank) && ops[first - 1].joined()) --first;
  while (last < run.schedule->queue_end(rank) && ops[last - 1].joined()) ++last;
  return {base + first, base + last};
}

std::size_t next_in_queue(const RunModel& run, std::size_t position) {
  const std::size_t base = base_of(run, position);
  const std::size_t next = position - base + 1;
  return next < run.schedule->queue_end(rank_at(run, position)) ? base + next : OpWalk::kNone;
}

std::size_t previous_in_queue(const RunModel& run, std::size_t position) {
  const std::size_t base = base_of(run, position);
  return position - base > run.schedule->queue_begin(rank_at(run, position)) ? position - 1 : OpWalk::kNone;
}

std::size_t first_op_from(const RunModel& run, Rank rank, Ticks time, int step) {
  const Schedule& schedule = *run.schedule;
  const std::size_t base = static_cast<std::size_t>(step) * schedule.num_ops();
  std::size_t first = base + schedule.queue_begin(rank);
  const std::size_t last = base + schedule.queue_end(rank);
  const std::vector<Ticks>& start = run.timeline.start;
  if (!schedule.has_copies()) {
    const auto begin = start.begin();
    first = static_cast<std::size_t>(std::lower_bound(begin + static_cast<std::ptrdiff_t>(first),
                                                      begin + static_cast<std::ptrdiff_t>(last), time) -
                                     begin);
  } else {
    while (first < last && (start[first] < time || is_copy(op_at(run, first).kind()))) ++first;
  }
  return first < last ? first : OpWalk::kNone;
}

std::size_t op_near(const RunModel& run, Rank rank, Ticks time, int step) {
  const Schedule& schedule = *run.schedule;
  const std::size_t base = static_cast<std::size_t>(step) * schedule.num_ops();
  const std::size_t begin = base + schedule.queue_begin(rank);
  const std::size_t after = first_op_from(run, rank, time + 1, step);
  std::size_t before = after == OpWalk::kNone ? base + schedule.queue_end(rank) : after;
  while (before > begin && is_copy(op_at(run, before - 1).kind())) --before;
  if (before == begin) return after;
  --before;
  if (after == OpWalk::kNone || run.timeline.end[before] > time) return before;
  return time - run.timeline.end[before] <= run.timeline.start[after] - time ? before : after;
}

}  // namespace pipeloom::gui
