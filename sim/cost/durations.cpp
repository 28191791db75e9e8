#include "sim/cost/durations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace pipeloom::cost {
namespace {

using StageTicks = std::vector<Ticks>;
using Given = std::array<std::optional<StageTicks>, kOpKinds>;

constexpr std::size_t kF = index_of(OpKind::Forward);
constexpr std::size_t kB = index_of(OpKind::Backward);
constexpr std::size_t kI = index_of(OpKind::BackwardInput);
constexpr std::size_t kW = index_of(OpKind::BackwardWeight);
constexpr std::size_t kR = index_of(OpKind::Recompute);
constexpr std::size_t kO = index_of(OpKind::Offload);
constexpr std::size_t kL = index_of(OpKind::Reload);
constexpr std::array<const char*, kOpKinds> kKeys = {
    "costs.forward",   "costs.backward", "costs.backward_input", "costs.backward_weight",
    "costs.recompute", "costs.offload",  "costs.reload"};

/// Chunk c of n gets whole / n, and one tick more if it is among the first whole mod n.
Ticks share(Ticks whole, std::int64_t c, std::int64_t n) {
  return whole / n + (c < whole % n ? 1 : 0);
}

/// `whole` of stage s divided among the stages of its rank. Replica 0 stands for all: replicas mirror it.
StageTicks divide_by_chunks(const Placement& placement, const auto& whole_of) {
  StageTicks out(static_cast<std::size_t>(placement.stages()));
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    std::vector<Stage> own;
    for (const Slot slot : placement.slots_of(rank))
      if (placement.replica_of(slot) == Replica(0)) own.push_back(placement.stage_of(slot));
    const auto n = static_cast<std::int64_t>(own.size());
    for (std::int64_t c = 0; c < n; ++c) {
      const Stage stage = own[static_cast<std::size_t>(c)];
      out[stage.at()] = share(whole_of(rank, stage), c, n);
    }
  }
  return out;
}

StageTicks per_rank(const StageNumbers& numbers, const Placement& placement) {
  const bool by_rank = numbers.form == StageNumbers::Form::Array &&
                       numbers.array.size() == static_cast<std::size_t>(placement.ranks());
  const StageTicks by_stage = by_rank ? StageTicks{} : expand(numbers, placement.stages());
  return divide_by_chunks(placement, [&](Rank rank, Stage stage) {
    return by_rank ? numbers.array[rank.at()] : by_stage[stage.at()];
  });
}

StageTicks per_model(const StageNumbers& numbers, const Placement& placement, const char* per_key) {
  if (numbers.form != StageNumbers::Form::Scalar)
    throw InputError(numbers.where,
                     fmt::format("{} is an array or a table, but {} = \"model\" divides one number by the "
                                 "number of stages; give one number, or \"per\": \"stage\"",
                                 numbers.key, per_key));
  const int stages = placement.stages();
  StageTicks out;
  for (int s = 0; s < stages; ++s) out.push_back(share(numbers.scalar, s, stages));
  return out;
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
              s, kKeys[part_kind], format_ticks(part[s], spec.unit), format_ticks(whole[s], spec.unit),
              kKeys[kI + kW - part_kind], kKeys[kI + kW - part_kind]));
  }
  return out;
}

StageTicks half_of(const StageTicks& whole) {
  StageTicks out(whole);
  for (Ticks& t : out) t /= 2;
  return out;
}

/// B, I and W from each other, as far as two of them, or B alone, are there.
void derive_backwards(const CostSpec& spec, Given& given, std::vector<Origin>& origins) {
  const auto derived = [&](std::size_t kind, StageTicks ticks, const char* how) {
    given[kind] = std::move(ticks);
    origins.emplace_back(kKeys[kind], how);
  };
  if (!given[kB] && given[kI] && given[kW])
    derived(kB, sum_of(*given[kI], *given[kW], spec), "derived: backward_input + backward_weight");
  if (!given[kB]) return;
  if (!given[kI] && !given[kW])
    derived(kW, half_of(*given[kB]), "derived: half of backward, rounded down to the tick");
  if (!given[kI])
    derived(kI, rest_of(*given[kB], *given[kW], spec, kW), "derived: backward - backward_weight");
  if (!given[kW])
    derived(kW, rest_of(*given[kB], *given[kI], spec, kI), "derived: backward - backward_input");
}

/// R from F, and L from O.
void derive_extras(Given& given, std::vector<Origin>& origins) {
  if (!given[kR] && given[kF]) {
    given[kR] = given[kF];
    origins.emplace_back(kKeys[kR], "derived: forward");
  }
  if (!given[kL] && given[kO]) {
    given[kL] = given[kO];
    origins.emplace_back(kKeys[kL], "derived: offload");
  }
}

void use_defaults(const CostSpec& spec, const Placement& placement, ResolvedCosts& out) {
  static constexpr std::array<int, kOpKinds> kUnits = {1, 2, 1, 1, 1, 1, 1};
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    out.stage_duration[kind] =
        spread(StageNumbers::all(kUnits[kind] * ticks_per(spec.unit), kKeys[kind]), Per::Stage, placement);
    out.origins.emplace_back(kKeys[kind], "default");
  }
  if (spec.unit != TimeUnit::Unit || spec.per != Per::Stage)
    out.warnings.push_back(
        fmt::format("no op costs are given: forward 1, backward 2, backward_input 1, backward_weight 1 {} "
                    "per stage pass hold",
                    name_of(spec.unit)));
}

[[noreturn]] void fail_missing(const CostSpec& spec, std::size_t kind) {
  const char* also = kind == kB                 ? "it, or costs.backward_input and costs.backward_weight"
                     : kind == kF || kind == kO ? "it"
                     : kind == kR               ? "it, or costs.forward"
                     : kind == kL               ? "it, or costs.offload"
                                                : "it, or costs.backward";
  throw InputError(
      spec.where, fmt::format("{} is missing, but other costs are given and the schedule has {} ops; give {}",
                              kKeys[kind], letter_of(kAllOpKinds[kind]), also));
}

}  // namespace

std::vector<Ticks> spread(const StageNumbers& numbers, Per per, const Placement& placement,
                          const char* per_key) {
  switch (per) {
    case Per::Stage:
      return expand(numbers, placement.stages());
    case Per::Rank:
      return per_rank(numbers, placement);
    case Per::Model:
      return per_model(numbers, placement, per_key);
  }
  return {};
}

void resolve_durations(const CostSpec& spec, const Shape& shape, ResolvedCosts& out) {
  const auto is_given = [](const auto& numbers) { return numbers.has_value(); };
  if (std::none_of(spec.duration.begin(), spec.duration.end(), is_given))
    return use_defaults(spec, *shape.placement, out);

  Given given;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind)
    if (spec.duration[kind]) given[kind] = spread(*spec.duration[kind], spec.per, *shape.placement);
  derive_backwards(spec, given, out.origins);
  derive_extras(given, out.origins);

  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    if (!given[kind] && shape.contains(kAllOpKinds[kind])) fail_missing(spec, kind);
    if (!given[kind]) {
      given[kind] = StageTicks(static_cast<std::size_t>(shape.placement->stages()), 0);
      out.origins.emplace_back(kKeys[kind], "not given: the schedule has no such ops");
    }
    out.stage_duration[kind] = std::move(*given[kind]);
  }
}

}  // namespace pipeloom::cost
