#pragma once

// Why a schedule hangs, for people: the last steps before it does, and the shortest change that lets it run.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/engine/wait_for.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom {

/// The entries that ran before the schedule hung, each one step long: rows are steps, columns ranks. Copies are left out.
struct HangGrid {
  /// The ranks shown: all, or those of the cycle (then the other blocked ones) if there are more than the limit.
  std::vector<Rank> ranks;
  /// Number of the first row; the rows before it are left out.
  std::size_t first_step = 0;
  /// [row][column]: the entry that starts in this step, "" where the rank waits. The last row is the step in which nothing can
  /// start: the entry that each rank waits at, "" for one that is done.
  std::vector<std::vector<std::string>> cells;
};

/// REQUIRES: `hang` is find_hang(schedule). O(ops).
[[nodiscard]] HangGrid hang_grid(const Schedule& schedule, const ScheduleHang& hang, std::size_t steps = 6,
                                 std::size_t ranks = 12);

/// One entry of a rank's queue moved elsewhere in it; positions count entries from 0. The entries between move up by one.
struct Move {
  Rank rank;
  std::size_t from = 0;
  std::size_t to = 0;
  friend bool operator==(const Move&, const Move&) = default;
};

/// The schedule with one entry moved. REQUIRES: both positions exist.
[[nodiscard]] Schedule with_move(const Schedule& schedule, const Move& move);

/// Moves after which the schedule runs, to be done one after another: a single one if any breaks every cycle, of several the
/// one over the fewest entries; else up to three. Returns nullopt if an op is missing, if three moves do not suffice, or if trying would
/// take too long (about `budget` op visits).
///
/// Only moves that can break a cycle are tried: on a rank of the cycle, the entry that another rank waits for goes before the one that the rank
/// waits at, or the latter goes after the former.
[[nodiscard]] std::optional<std::vector<Move>> find_unblocking_moves(const Schedule& schedule,
                                                                     std::size_t budget = 200'000'000);

/// Every single move after which the schedule runs, of those that find_unblocking_moves() tries; the ones over the fewest entries first, at most
/// `most`. Moves that lead to one and the same schedule are one. Tries take about `budget` op visits.
[[nodiscard]] std::vector<Move> find_single_moves(const Schedule& schedule, std::size_t most,
                                                  std::size_t budget = 200'000'000);

/// "on rank 1, move 1F3 from position 7 to 5, in front of 1B1".
[[nodiscard]] std::string describe(const Move& move, const Schedule& schedule);

/// A line for each rank that waits, in reading_order(): "rank 2 stands at 2B0 and waits for 3B0 of rank 3, which".
[[nodiscard]] std::vector<std::string> wait_lines(const ScheduleHang& hang, const Schedule& schedule);

}  // namespace pipeloom
