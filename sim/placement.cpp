#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom {

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
