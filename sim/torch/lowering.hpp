#pragma once

// From computations to everything that PyTorch's pipelining runtime issues (torch.distributed.pipelining, schedules.py).
//
// PyTorch lowers a schedule in passes; each is a function here. The order of a lowered row is the order in which the host issues, so
// it decides what waits for what: a receive stands where its *sender* ran, not where its consumer needs it, unless receives are
// deferred.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/actions.hpp"
#include "sim/error.hpp"
#include "sim/torch/homes.hpp"

namespace pipeloom::torch {

/// The release whose lowering is wanted.
enum class Target : std::uint8_t {
  Legacy,  ///< mid-2025: no REDUCE_GRAD, parameters left gathered at the end of a row
  V210,    ///< REDUCE_GRAD, RESHARD at the end
  V213,    ///< and receives may be deferred
  V214,    ///< lowers as V213
  V215,    ///< and WAIT_SEND_F, WAIT_SEND_B, WAIT_REDUCE_GRAD; the number of resident stages is an argument
};

/// The names of the targets as options spell them, in the order of the enumerators.
inline constexpr std::array<std::string_view, 5> kTargetNames = {"legacy", "2.10", "2.13", "2.14", "2.15"};
inline constexpr std::array<Target, 5> kAllTargets = {Target::Legacy, Target::V210, Target::V213,
                                                      Target::V214, Target::V215};
[[nodiscard]] std::string_view name_of(Target target);
/// "2.15" or "torch-2.15". Throws InputError at `where` that lists the names.
[[nodiscard]] Target find_target(std::string_view name, const Where& where = {});

/// n, PyTorch's default for the stages whose parameters are gathered at a time.
inline constexpr int kMaxActiveStages = 3;

struct LowerOptions {
  Target target = Target::V215;
  int max_active_stages = kMaxActiveStages;  ///< other values need V215
  bool defer_receives = false;               ///< needs V213 or later
  bool merge = false;                        ///< merge_backwards() first; no release does so by itself

  friend bool operator==(const LowerOptions&, const LowerOptions&) = default;
};

/// How many distinct stages the parts of a cell are of.
[[nodiscard]] int stages_of(std::span<const Action> cell);

/// Why no release named by `options.target` can be asked for this; "" if it can.
[[nodiscard]] std::string refusal(const LowerOptions& options);

/// All passes of a release, blanks dropped. Throws InputError with refusal()'s text, or if V215 could not keep all stages of a group
/// resident, and ScheduleError if the order hangs. O(ops).
///
/// V215: add_residency() with the waits for reductions, add_transfers(), add_send_waits(), and defer_receives() if asked for.
[[nodiscard]] ActionLists lower(const Schedule& schedule, const LowerOptions& options = {});

/// I directly followed by W of the same stage and microbatch becomes B; blanks are dropped.
[[nodiscard]] ActionLists merge_backwards(const ActionLists& lists);

/// UNSHARD and RESHARD: before each cell the next `max_active_stages` distinct stages of the row are resident (a group's
/// stages count together, so it may be more), the others are freed, in rising order. Blanks are dropped. With `reshard_at_end`
/// what is left is freed after the last cell.
/// With `reduce_grad` each stage's REDUCE_GRAD stands behind the cell with its last B or W, with `wait_reduce_grad` its
/// WAIT_REDUCE_GRAD behind that.
struct ResidencyOptions {
  int max_active_stages = kMaxActiveStages;
  bool reshard_at_end = true;
  bool reduce_grad = true;
  bool wait_reduce_grad = false;
};
[[nodiscard]] ActionLists add_residency(const ActionLists& lists, const Homes& homes,
                                        const ResidencyOptions& options = {});

/// SEND and RECV: rounds in which each rank, in rising order, may take the next cell of its row if its inputs are there; the
/// message goes right behind the cell that makes it, and its receive to the end of the peer's row as it is at that moment.
/// Blanks and everything that is no computation cost a round; blanks are dropped from the result.
struct Transfers {
  ActionLists lists;
  /// Set if no rank can go on ("malformed" in PyTorch's words); `lists` is empty then.
  std::optional<Stuck> stuck;
};
[[nodiscard]] Transfers add_transfers(const ActionLists& lists, const Homes& homes);

/// Receives moved to where they are needed: before the computation that consumes them, or before an earlier SEND to the rank
/// they come from if that rank is the higher one (the lower rank of a pair posts its receive first, so that they cannot
/// deadlock). Throws ScheduleError if a receive has no consumer.
[[nodiscard]] ActionLists defer_receives(ActionLists lists, const Homes& homes);

/// "rank 0 stands at 0B0, rank 1 at 1F1": the ranks of `stuck` that are not done, at most four of them.
[[nodiscard]] std::string describe(const Stuck& stuck, const ActionLists& lists);

}  // namespace pipeloom::torch
