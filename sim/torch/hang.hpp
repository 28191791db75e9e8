#pragma once

// Why the messages of a lowered program never meet, and the smallest change after which they do.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/actions.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/homes.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom::torch {

/// Why a lowered program hangs. A node's `at` is an index into lists.actions(), and it needs an action that must be done first; that is missing
/// if it is not ahead in the row of `on`. `done` counts actions.
using ActionHang = WaitGraph<Action>;

/// REQUIRES: `stuck` is dry_run()'s of these lists. O(actions).
[[nodiscard]] ActionHang explain_hang(const ActionLists& lists, const Homes& homes, const Stuck& stuck);

/// "rank 2 waits in RECV_F of stage 3 microbatch 1 from rank 1, which", a line per rank, in reading_order().
[[nodiscard]] std::vector<std::string> wait_lines(const ActionHang& hang, const ActionLists& lists,
                                                  const Homes& homes);

/// One change of a row. Positions count cells from 0.
struct ListEdit {
  enum class Kind : unsigned char { Insert, Move };
  Kind kind = Kind::Move;
  Rank rank;
  Action action;         ///< the action that is put in, or the first part of the cell that is moved
  std::size_t from = 0;  ///< of a move
  std::size_t to = 0;    ///< its place afterwards
};

/// The lists with the change made.
[[nodiscard]] ActionLists edited(const ActionLists& lists, const ListEdit& edit);

/// Returns the smallest single change after which the dry run reaches its end: a missing message put in (after the action that makes it, or in
/// front of the one that needs it), else a cell moved over the fewest others. Returns nullopt if there is none, or if trying would take more than
/// about `budget` action visits.
[[nodiscard]] std::optional<ListEdit> find_edit(const ActionLists& lists, const Homes& homes,
                                                const Stuck& stuck, std::size_t budget = 200'000'000);

/// "on rank 1, insert 1SEND_F0 at position 2, behind 1F0"; "on rank 0, move 1SEND_F1 from position 7 to 5, in front of 1RECV_B0".
[[nodiscard]] std::string describe(const ListEdit& edit, const ActionLists& lists);

}  // namespace pipeloom::torch
