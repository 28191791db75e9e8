#include "schedules/building_block.hpp"

#include <algorithm>
#include <memory>

#include "schedules/block_moves.hpp"
#include "schedules/queue_builder.hpp"

namespace pipeloom::schedules {
namespace {

constexpr std::size_t kPasses = 6;

std::vector<Line> stamped(const BuildingBlock& block, int microbatches) {
  std::vector<Line> lines;
  for (const auto& slots : block.slots) {
    Line& line = lines.emplace_back();
    for (std::size_t pass = 0; pass < slots.size(); ++pass)
      for (int k = 0; k < microbatches; ++k)
        line.push_back({slots[pass] + kBlockPeriod * k, k, static_cast<Pass>(pass)});
    std::sort(line.begin(), line.end(), [](const Placed& a, const Placed& b) { return a.slot < b.slot; });
  }
  return lines;
}

/// Whose weight passes wait.
struct Waiting {
  bool by_chunk;                  ///< else all count as chunk 1's, first in first out
  std::array<int, 2> count = {};  ///< of chunk 1, of chunk 0
  std::array<int, 2> done = {};

  void add(Pass input) { ++count[static_cast<std::size_t>(by_chunk && input == Pass::Input0)]; }
  [[nodiscard]] bool any() const { return count[0] + count[1] > 0; }
  /// The next weight pass, chunk 1's first. REQUIRES: any().
  Placed take(int slot) {
    const std::size_t chunk = count[0] > 0 ? 0 : 1;
    --count[chunk];
    return {slot, done[chunk]++, chunk == 0 ? Pass::Weight1 : Pass::Weight0};
  }
};

/// The line with a weight pass in each idle slot where one waits, and the rest at the end.
Line with_weights(const Line& line, bool by_chunk) {
  Line filled;
  filled.reserve(line.size() + line.size() / 2);
  Waiting waiting{.by_chunk = by_chunk};
  int next = 0;
  for (const Placed& placed : line) {
    for (; next < placed.slot && waiting.any(); ++next) filled.push_back(waiting.take(next));
    filled.push_back(placed);
    if (placed.pass == Pass::Input0 || placed.pass == Pass::Input1) waiting.add(placed.pass);
    next = placed.slot + 1;
  }
  for (; waiting.any(); ++next) filled.push_back(waiting.take(next));
  return filled;
}

std::vector<Line> all_with_weights(std::vector<Line> lines, bool by_chunk) {
  for (Line& line : lines) line = with_weights(line, by_chunk);
  return lines;
}

std::vector<Line> without_weights(std::vector<Line> lines) {
  for (Line& line : lines)
    line.erase(
        std::remove_if(line.begin(), line.end(), [](const Placed& p) { return p.pass == Pass::Weight1; }),
        line.end());
  return lines;
}

using Passes = std::vector<Pass>;

/// Whether [begin, begin + period) has each pass once, and the same stands before and after it.
bool repeats_around(const Passes& order, std::size_t begin, std::size_t period) {
  if (begin < period || begin + 2 * period > order.size()) return false;
  std::array<int, kPasses> seen = {};
  for (std::size_t i = begin; i < begin + period; ++i) {
    if (order[i] != order[i - period] || order[i] != order[i + period]) return false;
    if (++seen[static_cast<std::size_t>(order[i])] > 1) return false;
  }
  return true;
}

/// Appends passes with the microbatches that are their turn.
class PassWriter {
 public:
  PassWriter(ScheduleBuilder& out, Rank rank, BlockBackward backward) : out_(&out) {
    const Stage down(rank.value());
    const Stage up(2 * out.placement().ranks() - 1 - rank.value());
    const OpKind input = backward == BlockBackward::Split ? OpKind::BackwardInput : OpKind::Backward;
    const Microbatch k(0);
    next_ = {forward(down, k),   forward(up, k),         Op(input, up, k),
             Op(input, down, k), backward_weight(up, k), backward_weight(down, k)};
  }
  void add(Pass pass) {
    Op& op = next_[static_cast<std::size_t>(pass)];
    out_->add(op);
    op = Op(op.kind(), op.stage(), op.microbatch() + 1);
  }

 private:
  ScheduleBuilder* out_;
  std::array<Op, kPasses> next_;
};

/// From so many microbatches on the middle of the order repeats for every block of this family.
int enough_microbatches(int ranks) {
  return 4 * ranks + 8;
}

std::vector<Line> split_lines(std::vector<Line> lines, int m) {
  lines = all_with_weights(std::move(lines), false);
  lines = squeezed(moved_earlier(lines, m, Weights::InLine), m);
  lines = moved_earlier(without_weights(std::move(lines)), m, Weights::Unseen);
  lines = squeezed(all_with_weights(std::move(lines), false), m);
  return all_with_weights(without_weights(std::move(lines)), true);
}

using Orders = std::shared_ptr<const std::vector<Passes>>;

/// block_orders(), and for as many microbatches as are drawn out the ones of the thread's last call again if they are the same and
/// small: a sweep over m asks for them at each m.
Orders orders_for(const BuildingBlock& block, int microbatches) {
  struct Last {
    BuildingBlock block;
    Orders orders;
  };
  constexpr std::size_t kMostPasses = std::size_t{1} << 20;
  thread_local Last last;
  const std::size_t ranks = block.slots.size();
  const bool drawn_out = microbatches == enough_microbatches(static_cast<int>(ranks));
  if (drawn_out && last.orders != nullptr && last.block.slots == block.slots &&
      last.block.backward == block.backward)
    return last.orders;
  auto orders = std::make_shared<const std::vector<Passes>>(block_orders(block, microbatches));
  if (drawn_out && ranks * orders->front().size() <= kMostPasses) last = {block, orders};
  return orders;
}

/// The orders for `made` microbatches, whose period in the middle is to run `more` times more.
struct DrawnOut {
  Orders orders;
  std::size_t middle = 0;
  std::size_t period = 0;
  int more = 0;
};

DrawnOut drawn_out(const BuildingBlock& block, int microbatches) {
  const int made = std::min(microbatches, enough_microbatches(static_cast<int>(block.slots.size())));
  DrawnOut out{.orders = orders_for(block, made)};
  out.middle = out.orders->front().size() / 2;
  out.period = out.orders->front().size() / static_cast<std::size_t>(made);
  const bool repeats = std::all_of(out.orders->begin(), out.orders->end(), [&](const Passes& order) {
    return repeats_around(order, out.middle, out.period);
  });
  if (repeats) {
    out.more = microbatches - made;
  } else if (made < microbatches) {
    out.orders = orders_for(block, microbatches);
  }
  return out;
}

}  // namespace

std::vector<Passes> block_orders(const BuildingBlock& block, int microbatches) {
  auto lines = stamped(block, microbatches);
  lines = block.backward == BlockBackward::Split ? split_lines(std::move(lines), microbatches)
                                                 : moved_earlier(lines, microbatches, Weights::Fused);
  std::vector<Passes> orders;
  for (const Line& line : lines) {
    Passes& order = orders.emplace_back();
    for (const Placed& placed : line) order.push_back(placed.pass);
  }
  return orders;
}

Schedule emit_block(const BuildingBlock& block, int microbatches) {
  const int p = static_cast<int>(block.slots.size());
  const auto [orders, middle, period, more] = drawn_out(block, microbatches);
  ScheduleBuilder out(Placement::wave(p, 2), microbatches);
  out.reserve(op_count(p, microbatches, static_cast<int>(period)));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    const Passes& order = (*orders)[rank.at()];
    PassWriter write(out.begin_rank(rank), rank, block.backward);
    for (std::size_t i = 0; i < middle; ++i) write.add(order[i]);
    for (int k = 0; k < more; ++k)
      for (std::size_t i = middle; i < middle + period; ++i) write.add(order[i]);
    for (std::size_t i = middle; i < order.size(); ++i) write.add(order[i]);
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
