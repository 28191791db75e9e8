#include "sim/draw/op_colours.hpp"

#include <algorithm>

namespace pipeloom::draw {

OpColours::OpColours(const Schedule& schedule, Theme theme, ColourBy by, Palette palette)
    : schedule_(&schedule),
      theme_(theme),
      by_(by),
      palette_(palette),
      chunk_of_slot_(static_cast<std::size_t>(schedule.placement().slots())) {
  const Placement& placement = schedule.placement();
  for (Rank rank(0); rank.value() < placement.ranks(); ++rank) {
    Replica replica(0);
    Chunk next(0);
    for (const Slot slot : placement.slots_of(rank)) {
      if (placement.replica_of(slot) != replica) next = Chunk(0);
      replica = placement.replica_of(slot);
      chunk_of_slot_[slot.at()] = next;
      ++next;
      chunks_ = std::max(chunks_, next.value());
    }
  }
  for (Slot slot(0); slot.value() < placement.slots(); ++slot)
    shade_of_slot_.push_back(chunk_of_slot_[slot.at()].value() +
                             chunks_ * placement.replica_of(slot).value());
}

int OpColours::series_length() const {
  switch (by_) {
    case ColourBy::Kind:
      return 0;
    case ColourBy::Stage:
      return schedule_->stages();
    case ColourBy::Microbatch:
      return schedule_->microbatches();
    case ColourBy::Rank:
      return schedule_->ranks();
  }
  return 0;
}

Colour OpColours::of(Op op, Rank rank) const {
  switch (by_) {
    case ColourBy::Kind:
      return kind_colour(theme_, op.kind(), shade_of(op), shades(), palette_);
    case ColourBy::Stage:
      return series_colour(theme_, op.stage().value(), series_length(), op.kind(), palette_);
    case ColourBy::Microbatch:
      return series_colour(theme_, op.microbatch().value(), series_length(), op.kind(), palette_);
    case ColourBy::Rank:
      return series_colour(theme_, rank.value(), series_length(), op.kind(), palette_);
  }
  return {};
}

}  // namespace pipeloom::draw
