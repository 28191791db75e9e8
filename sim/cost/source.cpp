#include "sim/cost/source.hpp"

#include <algorithm>
#include <iterator>

namespace pipeloom::cost {

#define PIPELOOM_COST_SOURCE(name) \
  std::optional<Stated> name(const CostSpec& spec, const Shape& shape, const Stated& known);
#include "sim/cost/sources.def"
#undef PIPELOOM_COST_SOURCE

bool Stated::any_duration() const {
  return std::any_of(duration.begin(), duration.end(), [](const auto& ticks) { return ticks.has_value(); });
}

std::span<const Source> sources() {
  static constexpr Source kSources[] = {
#define PIPELOOM_COST_SOURCE(name) &(name),
#include "sim/cost/sources.def"
#undef PIPELOOM_COST_SOURCE
  };
  return kSources;
}

namespace {

template <class Items>
void append(Items from, Items& to) {
  if (to.empty()) {
    to = std::move(from);
    return;
  }
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

Stated ask(std::span<const Source> sources, const CostSpec& spec, const Shape& shape) {
  Stated known;
  for (const Source source : sources) {
    std::optional<Stated> said = source(spec, shape, known);
    if (!said) continue;
    for (std::size_t kind = 0; kind < kOpKinds; ++kind)
      if (!known.duration[kind]) known.duration[kind] = std::move(said->duration[kind]);
    append(std::move(known.ops), said->ops);
    known.ops = std::move(said->ops);
    if (!known.links) known.links = std::move(said->links);
    append(std::move(said->origins), known.origins);
    append(std::move(said->warnings), known.warnings);
  }
  return known;
}

}  // namespace pipeloom::cost
