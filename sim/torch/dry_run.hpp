#pragma once

// PyTorch's dry run of a program with its messages: does it get to its end if every action takes one step?

#include <cstddef>
#include <optional>

#include "sim/actions.hpp"
#include "sim/torch/homes.hpp"

namespace pipeloom::torch {

struct DryRun {
  /// Row r: the action of rank r in each step, a blank where it waited. Rows end with their last action, or, when stuck, with the
  /// blanks of the last step. Empty rows unless the grid is kept.
  ActionLists grid;
  /// Steps until the last rank was done, or until none could go on.
  std::size_t steps = 0;
  /// Set if it came to a step in which no rank could go on: the messages hang.
  std::optional<Stuck> stuck;
};

/// In each step every rank, in rising order, does its next action if it can, and those that could not are asked once more when all
/// others had their turn. Results are visible at once. F of a stage above 0 needs its RECV_F, or F of the stage before on the
/// same rank; B and I likewise from the next stage; a SEND needs its computation, a RECV the SEND of its peer.
/// A WAIT_SEND needs its SEND, and the RECV of its peer. UNSHARD, RESHARD, REDUCE_GRAD, WAIT_REDUCE_GRAD and blanks take no step
/// and are left out (PyTorch itself raises on the first four); all parts of a group must be ready.
/// REQUIRES: fits(lists, homes). O(actions + ranks * steps).
enum class KeepGrid { Yes, No };
/// Which actions a receive blocks until its SEND is done.
enum class Receives {
  InOrder,  ///< its rank, as a communicator that keeps order does (NCCL), and as PyTorch's dry run has it
  Posted,   ///< only the computation that uses it (gloo): that one then also needs the SEND
};
[[nodiscard]] DryRun dry_run(const ActionLists& lists, const Homes& homes, KeepGrid keep = KeepGrid::Yes,
                             Receives receives = Receives::InOrder);

/// True if every computation and message is of a stage and microbatch that `homes` knows, and every message (and wait for one)
/// is between two ranks.
[[nodiscard]] bool fits(const ActionLists& lists, const Homes& homes);

}  // namespace pipeloom::torch
