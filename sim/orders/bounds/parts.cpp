#include "sim/orders/bounds/parts.hpp"

#include <algorithm>

namespace pipeloom::orders {
namespace {

void find_heads(const std::vector<StageWork>& stages, std::vector<StageChain>& chains) {
  Wide at = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    chains[s].forward_head = at += stages[s].forward_delay;
    at += stages[s].forward;
  }
  for (std::size_t s = stages.size(); s-- > 0;) {
    chains[s].input_head = at += stages[s].gradient_delay;
    at += stages[s].input;
  }
}

void find_tails(const Problem& problem, std::vector<StageChain>& chains) {
  const std::vector<StageWork>& stages = problem.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    Wide& tail = chains[s].input_tail = Wide{stages[s].weight} - problem.origin[stages[s].rank];
    if (s > 0)
      tail =
          std::max(tail, Wide{stages[s - 1].gradient_delay} + stages[s - 1].input + chains[s - 1].input_tail);
  }
  const std::size_t last = stages.size() - 1;
  chains[last].forward_tail =
      Wide{stages[last].gradient_delay} + stages[last].input + chains[last].input_tail;
  for (std::size_t s = last; s-- > 0;)
    chains[s].forward_tail =
        Wide{stages[s + 1].forward_delay} + stages[s + 1].forward + chains[s + 1].forward_tail;
}

/// The most work where bytes may be cut to any size: densest first.
Wide most_of_parts(std::vector<Load>& loads, Wide copies, Wide left) {
  std::ranges::sort(loads, [](const Load& a, const Load& b) { return a.work * b.bytes > b.work * a.bytes; });
  Wide sum = 0;
  for (const Load& load : loads) {
    const Wide whole = load.bytes == 0 ? copies : std::min(copies, left / load.bytes);
    sum += whole * load.work;
    left -= whole * load.bytes;
    if (whole < copies) return sum + left * load.work / load.bytes;
  }
  return sum;
}

}  // namespace

Parts::Parts(const Problem& of) : problem(of), chains(of.stages.size()) {
  find_heads(of.stages, chains);
  find_tails(of, chains);
}

Wide Parts::held_up_to(std::size_t stage) const {
  Wide sum = 0;
  for (const std::size_t other : stages_of(problem.stages[stage].rank))
    if (other <= stage) sum += problem.stages[other].held;
  return sum;
}

std::size_t Parts::places(std::size_t stage, Wide left) const {
  const Wide held = held_up_to(stage);
  const auto m = static_cast<Wide>(problem.microbatches);
  if (problem.limit[problem.stages[stage].rank] == kNoLimit || held == 0) return problem.microbatches;
  return static_cast<std::size_t>(std::clamp<Wide>(left / held, 0, m));
}

std::size_t Parts::slots(std::size_t stage) const {
  return places(stage, problem.limit[problem.stages[stage].rank]);
}

std::size_t Parts::young(std::size_t stage) const {
  const std::size_t rank = problem.stages[stage].rank;
  const Wide deeper = held_up_to(last_stage(rank)) - held_up_to(stage);
  return places(stage, Wide{problem.limit[rank]} - deeper);
}

Ticks Parts::slot_delay(std::size_t stage) const {
  const StageWork& work = problem.stages[stage];
  const std::size_t k = slots(stage);
  if (problem.limit[work.rank] == kNoLimit || k == problem.microbatches) return 0;
  const Wide left = Wide{problem.limit[work.rank]} - held_up_to(stage) * static_cast<Wide>(k);
  return left < work.kept ? std::min(work.weight, work.input) : 0;
}

Wide most_work(std::vector<Load> loads, std::size_t copies, Bytes limit) {
  std::erase_if(loads, [](const Load& load) { return load.work == 0; });
  Wide all = 0;
  Wide most = 0;
  Bytes least = kNoLimit;
  const auto count = static_cast<Wide>(copies);
  for (const Load& load : loads) {
    all += load.work * count;
    most = std::max(most, load.work);
    least = std::min(least, load.bytes);
  }
  if (limit == kNoLimit) return all;
  const Wide places = least == 0 ? all : Wide{std::max<Bytes>(limit, 0) / least} * most;
  return std::min({all, places, most_of_parts(loads, count, std::max<Bytes>(limit, 0))});
}

}  // namespace pipeloom::orders
