#include "sim/orders/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include <pipeloom/error.hpp>

namespace pipeloom::orders {
namespace {

/// Messages that the ops of a stage wait for and send, forwards and gradients alike: those to and from other ranks.
struct Hops {
  bool before = false;
  bool after = false;
};

Hops hops_of(const Placement& placement, Stage stage) {
  const auto crosses = [&](Stage a, Stage b) { return placement.rank_of(a) != placement.rank_of(b); };
  return {.before = stage.value() > 0 && crosses(stage, Stage(stage.value() - 1)),
          .after = stage.value() + 1 < placement.stages() && crosses(stage, Stage(stage.value() + 1))};
}

Ticks messages_of(const Placement& placement, const Costs& costs, Stage stage) {
  const Hops hops = hops_of(placement, stage);
  return costs.rank_time * ((hops.before ? 1 : 0) + (hops.after ? 1 : 0));
}

StageWork work_of(const Placement& placement, const Terms& terms, Stage stage, bool cut) {
  const Costs& costs = terms.costs;
  const std::size_t slot = stage.at();
  const auto duration = [&](OpKind kind) { return costs.duration[index_of(kind)][slot] + costs.entry; };
  const Ticks messages = messages_of(placement, costs, stage);
  StageWork out;
  out.rank = placement.rank_of(stage).at();
  out.forward = duration(OpKind::Forward) + messages;
  out.input = duration(cut ? OpKind::BackwardInput : OpKind::Backward) + messages;
  out.weight = cut ? duration(OpKind::BackwardWeight) : 0;
  out.forward_delay = costs.forward_delay[slot];
  out.gradient_delay = costs.backward_delay[slot];
  out.held = terms.memory.activation[slot];
  out.kept = cut ? out.held - terms.memory.released_at_input[slot] : 0;
  return out;
}

void require_words(const Placement& placement) {
  if (placement.replicas() != 1)
    throw ScheduleError(
        "orders are searched for one copy of the model only, not for placements in two directions");
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    const std::size_t chunks = placement.slots_of(rank).size();
    if (chunks == 0 || chunks > kMaxChunks)
      throw ScheduleError(fmt::format("orders are searched for 1 to {} stages on a rank; rank {} has {}",
                                      kMaxChunks, rank.value(), chunks));
  }
}

}  // namespace

Problem make_problem(const Placement& placement, int microbatches, const Terms& terms,
                     std::vector<Bytes> limit, Objective objective, bool cut) {
  require_words(placement);
  Problem out;
  out.microbatches = static_cast<std::size_t>(microbatches);
  out.cut = cut;
  out.stages_of.resize(static_cast<std::size_t>(placement.ranks()));
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    StageWork work = work_of(placement, terms, stage, cut);
    work.chunk = out.stages_of[work.rank].size();
    out.stages_of[work.rank].push_back(stage.at());
    out.stages.push_back(work);
  }
  out.limit = limit.empty() ? std::vector<Bytes>(out.ranks(), kNoLimit) : std::move(limit);
  set_objective(out, objective);
  return out;
}

void add_pairs(Problem& problem, const Placement& placement, const Costs& costs) {
  if (costs.overlap.rule == OverlapRule::Sum || costs.overlap.rule == OverlapRule::Sequential) return;
  const auto together = [&](std::size_t f, std::size_t b) {
    const Stage forward(static_cast<int>(f));
    const Stage backward(static_cast<int>(b));
    const std::array parts = {Costs::Part{OpKind::Forward, placement.slot_of(forward, Replica(0))},
                              Costs::Part{OpKind::Backward, placement.slot_of(backward, Replica(0))}};
    return costs.parts_duration(parts) + messages_of(placement, costs, forward) +
           messages_of(placement, costs, backward);
  };
  constexpr Ticks kLeastGain = 1000;
  std::size_t chunks = 0;
  for (const auto& on_rank : problem.stages_of) chunks = std::max(chunks, on_rank.size());
  std::vector<Ticks> pairs(problem.stages.size() * chunks, kMaxTicks);
  bool gains = false;
  for (const auto& on_rank : problem.stages_of)
    for (const std::size_t f : on_rank)
      for (const std::size_t b : on_rank) {
        const Ticks apart = problem.stages[f].forward + problem.stages[b].input + problem.stages[b].weight;
        // Less is what numbers lose that are cut in parts for stages.
        if (together(f, b) >= apart - apart / kLeastGain) continue;
        pairs[f * chunks + problem.stages[b].chunk] = together(f, b);
        gains = true;
      }
  if (gains) problem.pairs = std::move(pairs);
}

void round_limits(Problem& problem) {
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
    Bytes step = 0;
    for (const std::size_t s : problem.stages_of[rank])
      for (const Bytes bytes : {problem.stages[s].held, problem.stages[s].kept, problem.stages[s].dropped})
        step = std::gcd(step, bytes);
    Bytes& limit = problem.limit[rank];
    if (limit != kNoLimit && limit > 0 && step > 0) limit -= limit % step;
  }
}

void tighten(Problem& problem, Bytes most) {
  for (Bytes& limit : problem.limit) limit = std::min(limit, most);
}

std::vector<Bytes> tighter_limits(const Problem& problem, std::size_t count) {
  Bytes whole = 0;  // a microbatch on the rank where it takes most
  Bytes parts = 1;
  for (const auto& on_rank : problem.stages_of) {
    Bytes held = 0;
    for (const std::size_t s : on_rank) held += problem.stages[s].held;
    whole = std::max(whole, held);
    parts = std::max(parts, static_cast<Bytes>(on_rank.size()));
  }
  const Bytes most = problem.limit.empty() ? 0 : *std::ranges::max_element(problem.limit);
  std::vector<Bytes> out;
  if (most == kNoLimit || whole < parts) return out;
  const auto bytes = [&](Bytes shares) {
    return shares * (whole / parts) + (shares * (whole % parts) + parts - 1) / parts;
  };
  for (Bytes shares = most / (whole / parts) + 1; shares > 0 && out.size() < count; --shares)
    if (bytes(shares) < most) out.push_back(bytes(shares));
  return out;
}

Ticks head_of(const Problem& problem, std::size_t rank) {
  Ticks head = 0;
  for (const StageWork& stage : problem.stages) {
    head += stage.forward_delay;
    if (stage.rank == rank) return head;
    head += stage.forward;
  }
  return head;
}

void set_objective(Problem& problem, Objective objective) {
  problem.origin.assign(problem.ranks(), 0);
  if (objective == Objective::Makespan) return;
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank) problem.origin[rank] = head_of(problem, rank);
}

bool uniform_over_microbatches(const Terms& terms) {
  const auto whole_stage = [](const OpCost& op) { return !op.microbatch && !op.slice && !op.of_group; };
  return terms.costs.microbatch_scale.empty() && terms.costs.slice_end.empty() &&
         terms.costs.per_op.empty() && std::ranges::all_of(terms.ops, whole_stage);
}

}  // namespace pipeloom::orders
