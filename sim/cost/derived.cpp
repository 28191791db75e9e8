// Durations that follow from others: B, I and W from each other, R from F, L from O.

#include <fmt/format.h>

#include "sim/cost/source.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::cost {
namespace {

using StageTicks = std::vector<Ticks>;
constexpr std::size_t kB = index_of(OpKind::Backward);
constexpr std::size_t kI = index_of(OpKind::BackwardInput);
constexpr std::size_t kW = index_of(OpKind::BackwardWeight);

std::string key_of(std::size_t kind) {
  return std::string(kKinds[kind].cost_key);
}

StageTicks sum_of(const StageTicks& a, const StageTicks& b, const CostSpec& spec) {
  StageTicks out(a.size());
  for (std::size_t s = 0; s < a.size(); ++s) {
    out[s] = a[s] + b[s];
    if (out[s] >= kMaxTicks)
      throw InputError(spec.where,
                       "costs.backward_input + costs.backward_weight overflows; use a larger time unit");
  }
  return out;
}

/// B minus one part of it; the part may not be the larger one.
StageTicks rest_of(const StageTicks& whole, const StageTicks& part, const CostSpec& spec,
                   std::size_t part_kind) {
  StageTicks out(whole.size());
  for (std::size_t s = 0; s < whole.size(); ++s) {
    out[s] = whole[s] - part[s];
    if (out[s] < 0)
      throw InputError(
          spec.duration[part_kind]->where,
          fmt::format(
              "on stage {} {} = {} is more than costs.backward = {}, which leaves a negative {}; give "
              "{} too, or make it smaller",
              s, key_of(part_kind), format_ticks(part[s], spec.unit), format_ticks(whole[s], spec.unit),
              key_of(kI + kW - part_kind), key_of(kI + kW - part_kind)));
  }
  return out;
}

StageTicks half_of(const StageTicks& whole) {
  StageTicks out(whole);
  for (Ticks& t : out) t /= 2;
  return out;
}

/// Durations of each kind, stated by sources or derived here.
class Given {
 public:
  explicit Given(const Stated& known) : known_(known) {}

  /// Returns null if the kind has no duration yet.
  [[nodiscard]] const StageTicks* operator[](std::size_t kind) const {
    const auto& ticks = known_.duration[kind] ? known_.duration[kind] : derived_.duration[kind];
    return ticks ? &*ticks : nullptr;
  }
  void derive(std::size_t kind, StageTicks ticks, std::string how) {
    derived_.duration[kind] = std::move(ticks);
    derived_.origins.emplace_back(key_of(kind), std::move(how));
  }
  [[nodiscard]] Stated take() { return std::move(derived_); }

 private:
  const Stated& known_;
  Stated derived_;
};

/// B, I and W from each other, as far as two of them, or B alone, are there.
void derive_backwards(const CostSpec& spec, Given& given) {
  if (given[kB] == nullptr && given[kI] != nullptr && given[kW] != nullptr)
    given.derive(kB, sum_of(*given[kI], *given[kW], spec), "derived: backward_input + backward_weight");
  if (given[kB] == nullptr) return;
  if (given[kI] == nullptr && given[kW] == nullptr)
    given.derive(kW, half_of(*given[kB]), "derived: half of backward, rounded down to the tick");
  if (given[kI] == nullptr)
    given.derive(kI, rest_of(*given[kB], *given[kW], spec, kW), "derived: backward - backward_weight");
  if (given[kW] == nullptr)
    given.derive(kW, rest_of(*given[kB], *given[kI], spec, kI), "derived: backward - backward_input");
}

/// R from F, and L from O.
void derive_extras(Given& given) {
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    const KindRow& row = kKinds[kind];
    if (!row.extra || given[kind] != nullptr) continue;
    for (const KindRow& from : kKinds)
      if (row.derived_from.has(from.kind) && given[index_of(from.kind)] != nullptr)
        given.derive(kind, *given[index_of(from.kind)], fmt::format("derived: {}", name_of(from.kind)));
  }
}

}  // namespace

std::optional<Stated> derived(const CostSpec& spec, const Shape& /*shape*/, const Stated& known) {
  Given given(known);
  derive_backwards(spec, given);
  derive_extras(given);
  Stated out = given.take();
  if (out.origins.empty()) return std::nullopt;
  return out;
}

}  // namespace pipeloom::cost
