// The middle of an order made of building blocks repeats.

#include "schedules/building_block.hpp"

#include "schedules/generator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::building_block_test {
namespace {

using orders::Letter;

BuildingBlock v_half_block(int p) {
  BuildingBlock block;
  const int turn = p % 2 == 0 ? 3 : 0;
  for (int r = 0; r < p; ++r)
    block.slots.push_back({2 * r, 3 * p - 2 - r, 3 * p - 1 + turn + 2 * r, 6 * p - 2 + turn - r});
  return block;
}

/// A rank's ops in order, without their microbatches.
std::vector<Letter> letters_of(const Schedule& schedule, Rank rank) {
  std::vector<Letter> letters;
  for (const Op op : schedule.queue(rank)) {
    const std::size_t chunk = op.stage().value() >= schedule.ranks() ? 1 : 0;
    const bool is_forward = op.kind() == OpKind::Forward;
    const bool is_weight = op.kind() == OpKind::BackwardWeight;
    letters.push_back(orders::letter(
        chunk, is_forward ? orders::kForward : (is_weight ? orders::kWeight : orders::kInput)));
  }
  return letters;
}

/// `order` with the letters of one microbatch put in at the middle.
bool is_one_period_longer(const std::vector<Letter>& order, const std::vector<Letter>& longer,
                          std::size_t period) {
  if (longer.size() != order.size() + period) return false;
  const auto middle = static_cast<std::ptrdiff_t>(order.size() / 2);
  return std::equal(order.begin(), order.begin() + middle, longer.begin()) &&
         std::equal(order.begin() + middle, order.end(),
                    longer.begin() + middle + static_cast<std::ptrdiff_t>(period));
}

}  // namespace

TEST_CASE("building blocks: a drawn-out order is the order made pass by pass") {
  for (const int p : {1, 2, 3, 4, 5, 8, 13})
    for (const int more : {1, 2, 9}) {
      const int m = 4 * p + 8 + more;
      const BuildingBlock block = v_half_block(p);
      const Schedule schedule = emit_block(block, m);
      const auto words = block_words(block, m);
      for (Rank rank{0}; rank < Rank(p); ++rank) CHECK(letters_of(schedule, rank) == words[rank.at()]);
    }
}

TEST_CASE("building blocks: from 4 p + 8 microbatches on, one more adds one period in the middle") {
  const std::pair<const char*, std::size_t> schedules[] = {
      {"v-half", 6}, {"v-min", 6}, {"v-zb", 6}, {"1f1b-v", 4}};
  for (const auto& [name, period] : schedules)
    for (int p = 1; p <= 12; ++p) {
      const Generator& generator = *find(name).generator;
      const Params params{.ranks = p, .microbatches = 4 * p + 7, .chunks = 2};
      Params more = params;
      ++more.microbatches;
      const Schedule schedule = make(generator, params);
      const Schedule longer = make(generator, more);
      INFO(name << ", p = " << p);
      for (Rank rank{0}; rank < Rank(p); ++rank)
        CHECK(is_one_period_longer(letters_of(schedule, rank), letters_of(longer, rank), period));
    }
}

}  // namespace pipeloom::schedules::building_block_test
