#include "schedules/building_block.hpp"

#include <algorithm>
#include <memory>
#include <utility>

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

using RankPasses = std::vector<Pass>;

/// Whether [begin, begin + period) has each pass once, and the same stands before and after it.
bool repeats_around(const RankPasses& order, std::size_t begin, std::size_t period) {
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

using Orders = std::shared_ptr<const std::vector<RankPasses>>;

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
  auto orders = std::make_shared<const std::vector<RankPasses>>(block_orders(block, microbatches));
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
  const bool repeats = std::all_of(out.orders->begin(), out.orders->end(), [&](const RankPasses& order) {
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

std::vector<RankPasses> block_orders(const BuildingBlock& block, int microbatches) {
  auto lines = stamped(block, microbatches);
  lines = block.backward == BlockBackward::Split ? split_lines(std::move(lines), microbatches)
                                                 : moved_earlier(lines, microbatches, Weights::Fused);
  std::vector<RankPasses> orders;
  for (const Line& line : lines) {
    RankPasses& order = orders.emplace_back();
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
    const RankPasses& order = (*orders)[rank.at()];
    PassWriter write(out.begin_rank(rank), rank, block.backward);
    for (std::size_t i = 0; i < middle; ++i) write.add(order[i]);
    for (int k = 0; k < more; ++k)
      for (std::size_t i = middle; i < middle + period; ++i) write.add(order[i]);
    for (std::size_t i = middle; i < order.size(); ++i) write.add(order[i]);
  }
  return std::move(out).build();
}

namespace {

/// F f i I, and two rows for the 2 m weight passes of both chunks.
constexpr int kRowsPerRank = 6;

bool is_forward(Pass pass) {
  return pass == Pass::Forward0 || pass == Pass::Forward1;
}
bool is_input(Pass pass) {
  return pass == Pass::Input0 || pass == Pass::Input1;
}

/// Slots that the pass takes.
int width(Pass pass, Weights weights) {
  return weights == Weights::Fused && is_input(pass) ? 2 : 1;
}

/// A placed pass and what its rank holds right after it.
struct Held {
  Placed placed;
  int end;      ///< the slot behind it
  int live;     ///< forwards whose weight pass has not run
  int backlog;  ///< unseen weight passes that wait for an idle slot
};

/// What a rank holds after its next pass. Idle slots in between run the backlog.
Held after(const Held& before, const Placed& next, Weights weights) {
  const int run = std::min(next.slot - before.end, before.backlog);
  Held held = {next, next.slot + width(next.pass, weights), before.live - run, before.backlog - run};
  if (is_forward(next.pass)) ++held.live;
  if (next.pass == Pass::Weight1 || width(next.pass, weights) == 2) --held.live;
  if (weights == Weights::Unseen && is_input(next.pass)) ++held.backlog;
  return held;
}

constexpr Held kNothingHeld = {
    .placed = {.slot = -1, .microbatch = -1, .pass = Pass::Forward0}, .end = 0, .live = 0, .backlog = 0};

int most_live(const std::vector<Line>& lines, Weights weights) {
  int most = 0;
  for (const Line& line : lines) {
    Held held = kNothingHeld;
    for (const Placed& placed : line) {
      held = after(held, placed, weights);
      most = std::max(most, held.live);
    }
  }
  return most;
}

/// The passes of one rank that have their final slot.
class RankSlots {
 public:
  RankSlots(Weights weights, int most_live) : weights_(weights), most_live_(most_live), held_{kNothingHeld} {}

  void keep(const Placed& placed) {
    held_.push_back(after(held_.back(), placed, weights_));
    if (is_input(placed.pass)) input_slots_.push_back(placed.slot);
  }
  /// Puts the pass into the first idle slot from `earliest` on that most_live allows, or keeps its own;
  /// returns the slot. REQUIRES: every pass placed so far has a slot before placed.slot.
  int move(Placed placed, int earliest);
  /// The slot of the k-th I or i.
  [[nodiscard]] int input_slot(int k) const { return input_slots_[static_cast<std::size_t>(k)]; }
  [[nodiscard]] Line line() const;

 private:
  [[nodiscard]] std::size_t first_gap(const Placed& placed, int earliest) const;
  [[nodiscard]] int slot_in_gap(const Placed& placed, std::size_t gap, int earliest) const;
  [[nodiscard]] bool fits(const Placed& placed, std::size_t gap) const;
  void insert(const Placed& placed, std::size_t gap);

  Weights weights_;
  int most_live_;
  std::vector<Held> held_;  // the first is kNothingHeld; gap i is the idle slots after held_[i]
  std::vector<int> input_slots_;
};

/// The first gap that may take the pass: with a slot from `earliest` on, and for a forward none before a pass
/// after which the rank holds all it may.
std::size_t RankSlots::first_gap(const Placed& placed, int earliest) const {
  std::size_t gap = held_.size() - 1;
  while (gap > 0 && held_[gap].end > earliest && !(is_forward(placed.pass) && held_[gap].live >= most_live_))
    --gap;
  return gap;
}

/// The first slot of the gap that the pass may take, or placed.slot. A forward leaves room for weight passes
/// that make it fit.
int RankSlots::slot_in_gap(const Placed& placed, std::size_t gap, int earliest) const {
  const Held& before = held_[gap];
  const int end = gap + 1 < held_.size() ? held_[gap + 1].placed.slot : placed.slot;
  int slot = std::max(earliest, before.end);
  const int too_many = is_forward(placed.pass) ? before.live + 1 - most_live_ : 0;
  if (too_many > before.backlog) return placed.slot;
  slot = std::max(slot, before.end + too_many);
  return slot + width(placed.pass, weights_) <= end ? slot : placed.slot;
}

bool RankSlots::fits(const Placed& placed, std::size_t gap) const {
  Held held = after(held_[gap], placed, weights_);
  for (std::size_t i = gap + 1; i < held_.size() && held.live <= most_live_; ++i)
    held = after(held, held_[i].placed, weights_);
  return held.live <= most_live_;
}

void RankSlots::insert(const Placed& placed, std::size_t gap) {
  held_.insert(held_.begin() + static_cast<std::ptrdiff_t>(gap) + 1, after(held_[gap], placed, weights_));
  for (std::size_t i = gap + 2; i < held_.size(); ++i)
    held_[i] = after(held_[i - 1], held_[i].placed, weights_);
  if (is_input(placed.pass))
    input_slots_.insert(std::upper_bound(input_slots_.begin(), input_slots_.end(), placed.slot), placed.slot);
}

int RankSlots::move(Placed placed, int earliest) {
  const int own = placed.slot;
  for (std::size_t gap = first_gap(placed, earliest); gap < held_.size(); ++gap) {
    Placed moved = placed;
    moved.slot = slot_in_gap(placed, gap, earliest);
    if (moved.slot == own || !fits(moved, gap)) continue;
    insert(moved, gap);
    return moved.slot;
  }
  keep(placed);
  return own;
}

Line RankSlots::line() const {
  Line line;
  line.reserve(held_.size() - 1);
  for (std::size_t i = 1; i < held_.size(); ++i) line.push_back(held_[i].placed);
  return line;
}

/// Warm-up, middle or cool-down, as the sweep in time order meets them.
class Phases {
 public:
  Phases(int microbatches, Weights weights) : last_(microbatches - 1), weights_(weights) {}

  /// Whether the pass may move. To be asked in time order.
  bool moves(int rank, const Placed& placed) {
    if (weights_ == Weights::Fused) return true;
    if (phase_ == Phase::WarmUp && rank == 0 && placed.pass == Pass::Input0) phase_ = Phase::Middle;
    if (phase_ != Phase::Middle) return phase_ == Phase::CoolDown || weights_ == Weights::InLine;
    if (placed.pass == Pass::Forward0 && placed.microbatch == last_) phase_ = Phase::CoolDown;
    return false;
  }

 private:
  enum class Phase { WarmUp, Middle, CoolDown };
  Phase phase_ = Phase::WarmUp;
  int last_;
  Weights weights_;
};

}  // namespace

SlotTable::SlotTable(int ranks, int microbatches)
    : ranks_(ranks),
      microbatches_(microbatches),
      slots_(static_cast<std::size_t>(ranks) * kRowsPerRank * static_cast<std::size_t>(microbatches), -1) {}

std::size_t SlotTable::index(int rank, Pass pass, int microbatch) const {
  const auto row = static_cast<std::size_t>(rank) * kRowsPerRank + static_cast<std::size_t>(pass);
  return row * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch);
}

int SlotTable::latest_needed(int rank, Pass pass, int microbatch) const {
  int latest = microbatch > 0 ? slots_[index(rank, pass, microbatch - 1)] : -1;
  if (pass == Pass::Weight1) return latest;
  const bool goes_up = pass == Pass::Forward0 || pass == Pass::Input1;
  const int from = goes_up ? rank - 1 : rank + 1;
  if (from >= 0 && from < ranks_) latest = std::max(latest, slots_[index(from, pass, microbatch)]);
  if (pass != Pass::Forward0) {
    const auto before = static_cast<Pass>(static_cast<int>(pass) - 1);
    latest = std::max(latest, slots_[index(rank, before, microbatch)]);
  }
  return latest;
}

std::vector<LinePosition> in_time_order(const std::vector<Line>& lines) {
  int last = 0;
  for (const Line& line : lines) last = std::max(last, line.back().slot);
  std::vector<std::size_t> begin(static_cast<std::size_t>(last) + 2, 0);
  for (const Line& line : lines)
    for (const Placed& placed : line) ++begin[static_cast<std::size_t>(placed.slot) + 1];
  for (std::size_t slot = 1; slot < begin.size(); ++slot) begin[slot] += begin[slot - 1];
  std::vector<LinePosition> order(begin.back());
  for (std::size_t rank = 0; rank < lines.size(); ++rank)
    for (std::size_t i = 0; i < lines[rank].size(); ++i)
      order[begin[static_cast<std::size_t>(lines[rank][i].slot)]++] = {static_cast<int>(rank),
                                                                       static_cast<int>(i)};
  return order;
}

std::vector<Line> squeezed(const std::vector<Line>& lines, int microbatches) {
  SlotTable table(static_cast<int>(lines.size()), microbatches);
  std::vector<Line> early(lines.size());
  for (std::size_t rank = 0; rank < lines.size(); ++rank) early[rank].reserve(lines[rank].size());
  for (const auto& [rank, index] : in_time_order(lines)) {
    Line& line = early[static_cast<std::size_t>(rank)];
    Placed placed = lines[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    const int last = line.empty() ? -1 : line.back().slot;
    placed.slot = std::max(last, table.latest_needed(rank, placed.pass, placed.microbatch)) + 1;
    table.set(rank, placed);
    line.push_back(placed);
  }
  return early;
}

std::vector<Line> moved_earlier(const std::vector<Line>& lines, int microbatches, Weights weights) {
  SlotTable table(static_cast<int>(lines.size()), microbatches);
  std::vector<RankSlots> ranks(lines.size(), RankSlots(weights, most_live(lines, weights)));
  Phases phases(microbatches, weights);
  for (const auto& [rank, index] : in_time_order(lines)) {
    RankSlots& slots = ranks[static_cast<std::size_t>(rank)];
    Placed placed = lines[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    if (phases.moves(rank, placed)) {
      int latest = table.latest_needed(rank, placed.pass, placed.microbatch);
      if (placed.pass == Pass::Weight1) latest = std::max(latest, slots.input_slot(placed.microbatch));
      placed.slot = slots.move(placed, latest + 1);
    } else {
      slots.keep(placed);
    }
    Placed end = placed;
    end.slot += width(placed.pass, weights) - 1;
    table.set(rank, end);
  }
  std::vector<Line> moved;
  for (const RankSlots& slots : ranks) moved.push_back(slots.line());
  return moved;
}

}  // namespace pipeloom::schedules
