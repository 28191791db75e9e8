#include "schedules/building_block.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <pipeloom/schedules.hpp>
#include "schedules/queue_builder.hpp"

namespace pipeloom::schedules {

namespace {

using orders::Letter;

constexpr std::size_t kLetters = 6;

using Word = std::vector<Letter>;

/// True if [begin, begin + period) has each letter once, and the same letters come before and after it.
bool repeats_around(const Word& order, std::size_t begin, std::size_t period) {
  if (begin < period || begin + 2 * period > order.size()) return false;
  std::array<int, kLetters> seen = {};
  for (std::size_t i = begin; i < begin + period; ++i) {
    if (order[i] != order[i - period] || order[i] != order[i + period]) return false;
    if (++seen[order[i]] > 1) return false;
  }
  return true;
}

/// Appends ops with the microbatches that are their turn.
class OpWriter {
 public:
  OpWriter(ScheduleBuilder& out, Rank rank, BlockBackward backward) : out_(&out) {
    const Stage down(rank.value());
    const Stage up(2 * out.placement().ranks() - 1 - rank.value());
    const OpKind input = backward == BlockBackward::Split ? OpKind::BackwardInput : OpKind::Backward;
    const Microbatch k(0);
    next_ = {forward(down, k), Op(input, down, k), backward_weight(down, k),
             forward(up, k),   Op(input, up, k),   backward_weight(up, k)};
  }
  void add(Letter letter) {
    Op& op = next_[letter];
    out_->add(op);
    op = Op(op.kind(), op.stage(), op.microbatch() + 1);
  }

 private:
  ScheduleBuilder* out_;
  std::array<Op, kLetters> next_;  // [letter]
};

/// Number of microbatches from which on the middle of the order repeats for every block of this family.
int enough_microbatches(int ranks) {
  return 4 * ranks + 8;
}

using GoesOn = std::function<bool(double)>;
using Orders = std::shared_ptr<const std::vector<Word>>;

/// orders::block_words(), and for as many microbatches as are drawn out the ones of the thread's last call again if they are the same and
/// small: a sweep over m asks for them at each m.
Orders orders_for(const BuildingBlock& block, int microbatches, const GoesOn& progress) {
  struct Last {
    BuildingBlock block;
    Orders orders;
  };
  constexpr std::size_t kMostOps = std::size_t{1} << 20;
  thread_local Last last;
  const std::size_t ranks = block.slots.size();
  const bool drawn_out = microbatches == enough_microbatches(static_cast<int>(ranks));
  if (drawn_out && last.orders != nullptr && last.block.slots == block.slots &&
      last.block.backward == block.backward)
    return last.orders;
  auto orders = std::make_shared<const std::vector<Word>>(block_words(block, microbatches, [&] {
    if (progress && !progress(0)) throw Stopped();
  }));
  if (drawn_out && ranks * orders->front().size() <= kMostOps) last = {block, orders};
  return orders;
}

/// The orders for `made` microbatches, whose period in the middle is to run `more` times more.
struct DrawnOut {
  Orders orders;
  std::size_t middle = 0;
  std::size_t period = 0;
  int more = 0;
};

DrawnOut drawn_out(const BuildingBlock& block, int microbatches, const GoesOn& progress) {
  const int made = std::min(microbatches, enough_microbatches(static_cast<int>(block.slots.size())));
  DrawnOut out{.orders = orders_for(block, made, progress)};
  out.middle = out.orders->front().size() / 2;
  out.period = out.orders->front().size() / static_cast<std::size_t>(made);
  const bool repeats = std::all_of(out.orders->begin(), out.orders->end(), [&](const Word& order) {
    return repeats_around(order, out.middle, out.period);
  });
  if (repeats) {
    out.more = microbatches - made;
  } else if (made < microbatches) {
    out.orders = orders_for(block, microbatches, progress);
  }
  return out;
}

}  // namespace

Schedule emit_block(const BuildingBlock& block, int microbatches,
                    const std::function<bool(double)>& progress) {
  const int p = static_cast<int>(block.slots.size());
  const auto [orders, middle, period, more] = drawn_out(block, microbatches, progress);
  ScheduleBuilder out(Placement::wave(p, 2), microbatches);
  out.reserve(op_count(p, microbatches, static_cast<int>(period)));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    const Word& order = (*orders)[rank.at()];
    OpWriter write(out.begin_rank(rank), rank, block.backward);
    for (std::size_t i = 0; i < middle; ++i) write.add(order[i]);
    for (int k = 0; k < more; ++k)
      for (std::size_t i = middle; i < middle + period; ++i) write.add(order[i]);
    for (std::size_t i = middle; i < order.size(); ++i) write.add(order[i]);
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
