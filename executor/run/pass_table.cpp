#include "executor/run/pass_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"

namespace pipeloom::executor {

PassTable::PassTable(const Schedule& schedule, Rank rank)
    : rank_(rank),
      stages_(schedule.stages()),
      slices_(schedule.slices()),
      forward_only_(schedule.is_forward_only()),
      units_(static_cast<std::size_t>(schedule.units())) {
  const auto slots = schedule.placement().slots_of(rank);
  slots_.assign(slots.begin(), slots.end());
  for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
    replica_of_microbatch_.push_back(schedule.replica_of(k));
  passes_.resize(slots_.size() * units_);
  for (const Op op : schedule.queue(rank))
    if (row_of(op.kind()).taken == Share::Dropped) passes_[pass_of(op)].is_recomputed = true;
}

std::size_t PassTable::local_of(Op op) const {
  const Slot slot(replica_of_microbatch_[op.microbatch().at()].value() * stages_ + op.stage().value());
  const auto found = std::find(slots_.begin(), slots_.end(), slot);
  if (found == slots_.end())
    throw std::runtime_error(
        fmt::format("rank {} was given {}, whose stage is on another rank", rank_.value(), to_text(op)));
  return static_cast<std::size_t>(found - slots_.begin());
}

std::size_t PassTable::unit_of(Op op) const {
  return op.microbatch().at() * static_cast<std::size_t>(slices_) + static_cast<std::size_t>(op.slice());
}

PassState PassTable::behind_forward(const Pass& pass) const {
  if (forward_only_) return PassState::Done;
  return pass.is_recomputed ? PassState::Stashed : PassState::Kept;
}

void PassTable::advance(Op op) {
  Pass& pass = passes_[pass_of(op)];
  const PassStep& step = row_of(op.kind()).pass;
  if (pass.is_on_host != step.from_host || (pass.state != step.from && pass.state != step.or_from))
    refuse(op);
  pass.is_on_host = step.to_host;
  if (step.to)
    pass.state = *step.to;
  else if (pass.state == PassState::Open)
    pass.state = behind_forward(pass);
}

void PassTable::refuse(Op op) const {
  throw std::runtime_error(
      fmt::format("rank {} was given {} before what it needs, or twice", rank_.value(), to_text(op)));
}

void PassTable::begin_step() {
  for (Pass& pass : passes_) {
    pass.state = PassState::Open;
    pass.is_on_host = false;
  }
}

void PassTable::require_ended(int step) const {
  const auto open = std::find_if(passes_.begin(), passes_.end(), [](const Pass& pass) {
    return pass.state != PassState::Open && pass.state != PassState::Done;
  });
  if (open == passes_.end()) return;
  const auto at = static_cast<std::size_t>(open - passes_.begin());
  throw std::runtime_error(fmt::format("rank {} ended step {} with unit {} of stage {} not finished",
                                       rank_.value(), step, at % units_,
                                       slots_[at / units_].value() % stages_));
}

}  // namespace pipeloom::executor
