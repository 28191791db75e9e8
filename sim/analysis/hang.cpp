#include "sim/analysis/hang.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/analysis/validate.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom {
namespace {

/// Op ranges of a rank's entries, in queue order.
std::vector<std::pair<std::size_t, std::size_t>> entries_of(const Schedule& schedule, Rank rank) {
  std::vector<std::pair<std::size_t, std::size_t>> entries;
  for_each_written_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                         [&](std::size_t first, std::size_t last) { entries.emplace_back(first, last); });
  return entries;
}

/// The position of the entry that holds op index `op`.
std::size_t position_of(const Schedule& schedule, Rank rank, std::size_t op) {
  const auto entries = entries_of(schedule, rank);
  const auto after = std::partition_point(entries.begin(), entries.end(),
                                          [op](const auto& entry) { return entry.second <= op; });
  return static_cast<std::size_t>(after - entries.begin());
}

/// Every entry takes one tick, whatever overlaps.
Costs one_tick_each(const Schedule& schedule) {
  Overlap overlap;
  overlap.rule = OverlapRule::Saving;
  overlap.saving = kMaxIndex;
  return uniform_costs(schedule.placement(), {.forward = 1,
                                              .backward = 1,
                                              .backward_input = 1,
                                              .backward_weight = 1,
                                              .copy = 1,
                                              .overlap = overlap});
}

constexpr Ticks kNeverRun = -1;

/// Start of every op that runs before the schedule hangs, kNeverRun for the others.
std::vector<Ticks> steps_before_hang(const Schedule& schedule) {
  std::vector<Ticks> start(schedule.num_ops(), kNeverRun);
  std::vector<Ticks> end(start);
  Simulator simulator;
  (void)simulator.evaluate(schedule, one_tick_each(schedule), default_memory(schedule.placement()),
                           std::span<Ticks>(start), std::span<Ticks>(end));
  return start;
}

std::vector<Rank> shown_ranks(const Schedule& schedule, const ScheduleHang& hang, std::size_t limit) {
  std::vector<Rank> ranks;
  if (static_cast<std::size_t>(schedule.ranks()) <= limit) {
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) ranks.push_back(rank);
    return ranks;
  }
  for (const std::size_t i : reading_order(hang))
    if (ranks.size() < limit) ranks.push_back(hang.nodes[i].rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// Looks for moves by trying them.
class MoveSearch {
 public:
  MoveSearch(Schedule schedule, std::size_t budget) : schedule_(std::move(schedule)), budget_(budget) {}

  std::optional<std::vector<Move>> run() {
    constexpr std::size_t kMostMoves = 3;
    std::vector<Move> moves;
    while (moves.size() < kMostMoves) {
      const auto hang = find_hang(schedule_);
      if (!hang) return moves;
      if (hang->cycle.empty()) return std::nullopt;
      const auto best = best_move(*hang);
      if (!best) return std::nullopt;
      moves.push_back(*best);
      schedule_ = with_move(schedule_, *best);
    }
    if (find_hang(schedule_)) return std::nullopt;
    return moves;
  }

  std::vector<Move> singles(std::size_t most) {
    std::vector<Move> moves;
    std::vector<Schedule> found;
    const auto hang = find_hang(schedule_);
    if (!hang || hang->cycle.empty()) return moves;
    for (const Move& move : candidates(*hang)) {
      if (moves.size() == most || !afford_try()) break;
      Schedule changed = with_move(schedule_, move);
      if (!validate_structure(changed).empty() || find_hang(changed)) continue;
      if (std::find(found.begin(), found.end(), changed) != found.end()) continue;
      moves.push_back(move);
      found.push_back(std::move(changed));
    }
    return moves;
  }

 private:
  /// Largest distance that a move goes further than needed, where the shortest one meets another cycle.
  static constexpr std::size_t kMostFurther = 64;

  static std::size_t length_of(const Move& move) {
    return move.from > move.to ? move.from - move.to : move.to - move.from;
  }

  /// On every rank of the cycle: the entry that the rank before it waits for goes up to the cursor or above it, or the cursor's entry
  /// down to that or below. No other single move changes the order of the two, which alone breaks the cycle.
  [[nodiscard]] std::vector<Move> candidates(const ScheduleHang& hang) const {
    std::vector<Move> moves;
    for (const std::size_t i : hang.cycle) {
      const WaitNode<Op>& waiting = hang.nodes[i];
      const auto own = std::find_if(hang.nodes.begin(), hang.nodes.end(),
                                    [&](const WaitNode<Op>& other) { return other.rank == waiting.on; });
      const auto queue = schedule_.queue(waiting.on);
      const auto wanted = std::find(queue.begin(), queue.end(), waiting.needs);
      if (own == hang.nodes.end() || wanted == queue.end()) continue;
      const std::size_t cursor = position_of(schedule_, waiting.on, own->at);
      const std::size_t target =
          position_of(schedule_, waiting.on,
                      schedule_.queue_begin(waiting.on) + static_cast<std::size_t>(wanted - queue.begin()));
      if (target <= cursor) continue;
      const std::size_t last = entries_of(schedule_, waiting.on).size() - 1;
      for (std::size_t up = 0; up <= std::min(cursor, kMostFurther); ++up)
        moves.push_back({waiting.on, target, cursor - up});
      for (std::size_t down = 0; down <= std::min(last - target, kMostFurther); ++down)
        moves.push_back({waiting.on, cursor, target + down});
    }
    std::stable_sort(moves.begin(), moves.end(),
                     [](const Move& a, const Move& b) { return length_of(a) < length_of(b); });
    return moves;
  }

  /// Takes a try off the budget; false where too little is left.
  [[nodiscard]] bool afford_try() {
    const std::size_t cost = 4 * schedule_.num_ops();
    if (budget_ < cost) return false;
    budget_ -= cost;
    return true;
  }

  /// The first move after which everything runs, else the one that lets most entries run; it must help.
  std::optional<Move> best_move(const ScheduleHang& hang) {
    std::optional<Move> best;
    std::size_t most = hang.done;
    for (const Move& move : candidates(hang)) {
      if (!afford_try()) return std::nullopt;
      const Schedule changed = with_move(schedule_, move);
      if (!validate_structure(changed).empty()) continue;
      const auto still = find_hang(changed);
      if (!still) return move;
      if (still->done <= most) continue;
      most = still->done;
      best = move;
    }
    return best;
  }

  Schedule schedule_;
  std::size_t budget_;
};

}  // namespace

HangGrid hang_grid(const Schedule& schedule, const ScheduleHang& hang, std::size_t steps, std::size_t ranks) {
  const std::vector<Ticks> start = steps_before_hang(schedule);
  const Ticks failing = start.empty() ? 0 : *std::max_element(start.begin(), start.end()) + 1;
  HangGrid grid;
  grid.ranks = shown_ranks(schedule, hang, ranks);
  grid.first_step = static_cast<std::size_t>(std::max<Ticks>(0, failing - static_cast<Ticks>(steps)));
  grid.cells.assign(static_cast<std::size_t>(failing) - grid.first_step + 1,
                    std::vector<std::string>(grid.ranks.size()));
  for (std::size_t column = 0; column < grid.ranks.size(); ++column) {
    for (const auto& [first, last] : entries_of(schedule, grid.ranks[column])) {
      if (is_copy(schedule.ops()[first].kind())) continue;
      const bool ran = start[first] != kNeverRun;
      if (ran && start[first] < static_cast<Ticks>(grid.first_step)) continue;
      const std::size_t row =
          ran ? static_cast<std::size_t>(start[first]) - grid.first_step : grid.cells.size() - 1;
      grid.cells[row][column] = entry_text(schedule, first, last);
      if (!ran) break;
    }
  }
  return grid;
}

Schedule with_move(const Schedule& schedule, const Move& move) {
  ScheduleBuilder out = builder_like(schedule);
  out.reserve(schedule.num_ops());
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.begin_rank(rank);
    auto entries = entries_of(schedule, rank);
    if (rank == move.rank) {
      const auto at = [&](std::size_t position) {
        return entries.begin() + static_cast<std::ptrdiff_t>(position);
      };
      if (move.from > move.to)
        std::rotate(at(move.to), at(move.from), at(move.from + 1));
      else
        std::rotate(at(move.from), at(move.from + 1), at(move.to + 1));
    }
    for (const auto& [first, last] : entries) out.add_group(schedule.ops().subspan(first, last - first));
  }
  return std::move(out).build();
}

std::optional<std::vector<Move>> find_unblocking_moves(const Schedule& schedule, std::size_t budget) {
  return MoveSearch(schedule, budget).run();
}

std::vector<Move> find_single_moves(const Schedule& schedule, std::size_t most, std::size_t budget) {
  return MoveSearch(schedule, budget).singles(most);
}

std::string describe(const Move& move, const Schedule& schedule) {
  const auto entries = entries_of(schedule, move.rank);
  const auto text = [&](std::size_t position) {
    return entry_text(schedule, entries[position].first, entries[position].second);
  };
  return fmt::format("on rank {}, move {} from position {} to {}, {} {}", move.rank.value(), text(move.from),
                     move.from, move.to, move.from > move.to ? "in front of" : "behind", text(move.to));
}

std::vector<std::string> wait_lines(const ScheduleHang& hang, const Schedule& schedule) {
  return wait_lines(hang, [&](const WaitNode<Op>& node) {
    const std::string whom = node.missing           ? "which no rank runs"
                             : node.on == node.rank ? "later in its own queue"
                                                    : fmt::format("of rank {}", node.on.value());
    return fmt::format("rank {} stands at {} and waits for {} {}", node.rank.value(),
                       to_text(schedule.ops()[node.at].with_joined(false)), to_text(node.needs), whom);
  });
}

}  // namespace pipeloom
