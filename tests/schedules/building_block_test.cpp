// The middle of an order made of building blocks repeats.

#include "schedules/building_block.hpp"

#include "schedules/generator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::building_block_test {
namespace {

BuildingBlock v_half_block(int p) {
  BuildingBlock block;
  const int turn = p % 2 == 0 ? 3 : 0;
  for (int r = 0; r < p; ++r)
    block.slots.push_back({2 * r, 3 * p - 2 - r, 3 * p - 1 + turn + 2 * r, 6 * p - 2 + turn - r});
  return block;
}

/// Kinds of a rank's passes in order.
std::vector<Pass> passes_of(const Schedule& schedule, Rank rank) {
  std::vector<Pass> passes;
  for (const Op op : schedule.queue(rank)) {
    const bool up = op.stage().value() >= schedule.ranks();
    switch (op.kind()) {
      case OpKind::Forward:
        passes.push_back(up ? Pass::Forward1 : Pass::Forward0);
        break;
      case OpKind::BackwardWeight:
        passes.push_back(up ? Pass::Weight1 : Pass::Weight0);
        break;
      default:
        passes.push_back(up ? Pass::Input1 : Pass::Input0);
    }
  }
  return passes;
}

/// `order` with the pass kinds of one microbatch put in at the middle.
bool is_one_period_longer(const std::vector<Pass>& order, const std::vector<Pass>& longer,
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
      const auto orders = block_orders(block, m);
      for (Rank rank{0}; rank < Rank(p); ++rank) CHECK(passes_of(schedule, rank) == orders[rank.at()]);
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
        CHECK(is_one_period_longer(passes_of(schedule, rank), passes_of(longer, rank), period));
    }
}

}  // namespace pipeloom::schedules::building_block_test
