// Durations that the input leaves out.

#include <fmt/format.h>

#include "sim/cost/source.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::cost {

std::optional<Stated> defaults(const CostSpec& spec, const Shape& shape, const Stated& known) {
  if (known.any_duration()) return std::nullopt;
  Stated out;
  const auto stages = static_cast<std::size_t>(shape.placement->stages());
  for (const KindRow& row : kKinds) {
    out.duration[index_of(row.kind)].emplace(stages, row.default_units * ticks_per(spec.unit));
    out.origins.emplace_back(row.cost_key, "default");
  }
  if (spec.unit != TimeUnit::Unit || spec.per != Per::Stage)
    out.warnings.push_back(
        fmt::format("no op costs are given: forward 1, backward 2, backward_input 1, backward_weight 1 {} "
                    "per stage pass hold",
                    name_of(spec.unit)));
  return out;
}

}  // namespace pipeloom::cost
