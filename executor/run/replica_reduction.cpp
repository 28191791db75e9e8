#include "executor/run/replica_reduction.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace pipeloom::executor {
namespace {

/// True if a stage's gradient is a sum over its replicas.
bool has_sums(const Schedule& schedule) {
  return schedule.placement().replicas() > 1 && !schedule.is_forward_only();
}

/// The gradient that this rank has of a replica of a stage; empty: it has none.
std::span<float> own_gradient(RunState& state, Rank rank, Stage stage, Replica replica) {
  const Placement& placement = state.schedule().placement();
  const Slot slot = placement.slot_of(stage, replica);
  if (placement.rank_of(slot) != rank) return {};
  const auto slots = placement.slots_of(rank);
  const auto local = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), slot) - slots.begin());
  return state.work(rank).weight_gradient(local);
}

/// The gradients of every replica before the sum: this rank's own, and those that the other ranks gave for it. Returns false if the run was stopped.
bool collect(RunState& state, Rank rank, Stage stage, std::vector<std::vector<float>>& parts) {
  const Placement& placement = state.schedule().placement();
  const auto own = [&](Replica replica) { return own_gradient(state, rank, stage, replica); };
  for (Replica mine{0}; mine < Replica(placement.replicas()); ++mine) {
    const std::span<float> gradient = own(mine);
    if (gradient.empty()) continue;
    parts[mine.at()].assign(gradient.begin(), gradient.end());
    for (Replica other{0}; other < Replica(placement.replicas()); ++other) {
      const Rank holder = placement.rank_of(stage, other);
      if (holder == rank) continue;
      auto theirs = state.exchange().swap(rank, holder, {.values = parts[mine.at()]});
      if (!theirs) return false;
      parts[other.at()] = std::move(theirs->values);
    }
  }
  return true;
}

}  // namespace

std::vector<Rank> ranks_with_replicas_of(const Schedule& schedule, Rank rank) {
  std::vector<Rank> ranks;
  if (!has_sums(schedule)) return ranks;
  const Placement& placement = schedule.placement();
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    std::vector<Rank> holders;
    for (Replica replica{0}; replica < Replica(placement.replicas()); ++replica)
      holders.push_back(placement.rank_of(stage, replica));
    if (std::find(holders.begin(), holders.end(), rank) == holders.end()) continue;
    std::copy_if(holders.begin(), holders.end(), std::back_inserter(ranks),
                 [&](Rank holder) { return holder != rank; });
  }
  return ranks;
}

bool reduce_replicas(RunState& state, Rank rank) {
  const Placement& placement = state.schedule().placement();
  if (!has_sums(state.schedule())) return true;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    std::vector<std::vector<float>> parts(static_cast<std::size_t>(placement.replicas()));
    if (!collect(state, rank, stage, parts)) return false;
    for (Replica replica{0}; replica < Replica(placement.replicas()); ++replica) {
      const std::span<float> sum = own_gradient(state, rank, stage, replica);
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (const std::vector<float>& part : parts)
        for (std::size_t i = 0; i < std::min(sum.size(), part.size()); ++i) sum[i] += part[i];
    }
  }
  state.replicas_are_reduced();
  return true;
}

}  // namespace pipeloom::executor
