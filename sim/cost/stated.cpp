// Durations that the input gives.

#include "sim/cost/source.hpp"
#include "sim/cost/spread.hpp"

namespace pipeloom::cost {

std::optional<Stated> stated(const CostSpec& spec, const Shape& shape, const Stated& /*known*/) {
  Stated out;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind)
    if (spec.duration[kind]) out.duration[kind] = spread(*spec.duration[kind], spec.per, *shape.placement);
  if (!out.any_duration()) return std::nullopt;
  return out;
}

}  // namespace pipeloom::cost
