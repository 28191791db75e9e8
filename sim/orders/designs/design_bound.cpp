#include "sim/orders/designs/design_bound.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace pipeloom::orders {

LayerWork layer_work(const Design& design, const ProblemOf& problem_of) {
  LayerWork out;
  const auto most = std::ranges::max_element(design.layers);
  const std::size_t stages = design.layers.size();
  if (stages < 3 || *most < 2) return out;
  Design moved = design;
  const auto from = static_cast<std::size_t>(most - design.layers.begin());
  const std::size_t to = from == 1 ? 0 : 1;
  --moved.layers[from];
  ++moved.layers[to];
  const auto problem = problem_of(design);
  const auto other = problem_of(moved);
  if (!problem || !other) return out;
  out.layer = std::abs(other->stages[1].work() - problem->stages[1].work());
  const auto extra = [&](std::size_t s) {
    return std::max<Ticks>(0, problem->stages[s].work() - out.layer * design.layers[s]);
  };
  out.first = extra(0);
  out.last = extra(stages - 1);
  out.other = extra(1);
  for (std::size_t s = 2; s + 1 < stages; ++s) out.other = std::min(out.other, extra(s));
  return out;
}

Ticks least_rank_work(const LayerWork& work, const Deal& deal) {
  const auto stages = static_cast<Ticks>(deal.stages);
  const auto ranks = static_cast<Ticks>(deal.ranks);
  // Layers that a rank has room for with one end or both; below 0 where that alone is too much.
  const auto room = [&](Ticks most, Ticks ends, Ticks count) {
    const Ticks fixed = ends + std::max<Ticks>(0, stages - count) * work.other;
    return fixed > most ? Ticks{-1} : (most - fixed) / work.layer;
  };
  const auto fit_on_one = [&](Ticks most) {
    const Ticks both = room(most, work.first + work.last, 2);
    return both >= 0 && both + (ranks - 1) * room(most, 0, 0) >= deal.layers;
  };
  const auto fit_on_two = [&](Ticks most) {
    const Ticks first = room(most, work.first, 1);
    const Ticks last = room(most, work.last, 1);
    return ranks > 1 && first >= 0 && last >= 0 &&
           first + last + (ranks - 2) * room(most, 0, 0) >= deal.layers;
  };
  Ticks fails = -1;
  Ticks enough = work.layer * deal.layers + work.first + work.last + 2 * stages * work.other;
  while (enough - fails > 1) {
    const Ticks middle = fails + (enough - fails) / 2;
    const bool fit = (deal.ends != Ends::TwoRanks && fit_on_one(middle)) ||
                     (deal.ends != Ends::OneRank && fit_on_two(middle));
    (fit ? enough : fails) = middle;
  }
  return enough;
}

Ticks least_rank_work(const Design& design, const ProblemOf& problem_of, bool stays) {
  const LayerWork work = layer_work(design, problem_of);
  if (work.layer == 0) return 0;
  std::vector<std::size_t> stages(std::ranges::max(design.rank) + 1);
  for (const std::size_t rank : design.rank) ++stages[rank];
  Deal deal{.layers = std::accumulate(design.layers.begin(), design.layers.end(), 0), .ranks = stages.size()};
  if (stays) {
    deal.ends = design.rank.front() == design.rank.back() ? Ends::OneRank : Ends::TwoRanks;
    deal.stages = std::ranges::min(stages);
  }
  return least_rank_work(work, deal);
}

}  // namespace pipeloom::orders
