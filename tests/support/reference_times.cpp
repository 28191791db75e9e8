#include "support/reference_times.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/kinds.hpp"

namespace pipeloom::test {
namespace {

/// A slice's part of what a whole pass takes, cut to the nearest tick.
Ticks part_of_slice(const Costs& costs, Ticks whole, int slice) {
  const auto cut_at = [&](int j) {
    return (2 * whole * costs.slice_end[static_cast<std::size_t>(j)] + costs.slice_end.back()) /
           (2 * costs.slice_end.back());
  };
  return cut_at(slice + 1) - cut_at(slice);
}

/// Of a message from another stage: latency, and what sending its bytes takes, of which a slice has a part.
Ticks message_time(const Costs& costs, const std::vector<Ticks>& delays, const std::vector<Ticks>& sendings,
                   std::size_t slot, int slice) {
  if (costs.slice_end.empty() || sendings.empty()) return delays[slot];
  return delays[slot] - sendings[slot] + part_of_slice(costs, sendings[slot], slice);
}

/// Without Costs::entry.
Ticks part_duration(const Schedule& schedule, const Costs& costs, std::size_t i) {
  if (!costs.per_op.empty()) return costs.per_op[i] - costs.entry;
  const Op op = schedule.ops()[i];
  Ticks base = costs.duration[index_of(op.kind())][schedule.slot_of(op).at()];
  if (!costs.slice_end.empty()) base = part_of_slice(costs, base, op.slice());
  if (costs.microbatch_scale.empty()) return base;
  const std::int64_t scale = costs.microbatch_scale[op.microbatch().at()];
  return (base * scale + kUnitScale / 2) / kUnitScale;  // durations of the tests are small enough
}

class LongestPath {
 public:
  LongestPath(const Schedule& schedule, const Costs& costs, const std::vector<Ticks>& ready)
      : schedule_(schedule), costs_(costs), times_{}, state_(schedule.num_ops(), kUnseen) {
    times_.start.resize(schedule.num_ops());
    times_.end.resize(schedule.num_ops());
    left_.resize(schedule.num_ops());
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       for (std::size_t i = first; i < last; ++i) {
                         where_[schedule.ops()[i]] = i;
                         entry_.push_back({first, last, rank, ready.empty() ? 0 : ready[rank.at()]});
                       }
                     });
  }

  std::optional<ReferenceTimes> run() && {
    for (std::size_t i = 0; i < schedule_.num_ops(); ++i)
      if (!visit(i)) return std::nullopt;
    return std::move(times_);
  }

 private:
  enum State : unsigned char { kUnseen, kOpen, kDone };
  struct Entry {
    std::size_t first;
    std::size_t last;
    Rank rank;
    Ticks ready;
  };

  /// Finds the times of the entry that holds op i. False if it waits for itself.
  bool visit(std::size_t i) {
    const Entry entry = entry_[i];
    if (state_[entry.first] != kUnseen) return state_[entry.first] == kDone;
    state_[entry.first] = kOpen;
    Ticks start = entry.ready;
    // The entry before it, copies left out; a copy also waits for the copy before it.
    const bool beside = is_copy(schedule_.ops()[i].kind());
    bool found[] = {false, !beside};
    for (std::size_t at = entry.first; at-- > schedule_.queue_begin(entry.rank);) {
      const bool copy = is_copy(schedule_.ops()[at].kind());
      if (std::exchange(found[copy ? 1 : 0], true)) continue;
      if (!visit(at)) return false;
      start = std::max(start, copy ? times_.end[at] : std::max(times_.end[at], left_[at]));
    }
    for (std::size_t j = entry.first; j < entry.last; ++j)
      if (!wait_for_inputs(schedule_.ops()[j], start)) return false;
    finish(entry, start + messages_of(entry, false) * costs_.rank_time);
    state_[entry.first] = kDone;
    return true;
  }

  bool wait_for_inputs(Op op, Ticks& start) {
    const Stage s = op.stage();
    const auto other = [&](OpKind kind, Stage stage) {
      const Op producer(kind, stage, op.microbatch());
      return op.is_sliced() ? producer.with_slice(op.slice()) : producer;
    };
    const std::size_t slot = schedule_.slot_of(op).at();
    if (op.kind() == OpKind::Forward)
      return s == Stage(0) ||
             wait_for(other(OpKind::Forward, s - 1),
                      message_time(costs_, costs_.forward_delay, costs_.forward_sending, slot, op.slice()),
                      start);
    if (op.kind() == OpKind::BackwardWeight) return wait_for(other(OpKind::BackwardInput, s), 0, start);
    const Stage last(schedule_.stages() - 1);
    if (op.kind() == OpKind::Output) return wait_for(other(OpKind::Forward, last), 0, start);
    if (op.kind() == OpKind::OutputWeight) return wait_for_all(other(OpKind::Output, s), start);
    // Where T of the last stage comes before the backward, its sum is what the backward takes; else that over S.
    if (carries_gradient(op.kind()) && s == last && where_.contains(other(OpKind::Output, s)))
      return wait_for_all(other(gradients_come_first() ? OpKind::OutputWeight : OpKind::Output, s), start);
    if (!wait_for(other(OpKind::Forward, s), 0, start)) return false;
    const Op reload = other(OpKind::Reload, s);
    const bool uses_activations = carries_gradient(op.kind()) || op.kind() == OpKind::Recompute;
    if (uses_activations && where_.contains(reload) && !wait_for(reload, 0, start)) return false;
    if (!carries_gradient(op.kind()) || s + 1 == Stage(schedule_.stages())) return true;
    const Op full = other(OpKind::Backward, s + 1);
    return wait_for(where_.contains(full) ? full : other(OpKind::BackwardInput, s + 1),
                    message_time(costs_, costs_.backward_delay, costs_.backward_sending, slot, op.slice()),
                    start);
  }

  /// The same op of all stages.
  bool wait_for_all(Op producer, Ticks& start) {
    for (Stage s{0}; s < Stage(schedule_.stages()); ++s) {
      const Op part(producer.kind(), s, producer.microbatch());
      if (!wait_for(producer.is_sliced() ? part.with_slice(producer.slice()) : part, 0, start)) return false;
    }
    return true;
  }

  /// Of any pass of the last stage.
  [[nodiscard]] bool gradients_come_first() const {
    for (const auto& [op, at] : where_) {
      if (op.kind() != OpKind::OutputWeight || op.stage().value() + 1 != schedule_.stages()) continue;
      for (const OpKind kind : {OpKind::Backward, OpKind::BackwardInput}) {
        const auto backward = where_.find(op.as(kind));
        if (backward != where_.end() && at < backward->second) return true;
      }
    }
    return false;
  }

  bool wait_for(Op producer, Ticks delay, Ticks& start) {
    const std::size_t i = where_.at(producer);
    if (!visit(i)) return false;
    start = std::max(start, left_[i] + delay);
    return true;
  }

  /// How many of the entry's ops get their tensor from another rank, or give theirs to one.
  [[nodiscard]] Ticks messages_of(const Entry& entry, bool sent) const {
    Ticks count = 0;
    for (std::size_t i = entry.first; i < entry.last; ++i) {
      const Op op = schedule_.ops()[i];
      const bool forward = op.kind() == OpKind::Forward;
      if (!forward && !carries_gradient(op.kind())) continue;
      const int other = op.stage().value() + (forward == sent ? 1 : -1);
      if (other < 0 || other >= schedule_.stages()) continue;
      const Op there(OpKind::Forward, Stage(other), op.microbatch());
      if (schedule_.home_of(there) != entry.rank) ++count;
    }
    return count;
  }

  void finish(const Entry& entry, Ticks start) {
    const bool one_by_one = costs_.overlap.rule == OverlapRule::Sequential;
    const Ticks end = start + reference_duration(schedule_, costs_, entry.first, entry.last);
    const Ticks sending = messages_of(entry, true) * costs_.rank_time;
    for (std::size_t i = entry.first; i < entry.last; ++i) {
      const bool single = entry.last - entry.first == 1;
      times_.start[i] = start;
      times_.end[i] = one_by_one && !single ? start + part_duration(schedule_, costs_, i) +
                                                  (i == entry.first ? costs_.entry : 0)
                                            : end;
      if (one_by_one) start = times_.end[i];
      left_[i] = sending == 0 ? times_.end[i] : end + sending;
    }
  }

  const Schedule& schedule_;
  const Costs& costs_;
  ReferenceTimes times_;
  std::vector<Ticks> left_;          // when op i's result leaves its rank
  std::vector<State> state_;         // of an entry, at its first op
  std::vector<Entry> entry_;         // [op index]
  std::map<Op, std::size_t> where_;  // op -> op index
};

}  // namespace

Ticks reference_duration(const Schedule& schedule, const Costs& costs, std::size_t first, std::size_t last) {
  Ticks sum = 0;
  Ticks longest = 0;
  std::vector<std::size_t> forwards;
  for (std::size_t i = first; i < last; ++i) {
    sum += part_duration(schedule, costs, i);
    longest = std::max(longest, part_duration(schedule, costs, i));
    if (schedule.ops()[i].kind() == OpKind::Forward) forwards.push_back(i);
  }
  if (last - first == 1) return sum + costs.entry;
  if (!costs.per_group.empty()) return costs.per_group[first];
  if (costs.overlap.rule == OverlapRule::Factor)
    return std::max(longest, (sum * costs.overlap.factor + kUnitScale / 2) / kUnitScale) + costs.entry;
  if (costs.overlap.rule == OverlapRule::Saving)
    return std::max(longest, sum - costs.overlap.saving) + costs.entry;
  if (costs.overlap.rule != OverlapRule::Explicit || forwards.size() != 1) return sum + costs.entry;
  const auto slot_at = [&](std::size_t i) { return schedule.slot_of(schedule.ops()[i]).at(); };
  if (costs.overlap.pairs.empty()) return costs.overlap.duration[slot_at(forwards[0])] + costs.entry;
  if (last - first != 2) return sum + costs.entry;
  const std::size_t other = forwards[0] == first ? first + 1 : first;
  const auto slots = static_cast<std::size_t>(schedule.placement().slots());
  return costs.overlap.pairs[slot_at(forwards[0]) * slots + slot_at(other)] + costs.entry;
}

std::optional<ReferenceTimes> reference_times(const Schedule& schedule, const Costs& costs,
                                              const std::vector<Ticks>& ready) {
  return LongestPath(schedule, costs, ready).run();
}

}  // namespace pipeloom::test
