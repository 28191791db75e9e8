#include "sim/orders/blocks/block_words.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/table_size.hpp"

namespace pipeloom::orders {
namespace {

/// The passes of a block, in the order in which a microbatch meets them. Capital letters of the pictures are
/// chunk 0, small ones chunk 1.
enum class BlockPass : std::uint8_t {
  Forward0,  ///< F of chunk 0, goes up the ranks
  Forward1,  ///< f of chunk 1, comes back down
  Input1,    ///< i of chunk 1, goes up
  Input0,    ///< I of chunk 0, comes back down
  Weight1,   ///< w of chunk 1; before the chunks are told apart, every weight pass
  Weight0,   ///< W of chunk 0
};

/// One pass in one slot of a rank's time.
struct Placed {
  int slot;
  int microbatch;
  BlockPass pass;
};
/// A rank's passes by rising slot.
using Line = std::vector<Placed>;

/// Where weight passes are: in the lines, or run unseen in the first idle slots, or with their input pass, which
/// then takes two slots.
enum class Weights { InLine, Unseen, Fused };

/// F f i I, and two rows for the 2 m weight passes of both chunks.
constexpr int kRowsPerRank = 6;

/// The slots of all passes, and what each must come after.
class SlotTable {
 public:
  SlotTable(int ranks, int microbatches)
      : ranks_(ranks),
        microbatches_(microbatches),
        slots_(table_size(ranks, kRowsPerRank, microbatches), -1) {}

  void set(int rank, const Placed& placed) {
    slots_[index(rank, placed.pass, placed.microbatch)] = placed.slot;
  }
  /// Latest slot of what the pass waits for: the same pass one rank before in its direction, the pass before
  /// it in the block on this rank, and the microbatch before it; -1 if it waits for nothing. A weight pass
  /// waits for the one before it only.
  [[nodiscard]] int latest_needed(int rank, BlockPass pass, int microbatch) const;

 private:
  [[nodiscard]] std::size_t index(int rank, BlockPass pass, int microbatch) const;

  int ranks_;
  int microbatches_;
  std::vector<int> slots_;
};

std::vector<Line> stamped(const BuildingBlock& block, int microbatches) {
  std::vector<Line> lines;
  for (const auto& slots : block.slots) {
    Line& line = lines.emplace_back();
    for (std::size_t pass = 0; pass < slots.size(); ++pass)
      for (int k = 0; k < microbatches; ++k)
        line.push_back({slots[pass] + kBlockPeriod * k, k, static_cast<BlockPass>(pass)});
    std::sort(line.begin(), line.end(), [](const Placed& a, const Placed& b) { return a.slot < b.slot; });
  }
  return lines;
}

/// Whose weight passes wait.
struct Waiting {
  bool by_chunk;                  ///< else all count as chunk 1's, first in first out
  std::array<int, 2> count = {};  ///< of chunk 1, of chunk 0
  std::array<int, 2> done = {};

  void add(BlockPass input) { ++count[static_cast<std::size_t>(by_chunk && input == BlockPass::Input0)]; }
  [[nodiscard]] bool any() const { return count[0] + count[1] > 0; }
  /// The next weight pass, chunk 1's first. REQUIRES: any().
  Placed take(int slot) {
    const std::size_t chunk = count[0] > 0 ? 0 : 1;
    --count[chunk];
    return {slot, done[chunk]++, chunk == 0 ? BlockPass::Weight1 : BlockPass::Weight0};
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
    if (placed.pass == BlockPass::Input0 || placed.pass == BlockPass::Input1) waiting.add(placed.pass);
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
    line.erase(std::remove_if(line.begin(), line.end(),
                              [](const Placed& p) { return p.pass == BlockPass::Weight1; }),
               line.end());
  return lines;
}

bool is_forward(BlockPass pass) {
  return pass == BlockPass::Forward0 || pass == BlockPass::Forward1;
}
bool is_input(BlockPass pass) {
  return pass == BlockPass::Input0 || pass == BlockPass::Input1;
}

/// Slots that the pass takes.
int width(BlockPass pass, Weights weights) {
  return weights == Weights::Fused && is_input(pass) ? 2 : 1;
}

/// A placed pass and what its rank holds right after it.
struct Held {
  Placed placed;
  int end;      ///< the slot after it
  int live;     ///< forwards whose weight pass has not run
  int backlog;  ///< unseen weight passes that wait for an idle slot
};

/// The bytes that a rank holds after its next pass. Idle slots in between run the backlog.
Held after(const Held& before, const Placed& next, Weights weights) {
  const int run = std::min(next.slot - before.end, before.backlog);
  Held held = {next, next.slot + width(next.pass, weights), before.live - run, before.backlog - run};
  if (is_forward(next.pass)) ++held.live;
  if (next.pass == BlockPass::Weight1 || width(next.pass, weights) == 2) --held.live;
  if (weights == Weights::Unseen && is_input(next.pass)) ++held.backlog;
  return held;
}

constexpr Held kNothingHeld = {
    .placed = {.slot = -1, .microbatch = -1, .pass = BlockPass::Forward0}, .end = 0, .live = 0, .backlog = 0};

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

  /// True if the pass may move. Call it in time order.
  bool moves(int rank, const Placed& placed) {
    if (weights_ == Weights::Fused) return true;
    if (phase_ == Phase::WarmUp && rank == 0 && placed.pass == BlockPass::Input0) phase_ = Phase::Middle;
    if (phase_ != Phase::Middle) return phase_ == Phase::CoolDown || weights_ == Weights::InLine;
    if (placed.pass == BlockPass::Forward0 && placed.microbatch == last_) phase_ = Phase::CoolDown;
    return false;
  }

 private:
  enum class Phase { WarmUp, Middle, CoolDown };
  Phase phase_ = Phase::WarmUp;
  int last_;
  Weights weights_;
};

std::size_t SlotTable::index(int rank, BlockPass pass, int microbatch) const {
  const auto row = static_cast<std::size_t>(rank) * kRowsPerRank + static_cast<std::size_t>(pass);
  return row * static_cast<std::size_t>(microbatches_) + static_cast<std::size_t>(microbatch);
}

int SlotTable::latest_needed(int rank, BlockPass pass, int microbatch) const {
  int latest = microbatch > 0 ? slots_[index(rank, pass, microbatch - 1)] : -1;
  if (pass == BlockPass::Weight1) return latest;
  const bool goes_up = pass == BlockPass::Forward0 || pass == BlockPass::Input1;
  const int from = goes_up ? rank - 1 : rank + 1;
  if (from >= 0 && from < ranks_) latest = std::max(latest, slots_[index(from, pass, microbatch)]);
  if (pass != BlockPass::Forward0) {
    const auto before = static_cast<BlockPass>(static_cast<int>(pass) - 1);
    latest = std::max(latest, slots_[index(rank, before, microbatch)]);
  }
  return latest;
}

/// (rank, index in its line) of every pass by slot, then rank.
struct LinePosition {
  int rank;
  int index;
};
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

/// Every pass as early as its rank's order and what it waits for let it.
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

/// Passes move, in time order, to the earliest idle slot after what they wait for with which no rank holds
/// more live passes than the most that any rank held before. A pass is live from its F to its weight pass.
///
/// Warm-up: before rank 0's first I; it stays with Weights::Unseen. Cool-down: after the last F of rank 0 (or
/// of the first rank whose last F comes after the warm-up). What lies between stays, except with
/// Weights::Fused, where all may move.
std::vector<Line> moved_earlier(const std::vector<Line>& lines, int microbatches, Weights weights) {
  SlotTable table(static_cast<int>(lines.size()), microbatches);
  std::vector<RankSlots> ranks(lines.size(), RankSlots(weights, most_live(lines, weights)));
  Phases phases(microbatches, weights);
  for (const auto& [rank, index] : in_time_order(lines)) {
    RankSlots& slots = ranks[static_cast<std::size_t>(rank)];
    Placed placed = lines[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    if (phases.moves(rank, placed)) {
      int latest = table.latest_needed(rank, placed.pass, placed.microbatch);
      if (placed.pass == BlockPass::Weight1) latest = std::max(latest, slots.input_slot(placed.microbatch));
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

std::vector<Line> split_lines(std::vector<Line> lines, int m, const std::function<void()>& pause) {
  lines = moved_earlier(all_with_weights(std::move(lines), false), m, Weights::InLine);
  pause();
  lines = squeezed(lines, m);
  pause();
  lines = moved_earlier(without_weights(std::move(lines)), m, Weights::Unseen);
  pause();
  lines = squeezed(all_with_weights(std::move(lines), false), m);
  return all_with_weights(without_weights(std::move(lines)), true);
}

/// [pass]
constexpr std::array<Letter, 6> kLetters = {letter(0, kForward), letter(1, kForward), letter(1, kInput),
                                            letter(0, kInput),   letter(1, kWeight),  letter(0, kWeight)};

}  // namespace

std::vector<std::vector<Letter>> block_words(const BuildingBlock& block, int microbatches,
                                             const std::function<void()>& pause) {
  auto lines = stamped(block, microbatches);
  lines = block.backward == BlockBackward::Split ? split_lines(std::move(lines), microbatches, pause)
                                                 : moved_earlier(lines, microbatches, Weights::Fused);
  std::vector<std::vector<Letter>> words;
  for (const Line& line : lines) {
    auto& word = words.emplace_back();
    for (const Placed& placed : line) word.push_back(kLetters[static_cast<std::size_t>(placed.pass)]);
  }
  return words;
}

}  // namespace pipeloom::orders
