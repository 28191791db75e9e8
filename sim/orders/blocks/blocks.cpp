#include "sim/orders/blocks/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pipeloom::orders {
namespace {

int modulo(int value) {
  return (value % kBlockPeriod + kBlockPeriod) % kBlockPeriod;
}

/// The place of each pass of a rank modulo the period.
std::array<int, 4> places(const Block& block, int rank) {
  const int up = block.lower * std::min(rank, block.turn) + block.upper * std::max(0, rank - block.turn);
  return {modulo(up), modulo(block.on_rank_0[0] - rank), modulo(block.on_rank_0[1] + up),
          modulo(block.on_rank_0[2] - rank)};
}

bool collides(const Block& block, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    auto at = places(block, rank);
    std::sort(at.begin(), at.end());
    if (std::adjacent_find(at.begin(), at.end()) != at.end()) return true;
  }
  return false;
}

/// Adds the blocks with these slots on rank 0.
void add_blocks(std::array<int, 3> on_rank_0, int ranks, std::vector<Block>& blocks) {
  for (int lower = 1; lower < kBlockPeriod; ++lower)
    for (int upper = 1; upper <= lower; ++upper)
      for (int turn = 1; turn < std::max(2, ranks); ++turn) {
        const Block block{.on_rank_0 = on_rank_0, .lower = lower, .upper = upper, .turn = turn};
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

std::vector<Block> blocks(std::size_t ranks) {
  std::vector<Block> out;
  for (int f = 1; f < kBlockPeriod; ++f)
    for (int i = 1; i < kBlockPeriod; ++i)
      for (int last = 1; last < kBlockPeriod; ++last)
        if (f != i && i != last && f != last) add_blocks({f, i, last}, static_cast<int>(ranks), out);
  return out;
}

BuildingBlock slots_of(const Block& block, std::size_t ranks) {
  std::vector<std::array<int, 4>> at;
  for (std::size_t rank = 0; rank < ranks; ++rank) at.push_back(places(block, static_cast<int>(rank)));
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

std::string text_of(const Block& block, std::size_t ranks) {
  const auto [f, i, last] = block.on_rank_0;
  std::string on_rank_0 = fmt::format("f{} i{} I{}", f, i, last);
  if (ranks == 1) return on_rank_0;
  if (block.lower == block.upper || block.turn + 1 >= static_cast<int>(ranks))
    return fmt::format("{}, {} {} a rank", on_rank_0, block.lower, block.lower == 1 ? "slot" : "slots");
  return fmt::format("{}, {} slots a rank up to rank {}, then {}", on_rank_0, block.lower, block.turn,
                     block.upper);
}

bool is_v(const Problem& problem) {
  const std::size_t ranks = problem.ranks();
  if (problem.stages.size() != 2 * ranks) return false;
  for (std::size_t s = 0; s < ranks; ++s)
    if (problem.stages[s].rank != s || problem.stages[2 * ranks - 1 - s].rank != s) return false;
  return true;
}

namespace {

/// value / period, rounded down.
int floored(int value, int period) {
  return value / period - (value % period < 0 ? 1 : 0);
}

/// Microbatches between F (at slot `from`) and I (at `to`) at a slot, in the middle of a block that is stamped for that number.
Bytes between(int from, int to, int slot, int period, std::size_t microbatches) {
  const int count = floored(slot - from, period) - floored(slot - to, period);
  return std::min(static_cast<Bytes>(count), static_cast<Bytes>(microbatches));
}

/// The rank's word: its four passes every `period` slots, each W right after its I.
std::vector<Letter> stamped_word(const std::array<int, 4>& slots, std::size_t microbatches, int period) {
  struct Placed {
    int slot;
    Letter letter;
  };
  constexpr std::array<Letter, 4> kLetters = {letter(0, kForward), letter(1, kForward), letter(1, kInput),
                                              letter(0, kInput)};
  std::vector<Placed> line;
  for (std::size_t k = 0; k < microbatches; ++k)
    for (std::size_t pass = 0; pass < kLetters.size(); ++pass)
      line.push_back({slots[pass] + period * static_cast<int>(k), kLetters[pass]});
  std::ranges::stable_sort(line, {}, &Placed::slot);
  std::vector<Letter> word;
  for (const Placed& placed : line) {
    word.push_back(placed.letter);
    if (pass_of(placed.letter) == kInput) word.push_back(letter(chunk_of(placed.letter), kWeight));
  }
  return word;
}

}  // namespace

bool fits(const Problem& problem, const Block& block, int period) {
  const BuildingBlock slots = slots_of(block, problem.ranks());
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
    if (problem.limit[rank] == kNoLimit) continue;
    const auto& [first, second, second_input, first_input] = slots.slots[rank];
    for (const int slot : {first, second}) {
      const Bytes held =
          problem.at(rank, 0).held * between(first, first_input, slot, period, problem.microbatches) +
          problem.at(rank, 1).held * between(second, second_input, slot, period, problem.microbatches);
      if (held > problem.limit[rank]) return false;
    }
  }
  return true;
}

std::optional<Order> stamped(const Problem& problem, const Block& block, const Stamping& how) {
  const BuildingBlock slots = slots_of(block, problem.ranks());
  Order out;
  if (how.moves_ends) {
    out.words = block_words(slots, static_cast<int>(problem.microbatches));
    return keeps_limits(problem, out) ? std::optional(std::move(out)) : std::nullopt;
  }
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
    out.words.push_back(stamped_word(slots.slots[rank], problem.microbatches, how.period));
    if (!keeps_limit(problem, rank, out.words.back())) return std::nullopt;
  }
  return out;
}

}  // namespace pipeloom::orders
