#include "study/plan/search/problem.hpp"

#include <algorithm>

#include <pipeloom/error.hpp>
#include "schedules/activation_limit.hpp"
#include "schedules/offload.hpp"
#include "sim/orders/bounds/bounds.hpp"
#include "study/plan/candidates.hpp"
#include "study/run/repeated/repeated_run.hpp"

namespace pipeloom::study {
namespace {

/// Backwards run the forward again first: that much longer, and until then only the stash is held. What the forward then takes again is kept
/// free on the rank.
void add_recomputation(const ProblemParts& parts, orders::Problem& problem) {
  if (parts.recomputed.empty()) return;
  problem.reserve.assign(problem.ranks(), 0);
  for (const std::size_t s : parts.recomputed) {
    orders::StageWork& stage = problem.stages[s];
    stage.again = parts.costs.duration[index_of(OpKind::Recompute)][s] + parts.costs.entry;
    stage.input += stage.again;
    stage.dropped = stage.held - parts.memory.stash[s];
    stage.held -= stage.dropped;
    problem.reserve[stage.rank] = std::max(problem.reserve[stage.rank], stage.dropped);
  }
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    if (problem.limit[rank] != orders::kNoLimit) problem.limit[rank] -= problem.reserve[rank];
}

/// What offloaded stages hold goes to the host and comes back. REQUIRES: a placement without replicas.
void add_copies(const ProblemParts& parts, orders::Problem& problem) {
  if (!parts.offload.on) return;
  problem.least_gap = parts.offload.min_gap;
  for (Rank rank{0}; rank < Rank(parts.placement.ranks()); ++rank)
    for (const Slot slot : schedules::offloaded_slots(parts.placement, rank, parts.offload)) {
      const auto duration = [&](OpKind kind) {
        return parts.costs.duration[index_of(kind)][slot.at()] + parts.costs.entry;
      };
      orders::StageWork& work = problem.stages[parts.placement.stage_of(slot).at()];
      work.is_copied = true;
      work.offload = duration(OpKind::Offload);
      work.reload = duration(OpKind::Reload);
    }
}

/// Stages whose forwards run again before their backwards.
std::vector<std::size_t> recomputed_stages(const Schedule& schedule) {
  std::vector<std::size_t> out;
  if (!schedule.contains(OpKind::Recompute)) return out;
  for (const Op op : schedule.ops())
    if (op.kind() == OpKind::Recompute) out.push_back(op.stage().at());
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Durations of stages: what single microbatches differ by is left to the simulation of what is found.
Costs costs_of_stages(Costs costs) {
  costs.per_op.clear();
  costs.per_group.clear();
  costs.microbatch_scale.clear();
  return costs;
}

std::vector<Bytes> limits_of(const ProblemParts& parts) {
  if (parts.memory.limit.empty()) return {};
  const Params params{.ranks = parts.placement.ranks(), .microbatches = parts.microbatches};
  return schedules::activation_limit(params, parts.placement, parts.memory).bytes;
}

/// Whether the problem's limits are the run's own. They leave a receive buffer and the logits free all the time, which the run needs at times.
bool has_exact_limits(const MemoryModel& memory) {
  const auto none = [](const std::vector<Bytes>& bytes) {
    return std::ranges::all_of(bytes, [](Bytes one) { return one == 0; });
  };
  return memory.limit.empty() || (none(memory.receive) && none(memory.logits));
}

}  // namespace

std::optional<orders::Problem> problem_of(const ProblemParts& parts) {
  try {
    const bool window = parts.rule == StepRule::PostValidation;
    auto problem = orders::make_problem(parts.placement, parts.microbatches,
                                        {costs_of_stages(parts.costs), parts.memory}, limits_of(parts),
                                        window ? orders::Objective::Window : orders::Objective::Makespan);
    add_recomputation(parts, problem);
    add_copies(parts, problem);
    if (parts.pairs && parts.recomputed.empty())
      orders::add_pairs(problem, parts.placement, costs_of_stages(parts.costs));
    orders::round_limits(problem);
    return problem;
  } catch (const ScheduleError&) {
    return std::nullopt;  // no room for activations; the runs themselves say by how much
  }
}

std::optional<orders::Problem> problem_of(const Run& run, bool pairs) {
  const Schedule& schedule = *run.schedule;
  const OffloadOption& offload = run.effective->options.offload;
  const bool has_own_copies = schedule.has_copies() && !offload.on;
  if (!is_searchable(schedule) || has_own_copies || schedule.is_forward_only()) return std::nullopt;
  return problem_of({schedule.placement(), microbatches_of(run), *run.costs, *run.memory,
                     run.effective->step.rule, recomputed_stages(schedule), offload, pairs});
}

bool is_exact(const Run& like) {
  return like.effective->step.rule == StepRule::Barrier && !like.program_run &&
         like.costs->microbatch_scale.empty() && like.costs->per_op.empty() &&
         !like.schedule->contains(OpKind::Recompute) && !like.schedule->has_copies() &&
         has_exact_limits(*like.memory);
}

Ticks bound_on(const orders::Problem& problem, const Run& like, const Limits& limits) {
  const Costs& costs = *like.costs;
  const bool is_plain = like.effective->step.rule == StepRule::Barrier && !like.program_run &&
                        costs.microbatch_scale.empty() && costs.per_op.empty() && !makes_pairs(costs);
  if (!is_plain || problem.needs_entries()) return 0;
  return orders::best_bound(problem, kMaxTicks, limits.stop).value;
}

}  // namespace pipeloom::study
