#include "schedules/v_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pipeloom::schedules {
namespace {

int modulo(int value) {
  return (value % kBlockPeriod + kBlockPeriod) % kBlockPeriod;
}

/// The place of each pass of a rank modulo the period.
std::array<int, 4> places(const VBlock& block, int rank) {
  const int up = block.lower * std::min(rank, block.turn) + block.upper * std::max(0, rank - block.turn);
  return {modulo(up), modulo(block.on_rank_0[0] - rank), modulo(block.on_rank_0[1] + up),
          modulo(block.on_rank_0[2] - rank)};
}

bool collides(const VBlock& block, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    auto at = places(block, rank);
    std::sort(at.begin(), at.end());
    if (std::adjacent_find(at.begin(), at.end()) != at.end()) return true;
  }
  return false;
}

/// Adds the blocks with these slots on rank 0.
void add_blocks(std::array<int, 3> on_rank_0, int ranks, std::vector<VBlock>& blocks) {
  for (int lower = 1; lower < kBlockPeriod; ++lower)
    for (int upper = 1; upper <= lower; ++upper)
      for (int turn = 1; turn < std::max(2, ranks); ++turn) {
        const VBlock block{.on_rank_0 = on_rank_0, .lower = lower, .upper = upper, .turn = turn};
        // With nothing above the turn, or the same, `upper` and `turn` make no difference: those blocks are there once.
        const bool is_plain = lower == upper;
        if (is_plain ? turn > 1 : turn >= ranks - 1 && upper > 1) continue;
        if (!collides(block, ranks)) blocks.push_back(block);
      }
}

/// The first slot after `slot` at this place.
int next_at(int slot, int place) {
  return slot + 1 + modulo(place - slot - 1);
}

}  // namespace

std::vector<VBlock> v_blocks(int ranks) {
  std::vector<VBlock> blocks;
  for (int f = 1; f < kBlockPeriod; ++f)
    for (int i = 1; i < kBlockPeriod; ++i)
      for (int last = 1; last < kBlockPeriod; ++last)
        if (f != i && i != last && f != last) add_blocks({f, i, last}, ranks, blocks);
  return blocks;
}

BuildingBlock slots_of(const VBlock& block, int ranks) {
  std::vector<std::array<int, 4>> at;
  for (int rank = 0; rank < ranks; ++rank) at.push_back(places(block, rank));
  int slot = -1;
  for (std::size_t pass = 0; pass < 4; ++pass) {
    const bool goes_up = pass % 2 == 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      int& place = at[goes_up ? i : at.size() - 1 - i][pass];
      slot = next_at(slot, place);
      place = slot;
    }
  }
  return {.slots = std::move(at)};
}

std::string text_of(const VBlock& block, int ranks) {
  const auto [f, i, last] = block.on_rank_0;
  std::string on_rank_0 = fmt::format("f{} i{} I{}", f, i, last);
  if (ranks == 1) return on_rank_0;
  if (block.lower == block.upper || block.turn >= ranks - 1)
    return fmt::format("{}, {} {} a rank", on_rank_0, block.lower, block.lower == 1 ? "slot" : "slots");
  return fmt::format("{}, {} slots a rank up to rank {}, then {}", on_rank_0, block.lower, block.turn,
                     block.upper);
}

}  // namespace pipeloom::schedules
