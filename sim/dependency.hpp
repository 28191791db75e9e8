#pragma once

// The op that an op waits for, by index: the look-up that graphs, idle causes and pictures use.

#include <cstdint>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/base/table_size.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {

/// Producers of every op's tensor, and the reload before a backward. 4 bytes per tensor and none per op.
/// REQUIRES: no structural errors, fewer than 2^32 - 1 ops; the schedule outlives it.
class DependencyMap {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit DependencyMap(const Schedule& schedule)
      : schedule_(&schedule), tensors_(schedule), producer_(tensors_.size(), kNone) {
    for (std::size_t i = 0; i < schedule.num_ops(); ++i)
      producer_[tensors_.output_of(schedule.ops()[i])] = static_cast<std::uint32_t>(i);
    if (schedule.has_copies()) find_reloads();
    if (schedule.shares_output()) find_parts();
  }

  /// Op index of the producer that op index i waits for; kNone for model inputs, and for sums that every stage has a part of.
  [[nodiscard]] std::uint32_t producer_of(std::size_t i) const {
    return parts_begin_of(i) == kOne ? producer_[tensors_.input_of(schedule_->ops()[i])] : kNone;
  }
  /// Calls fn(op index) for every producer that op index i waits for.
  template <class Fn>
  void each_producer(std::size_t i, Fn&& fn) const {
    const std::size_t begin = parts_begin_of(i);
    if (begin == kOne) {
      if (const std::uint32_t one = producer_of(i); one != kNone) fn(one);
      return;
    }
    for (std::size_t part = begin; part < begin + static_cast<std::size_t>(schedule_->stages()); ++part)
      if (parts_[part] != kNone) fn(parts_[part]);
  }
  /// Op index of the L whose end op index i (B, I or R) waits for in addition to its tensor; kNone if there is none.
  [[nodiscard]] std::uint32_t reload_of(std::size_t i) const {
    const Op op = schedule_->ops()[i];
    return reload_.empty() || !kWaitsForCopy.has(op.kind()) ? kNone : reload_[pass_of(op)];
  }

 private:
  static constexpr std::size_t kOne = ~std::size_t{0};

  /// Position in `parts_` of the parts that op index i waits for; kOne if one op makes its input.
  [[nodiscard]] std::size_t parts_begin_of(std::size_t i) const {
    if (parts_.empty()) return kOne;
    const Op op = schedule_->ops()[i];
    const auto shared = tensors_.shared_row(tensors_.input_base(op.kind(), op.stage()));
    return shared.value_or(0) == 0 ? kOne : place_of_part(*shared, schedule_->unit_of(op));
  }
  [[nodiscard]] std::size_t place_of_part(int shared, std::size_t unit) const {
    const std::size_t sum =
        static_cast<std::size_t>(shared - 1) * static_cast<std::size_t>(schedule_->units()) + unit;
    return sum * static_cast<std::size_t>(schedule_->stages());
  }
  void find_parts() {
    parts_.assign(table_size(TensorIndex::kShared - 1, schedule_->units(), schedule_->stages()), kNone);
    for (std::size_t i = 0; i < schedule_->num_ops(); ++i) {
      const Op op = schedule_->ops()[i];
      const auto shared = tensors_.shared_row(tensors_.output_base(op.kind(), op.stage()));
      if (shared.value_or(0) != 0)
        parts_[place_of_part(*shared, schedule_->unit_of(op)) + op.stage().at()] =
            static_cast<std::uint32_t>(i);
    }
  }
  [[nodiscard]] std::size_t pass_of(Op op) const {
    return op.stage().at() * static_cast<std::size_t>(schedule_->units()) + schedule_->unit_of(op);
  }
  void find_reloads() {
    reload_.assign(table_size(schedule_->stages(), schedule_->units()), kNone);
    for (std::size_t i = 0; i < schedule_->num_ops(); ++i)
      if (kAwaitedCopies.has(schedule_->ops()[i].kind()))
        reload_[pass_of(schedule_->ops()[i])] = static_cast<std::uint32_t>(i);
  }

  const Schedule* schedule_;
  TensorIndex tensors_;
  std::vector<std::uint32_t> producer_;
  std::vector<std::uint32_t> reload_;  // [stage * units + unit]; empty without copies
  std::vector<std::uint32_t>
      parts_;  // [(sum * units + unit) * stages + stage]; empty where no output layer is shared
};

/// Delay between the end of this op's producer and the arrival of its tensor; 0 for W.
[[nodiscard]] inline Ticks arrival_delay(const Costs& costs, OpKind kind, Slot slot) {
  const int step = step_to_producer(kind);
  if (step < 0) return costs.forward_delay[slot.at()];
  return step > 0 ? costs.backward_delay[slot.at()] : 0;
}

/// The same of one op: of a slice's message only a part is sent (Costs::slice_end); latency is whole.
[[nodiscard]] inline Ticks arrival_delay(const Costs& costs, Op op, Slot slot) {
  const Ticks whole = arrival_delay(costs, op.kind(), slot);
  const auto& sendings = step_to_producer(op.kind()) < 0 ? costs.forward_sending : costs.backward_sending;
  if (costs.slice_end.empty() || sendings.empty() || step_to_producer(op.kind()) == 0) return whole;
  const Ticks sending = sendings[slot.at()];
  return whole - sending + slice_share(sending, costs.slice_end, op.slice());
}

/// The rank that may have to wait for the output of an op of this kind on this slot: the neighbour stage's, or its own.
[[nodiscard]] inline Rank consumer_of(const Placement& placement, OpKind kind, Slot slot) {
  const int step = step_to_consumer(kind);
  const int other = placement.stage_of(slot).value() + step;
  return placement.rank_of(other >= 0 && other < placement.stages() ? slot + step : slot);
}

/// Time that an entry's messages take of its rank's compute lane, in addition to the ops themselves (Costs::rank_time).
struct LaneTimes {
  Ticks before = 0;  ///< from the last tensor's arrival, with the lane free, to the start
  Ticks after = 0;   ///< from the end to the moment when the lane is free and the results leave
};

/// Lane times of an op of this kind on this slot: one message each for a tensor from, and one for, another rank.
[[nodiscard]] inline LaneTimes lane_times(const Costs& costs, const Placement& placement, OpKind kind,
                                          Slot slot) {
  if (costs.rank_time == 0) return {};
  const Rank own = placement.rank_of(slot);
  const int step = step_to_producer(kind);
  const int producer = placement.stage_of(slot).value() + step;
  const bool receives =
      step != 0 && producer >= 0 && producer < placement.stages() && placement.rank_of(slot + step) != own;
  const bool sends = consumer_of(placement, kind, slot) != own;
  return {receives ? costs.rank_time : 0, sends ? costs.rank_time : 0};
}

/// Lane times of the entry of op indices [first, last): those of its ops one after another.
[[nodiscard]] inline LaneTimes lane_times(const Costs& costs, const Schedule& schedule, std::size_t first,
                                          std::size_t last) {
  LaneTimes sum;
  if (costs.rank_time == 0) return sum;
  for (std::size_t i = first; i < last; ++i) {
    const Op op = schedule.ops()[i];
    const LaneTimes one = lane_times(costs, schedule.placement(), op.kind(), schedule.slot_of(op));
    sum.before += one.before;
    sum.after += one.after;
  }
  return sum;
}

}  // namespace pipeloom
