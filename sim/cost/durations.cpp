#include "sim/cost/durations.hpp"

#include <fmt/format.h>

#include "sim/kinds.hpp"

namespace pipeloom::cost {
namespace {

[[noreturn]] void fail_missing(const CostSpec& spec, const KindRow& row) {
  std::string also = "it";
  for (const KindRow& from : kKinds)
    if (row.derived_from.has(from.kind))
      also += fmt::format("{}{}", also == "it" ? ", or " : " and ", from.cost_key);
  throw InputError(
      spec.where, fmt::format("{} is missing, but other costs are given and the schedule has {} ops; give {}",
                              row.cost_key, row.letter, also));
}

}  // namespace

void take_durations(const CostSpec& spec, const Shape& shape, Stated said, ResolvedCosts& out) {
  out.origins = std::move(said.origins);
  out.warnings = std::move(said.warnings);
  for (const KindRow& row : kKinds) {
    std::optional<std::vector<Ticks>>& ticks = said.duration[index_of(row.kind)];
    if (!ticks && shape.contains(row.kind)) fail_missing(spec, row);
    if (!ticks) {
      ticks.emplace(static_cast<std::size_t>(shape.placement->stages()), 0);
      out.origins.emplace_back(row.cost_key, "not given: the schedule has no such ops");
    }
    out.stage_duration[index_of(row.kind)] = std::move(*ticks);
  }
}

}  // namespace pipeloom::cost
