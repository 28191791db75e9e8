// A cost source of one's own: this file, and a line in a list (toy_sources.def; in the program sim/cost/sources.def).
//
// Stages get heavier the further down they are, the first forward of a run takes twice its time, and a hop costs 3 for each rank that it
// passes.

#include <cstdlib>

#include "sim/cost/source.hpp"

namespace pipeloom::cost {

std::optional<Stated> toy(const CostSpec& /*spec*/, const Shape& shape, const Stated& known) {
  Stated out;
  const Placement& placement = *shape.placement;
  const auto in_steps_of = [&](Ticks one) {
    std::vector<Ticks> ticks;
    for (int s = 0; s < placement.stages(); ++s) ticks.push_back(one * (s + 1));
    return ticks;
  };
  out.duration[index_of(OpKind::Forward)] = in_steps_of(10);
  out.duration[index_of(OpKind::Backward)] = in_steps_of(20);
  if (!known.duration[index_of(OpKind::Forward)])
    out.ops.push_back(
        {.kinds = {OpKind::Forward}, .stage = Stage(0), .microbatch = Microbatch(0), .duration = 20});
  out.links.emplace();
  for (int from = 0; from < placement.ranks(); ++from)
    for (int to = 0; to < placement.ranks(); ++to) out.links->delay.push_back(3 * std::abs(to - from));
  out.origins.emplace_back("costs.forward", "toy");
  return out;
}

}  // namespace pipeloom::cost
