#pragma once

// The rank that runs a stage of a microbatch, and a number for every (stage, microbatch) pair.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/actions.hpp"
#include "sim/base/table_size.hpp"

namespace pipeloom::torch {

/// Facts about a run that the passes below need in addition to its actions.
class Homes {
 public:
  /// As the schedule's placement has it, replicas included. Keeps a reference to the schedule only while constructing.
  explicit Homes(const Schedule& schedule);
  /// One replica: stage s on rank_of_stage[s], microbatches 0 .. microbatches - 1.
  Homes(std::vector<Rank> rank_of_stage, int microbatches);

  [[nodiscard]] int stages() const { return static_cast<int>(stages_); }
  /// Microbatches, or all their slices.
  [[nodiscard]] int units() const { return static_cast<int>(units_); }
  /// The rank of `stage` for the microbatch of `action`. REQUIRES: stage < stages().
  [[nodiscard]] Rank rank_of(Stage stage, Action action) const {
    const std::size_t replica = replicas_.empty() ? 0 : replicas_[action.microbatch().at()];
    return rank_of_slot_[replica * stages_ + stage.at()];
  }
  /// The stage at the other end of a message; nothing where the pipeline ends. REQUIRES: a SEND, RECV or WAIT_SEND.
  [[nodiscard]] std::optional<Stage> peer_of(Action message) const {
    const bool up = message.kind() == ActionKind::SendForward || message.kind() == ActionKind::RecvBackward ||
                    message.kind() == ActionKind::WaitSendForward;
    if (up ? is_last(message.stage()) : is_first(message.stage())) return std::nullopt;
    return message.stage() + (up ? 1 : -1);
  }
  [[nodiscard]] bool is_first(Stage stage) const { return stage == Stage(0); }
  [[nodiscard]] bool is_last(Stage stage) const { return stage.at() + 1 == stages_; }

  /// A number below pairs() for the action's stage and unit; the neighbour stages' pairs are the numbers next to it.
  [[nodiscard]] std::size_t pair_of(Action action) const {
    return (action.microbatch().at() * slices_ + static_cast<std::size_t>(action.slice())) * stages_ +
           action.stage().at();
  }
  /// True if the action's microbatch and slice are of this run.
  [[nodiscard]] bool has(Action action) const {
    return static_cast<std::size_t>(action.slice()) < slices_ && action.microbatch().at() < units_ / slices_;
  }
  [[nodiscard]] std::size_t pairs() const { return table_size(stages_, units_); }

 private:
  std::size_t stages_ = 0;
  std::size_t slices_ = 1;
  std::size_t units_ = 0;
  std::vector<Rank> rank_of_slot_;
  std::vector<std::uint8_t> replicas_;  // by microbatch; empty if there is one replica
};

/// No rank can go on. heads[r] is the position in row r of the action that waits, the row's size if the row is done.
struct Stuck {
  std::vector<std::size_t> heads;
};

// Rows of actions as a text table, one line per step, as PyTorch lays it out.

struct GridOptions {
  /// The step whose line ends in " <-- ERROR HERE".
  std::optional<std::size_t> error_step = {};
  /// Steps [first, last) are shown; columns are as wide as all steps need.
  std::size_t first = 0;
  std::size_t last = std::numeric_limits<std::size_t>::max();
};

/// A header with the ranks, then "Step 07: " and the ranks' cells of that step: a step is a position in the row, blanks counted,
/// and not a time. Numbers of steps are padded with zeros to the digits of the last, cells with blanks to the longer of the label
/// and the rank's longest cell. Every line ends with a line feed.
[[nodiscard]] std::string grid_text(const ActionLists& lists, const GridOptions& options = {});

}  // namespace pipeloom::torch
