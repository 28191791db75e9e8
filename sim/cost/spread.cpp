#include "sim/cost/spread.hpp"

#include <fmt/format.h>

namespace pipeloom::cost {
namespace {

using StageTicks = std::vector<Ticks>;

/// Chunk c of n gets whole / n, and one tick more if it is among the first whole mod n.
Ticks share(Ticks whole, std::int64_t c, std::int64_t n) {
  return whole / n + (c < whole % n ? 1 : 0);
}

/// `whole` of stage s divided among the stages of its rank. Replica 0 is counted only: the others mirror it.
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

}  // namespace pipeloom::cost
