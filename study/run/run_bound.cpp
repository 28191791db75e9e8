#include "study/run/run_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "sim/analysis/bounds.hpp"
#include "sim/base/table_size.hpp"
#include "sim/orders/bounds/bounds.hpp"
#include "sim/orders/order.hpp"

namespace pipeloom::study {
namespace {

/// True if every microbatch has F and B, or F, I and W, on every stage, each by itself.
bool is_plain(const Schedule& schedule) {
  const Placement& placement = schedule.placement();
  if (placement.replicas() != 1 || schedule.slices() != 1 || schedule.has_groups() || schedule.is_extended())
    return false;
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    const std::size_t chunks = placement.slots_of(rank).size();
    if (chunks == 0 || chunks > orders::kMaxChunks) return false;
  }
  const bool cut = schedule.contains(OpKind::BackwardInput);
  if (cut == schedule.contains(OpKind::Backward)) return false;
  return count_of_cells(schedule.num_ops()) ==
         count_of_cells(placement.stages(), schedule.microbatches(), cut ? 3 : 2);
}

/// Most bytes that each rank's limit leaves for activations: static bytes are always held, receive buffers and logits only at times.
std::vector<Bytes> activation_limits(const Placement& placement, const MemoryModel& memory) {
  std::vector<Bytes> limits;
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    Bytes left = memory.limit[rank.at()];
    for (const Slot slot : placement.slots_of(rank))
      if (__builtin_sub_overflow(left, memory.static_bytes[slot.at()], &left)) left = 0;
    limits.push_back(std::max<Bytes>(0, left));
  }
  return limits;
}

/// The search problem with the limits that this schedule keeps.
std::optional<orders::Problem> problem_of(const Schedule& schedule, const Costs& costs,
                                          const MemoryModel& memory) {
  const Terms terms{costs, memory};
  if (!is_plain(schedule) || !orders::uniform_over_microbatches(terms)) return std::nullopt;
  orders::Problem problem =
      orders::make_problem(schedule.placement(), schedule.microbatches(), terms, {},
                           orders::Objective::Makespan, schedule.contains(OpKind::BackwardInput));
  if (memory.limit.empty()) return problem;
  const auto order = orders::order_of(problem, schedule);
  if (!order) return std::nullopt;
  std::vector<Bytes> unlimited =
      std::exchange(problem.limit, activation_limits(schedule.placement(), memory));
  if (!orders::keeps_limits(problem, *order)) problem.limit = std::move(unlimited);
  return problem;
}

}  // namespace

LowerBound run_bound(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                     const Steps& steps, Ticks makespan, const std::function<bool()>& stopped) {
  LowerBound known = lower_bound(schedule, costs, steps, makespan);
  if (steps.rule != StepRule::Barrier || known.value >= makespan) return known;
  const auto problem = problem_of(schedule, costs, memory);
  if (!problem) return known;
  const orders::Bound other = orders::best_bound(*problem, makespan, stopped);
  return other.value > known.value ? LowerBound{other.value, std::string(other.name)} : known;
}

}  // namespace pipeloom::study
