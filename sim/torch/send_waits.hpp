#pragma once

// The waits of PyTorch 2.15: one for every send and one for every reduction of gradients.

#include <cstddef>
#include <optional>
#include <string>

#include "sim/actions.hpp"
#include "sim/torch/homes.hpp"

namespace pipeloom::torch {

/// SEND_F of WAIT_SEND_F, SEND_B of WAIT_SEND_B. REQUIRES: is_send_wait(wait).
[[nodiscard]] ActionKind send_of(ActionKind wait);
/// The other way round. REQUIRES: is_send(send).
[[nodiscard]] ActionKind wait_of(ActionKind send);

/// A wait for every send: WAIT_SEND_F behind the cell with the B or I of its stage and microbatch, which proves that the output was
/// taken; all others at the end of the row, in the order of their sends. REQUIRES: fits(lists, homes); no send stands twice.
[[nodiscard]] ActionLists add_send_waits(const ActionLists& lists, const Homes& homes);

struct WaitProblem {
  Rank rank;
  std::size_t step = 0;  ///< cell of the row, blanks counted
  std::string message;   ///< one line, without the place
};

/// The first thing about waits for which PyTorch 2.15 refuses a lowered file with a ValueError: on any rank a reduction that begins
/// while another one is under way, a wait without a reduction, a reduction without a wait; then a send that stands twice, a
/// wait without a send before it, a send without a wait.
[[nodiscard]] std::optional<WaitProblem> wait_problem(const ActionLists& lists);

}  // namespace pipeloom::torch
