#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {

bool Schedule::is_extended() const {
  return slices_ > 1 || kinds_.any_of(kExtras);
}

bool Schedule::has_copies() const {
  return kinds_.any_of(kCopies);
}

bool Schedule::shares_output() const {
  return kinds_.any_of(kOutputKinds);
}

Rank Schedule::rank_of_op(std::size_t op_index) const {
  const auto after = std::upper_bound(rank_begin_.begin(), rank_begin_.end(), op_index);
  return Rank(static_cast<std::int32_t>(after - rank_begin_.begin()) - 1);
}

bool operator==(const Schedule& a, const Schedule& b) {
  const auto same_grouping = [](Op x, Op y) {
    return x == y && x.joined() == y.joined() && x.in_turn() == y.in_turn();
  };
  return a.microbatches_ == b.microbatches_ && a.slices_ == b.slices_ && a.placement_ == b.placement_ &&
         a.replica_of_microbatch_ == b.replica_of_microbatch_ && a.rank_begin_ == b.rank_begin_ &&
         std::equal(a.ops_.begin(), a.ops_.end(), b.ops_.begin(), b.ops_.end(), same_grouping);
}

ScheduleBuilder::ScheduleBuilder(Placement placement, int microbatches,
                                 std::vector<std::uint8_t> replica_of_microbatch, int slices)
    : schedule_(std::move(placement)) {
  schedule_.microbatches_ = microbatches;
  schedule_.slices_ = slices;
  schedule_.replica_of_microbatch_ = std::move(replica_of_microbatch);
}

void ScheduleBuilder::reserve(std::size_t ops) {
  schedule_.ops_.reserve(ops);
}

ScheduleBuilder& ScheduleBuilder::begin_rank(Rank rank) {
  if (rank.at() != schedule_.rank_begin_.size())
    throw InternalError("schedule builder: ranks must be started in order");
  schedule_.rank_begin_.push_back(schedule_.ops_.size());
  return *this;
}

namespace {

/// F, then B, of one microbatch of the last stage.
bool runs_in_turn(std::span<const Op> ops, const Placement& placement) {
  return ops.size() == 2 && ops[0].kind() == OpKind::Forward && ops[1].kind() == OpKind::Backward &&
         ops[1] == ops[0].as(OpKind::Backward) && ops[0].stage().value() + 1 == placement.stages();
}

}  // namespace

void ScheduleBuilder::add_group(std::span<const Op> ops) {
  if (ops.empty()) return;
  const bool in_turn = runs_in_turn(ops, placement());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool goes_on = i + 1 < ops.size();
    schedule_.ops_.push_back(ops[i].with_joined(goes_on && !in_turn).with_turn(goes_on && in_turn));
    schedule_.kinds_.add(ops[i].kind());
  }
  schedule_.num_entries_ += in_turn ? 2 : 1;
}

Schedule ScheduleBuilder::build() && {
  if (schedule_.rank_begin_.size() != static_cast<std::size_t>(schedule_.ranks()))
    throw InternalError("schedule builder: a rank was never started");
  schedule_.rank_begin_.push_back(schedule_.ops_.size());
  return std::move(schedule_);
}

ScheduleBuilder builder_like(const Schedule& schedule) {
  std::vector<std::uint8_t> replicas;
  if (schedule.placement().replicas() > 1)
    for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
      replicas.push_back(static_cast<std::uint8_t>(schedule.replica_of(k).value()));
  return {schedule.placement(), schedule.microbatches(), std::move(replicas), schedule.slices()};
}

Schedule forward_only(const Schedule& schedule) {
  ScheduleBuilder out = builder_like(schedule);
  std::vector<Op> kept;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.begin_rank(rank);
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     kept.clear();
                     for (std::size_t i = first; i < last; ++i)
                       if (schedule.ops()[i].kind() == OpKind::Forward) kept.push_back(schedule.ops()[i]);
                     out.add_group(kept);
                   });
  }
  return std::move(out).build();
}

std::vector<std::int64_t> slice_ends(const ScheduleOptions& options, int slices) {
  if (slices == 1) return {};
  std::vector<std::int64_t> ends = {0};
  for (int j = 0; j < slices; ++j)
    ends.push_back(ends.back() + (options.slices.empty() ? 1 : options.slices[static_cast<std::size_t>(j)]));
  return ends;
}

Placement::Placement(int ranks, int stages, int replicas, std::vector<Rank> rank_of_slot)
    : ranks_(ranks), stages_(stages), replicas_(replicas), rank_of_slot_(std::move(rank_of_slot)) {
  // A counting sort keeps the slots of a rank in slot order: replica by replica, then by stage.
  rank_begin_.assign(static_cast<std::size_t>(ranks_) + 1, 0);
  for (const Rank rank : rank_of_slot_) ++rank_begin_[rank.at() + 1];
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks_); ++r) rank_begin_[r + 1] += rank_begin_[r];
  auto next = rank_begin_;
  slots_by_rank_.resize(rank_of_slot_.size());
  for (Slot slot{0}; slot < Slot(slots()); ++slot) {
    auto& position = next[rank_of(slot).at()];
    slots_by_rank_[static_cast<std::size_t>(position++)] = slot;
  }
}

Placement Placement::linear(int ranks) {
  return loop(ranks, 1);
}

Placement Placement::loop(int ranks, int chunks) {
  const int stages = ranks * chunks;
  std::vector<Rank> rank_of_slot;
  rank_of_slot.reserve(static_cast<std::size_t>(stages));
  for (int s = 0; s < stages; ++s) rank_of_slot.emplace_back(s % ranks);
  return {ranks, stages, 1, std::move(rank_of_slot)};
}

Placement Placement::wave(int ranks, int chunks) {
  const int stages = ranks * chunks;
  std::vector<Rank> rank_of_slot;
  rank_of_slot.reserve(static_cast<std::size_t>(stages));
  for (int s = 0; s < stages; ++s) {
    const int along = s % ranks;
    const bool downwards = (s / ranks) % 2 == 0;
    rank_of_slot.emplace_back(downwards ? along : ranks - 1 - along);
  }
  return {ranks, stages, 1, std::move(rank_of_slot)};
}

Placement Placement::bidirectional(int ranks) {
  std::vector<Rank> rank_of_slot;
  rank_of_slot.reserve(static_cast<std::size_t>(ranks) * 2);
  for (int s = 0; s < ranks; ++s) rank_of_slot.emplace_back(s);
  for (int s = 0; s < ranks; ++s) rank_of_slot.emplace_back(ranks - 1 - s);
  return {ranks, ranks, 2, std::move(rank_of_slot)};
}

Placement Placement::custom(int ranks, int stages, int replicas, std::vector<Rank> rank_of_slot) {
  for (std::size_t slot = 0; slot < rank_of_slot.size(); ++slot) {
    const int rank = rank_of_slot[slot].value();
    if (rank < 0 || rank >= ranks)
      throw InputError(fmt::format("stage {} is placed on rank {}; allowed are 0 to {}",
                                   slot % static_cast<std::size_t>(stages), rank, ranks - 1));
  }
  return {ranks, stages, replicas, std::move(rank_of_slot)};
}

std::span<const Slot> Placement::slots_of(Rank rank) const {
  const auto begin = static_cast<std::size_t>(rank_begin_[rank.at()]);
  const auto end = static_cast<std::size_t>(rank_begin_[rank.at() + 1]);
  return std::span<const Slot>(slots_by_rank_).subspan(begin, end - begin);
}

std::vector<Stage> Placement::stages_of(Rank rank) const {
  std::vector<Stage> stages;
  for (const Slot slot : slots_of(rank)) stages.push_back(stage_of(slot));
  return stages;
}

int Placement::chunks() const {
  int most = 0;
  for (Rank rank{0}; rank < Rank(ranks_); ++rank) {
    std::vector<int> of_replica(static_cast<std::size_t>(replicas_), 0);
    for (const Slot slot : slots_of(rank)) most = std::max(most, ++of_replica[replica_of(slot).at()]);
  }
  return most;
}

}  // namespace pipeloom
