#include "sim/torch/homes.hpp"

namespace pipeloom::torch {

Homes::Homes(const Schedule& schedule)
    : stages_(static_cast<std::size_t>(schedule.stages())),
      slices_(static_cast<std::size_t>(schedule.slices())),
      units_(static_cast<std::size_t>(schedule.units())) {
  const Placement& placement = schedule.placement();
  rank_of_slot_.reserve(static_cast<std::size_t>(placement.slots()));
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) rank_of_slot_.push_back(placement.rank_of(slot));
  if (placement.replicas() == 1) return;
  replicas_.reserve(static_cast<std::size_t>(schedule.microbatches()));
  for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
    replicas_.push_back(static_cast<std::uint8_t>(schedule.replica_of(k).value()));
}

Homes::Homes(std::vector<Rank> rank_of_stage, int microbatches)
    : stages_(rank_of_stage.size()),
      units_(static_cast<std::size_t>(microbatches)),
      rank_of_slot_(std::move(rank_of_stage)) {}

}  // namespace pipeloom::torch
