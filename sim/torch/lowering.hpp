#pragma once

// From computations to everything that PyTorch's pipelining runtime issues (torch.distributed.pipelining, schedules.py).
//
// PyTorch lowers a schedule in passes; each is a function here. The order of a lowered row is the order in which the host issues, so
// it decides what waits for what: a receive is where its *sender* ran, not where its consumer needs it, unless receives are
// deferred.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/actions.hpp"
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

/// Number of distinct stages that a rank gathers ahead, its residency window aside: PyTorch's unshard_lookahead.
struct Lookahead {
  enum class Kind : std::uint8_t {
    Full,  ///< as many as may be resident
    Auto,  ///< rank 0 two, every later rank one more, at most as many as may be resident
    ByRank,
  };
  Kind kind = Kind::Full;
  std::vector<int> by_rank = {};  ///< of ByRank, 1 .. max_active_stages each

  [[nodiscard]] int of(Rank rank, int max_active_stages) const;
  friend bool operator==(const Lookahead&, const Lookahead&) = default;
};

/// All but the first and the last two need V215.
struct LowerOptions {
  Target target = Target::V215;
  int max_active_stages = kMaxActiveStages;
  Lookahead lookahead = {};
  bool defer_reduce_waits = false;  ///< WAIT_REDUCE_GRAD before the rank's next reduction, not after its own
  std::optional<int> max_open_sends = {};  ///< limit_open_sends() last
  bool defer_receives = false;             ///< needs V213 or later
  bool merge = false;                      ///< merge_backwards() first; no release does so by itself

  friend bool operator==(const LowerOptions&, const LowerOptions&) = default;
};

/// Number of distinct stages among the parts of a cell.
[[nodiscard]] int stages_of(std::span<const Action> cell);

/// Why no release named by `options.target` can be asked for this; "" if it can.
[[nodiscard]] std::string refusal(const LowerOptions& options);

/// All passes of a release, blanks dropped. Throws InputError with refusal()'s text, if V215 could not keep all stages of a group
/// resident, if a look-ahead is not one for every rank, or as limit_open_sends(), and ScheduleError if the order hangs. O(ops).
///
/// V215: add_residency() with the waits for reductions, add_transfers(), add_send_waits(), and defer_receives() and
/// limit_open_sends() if asked for.
[[nodiscard]] ActionLists lower(const Schedule& schedule, const LowerOptions& options = {});

/// I directly followed by W of the same stage and microbatch becomes B; blanks are dropped.
[[nodiscard]] ActionLists merge_backwards(const ActionLists& lists);

/// Where the wait for a REDUCE_GRAD goes.
enum class ReduceWait : std::uint8_t {
  None,
  AtOnce,  ///< its WAIT_REDUCE_GRAD
  Late,    ///< its wait comes before the next REDUCE_GRAD of the rank, or ends the row
};

/// UNSHARD and RESHARD: before each cell the next `max_active_stages` distinct stages of the row may stay resident (a group's
/// stages count together, so it may be more) and the others are freed, in rising order or in that of their gathers; then the next
/// `lookahead` distinct stages are gathered. Blanks are dropped. With `reshard_at_end` the rest is freed after the last cell.
/// With `reduce_grad` each stage's REDUCE_GRAD comes after the cell with its last B or W, with its wait as `reduce_wait` says.
struct ResidencyOptions {
  int max_active_stages = kMaxActiveStages;
  Lookahead lookahead = {};
  bool reshard_at_end = true;
  bool reshard_as_gathered = false;
  bool reduce_grad = true;
  ReduceWait reduce_wait = ReduceWait::None;
};
[[nodiscard]] ActionLists add_residency(const ActionLists& lists, const Homes& homes,
                                        const ResidencyOptions& options = {});

/// SEND and RECV: rounds in which each rank, in rising order, may take the next cell of its row if its inputs are there; the
/// message goes right after the cell that makes it, and its receive to the end of the peer's row as it is at that moment.
/// Blanks and everything that is no computation cost a round; blanks are dropped from the result.
struct Transfers {
  ActionLists lists;
  /// Set if no rank can go on ("malformed" in PyTorch's words); `lists` is empty then.
  std::optional<Stuck> stuck;
};
[[nodiscard]] Transfers add_transfers(const ActionLists& lists, const Homes& homes);

/// Receives moved to where they are needed: before the computation that consumes them, or before an earlier SEND to the rank
/// they come from if that rank is the higher one (the lower rank of a pair posts its receive first, so that they cannot
/// hang). Throws ScheduleError if a receive has no consumer.
[[nodiscard]] ActionLists defer_receives(ActionLists lists, const Homes& homes);

/// "rank 0 stands at 0B0, rank 1 at 1F1": the ranks of `stuck` that are not done, at most four of them.
[[nodiscard]] std::string describe(const Stuck& stuck, const ActionLists& lists);

// The waits of PyTorch 2.15: one for every send and one for every reduction of gradients.

/// SEND_F of WAIT_SEND_F, SEND_B of WAIT_SEND_B. REQUIRES: is_send_wait(wait).
[[nodiscard]] ActionKind send_of(ActionKind wait);
/// The other way round. REQUIRES: is_send(send).
[[nodiscard]] ActionKind wait_of(ActionKind send);

/// A wait for every send: WAIT_SEND_F after the cell with the B or I of its stage and microbatch, which proves that the output was
/// taken; all others at the end of the row, in the order of their sends. REQUIRES: fits(lists, homes); no send is there twice.
[[nodiscard]] ActionLists add_send_waits(const ActionLists& lists, const Homes& homes);

struct WaitProblem {
  Rank rank;
  std::size_t step = 0;  ///< cell of the row, blanks counted
  std::string message;   ///< one line, without the place
};

/// The first thing about waits for which PyTorch 2.15 refuses a lowered file with a ValueError: on any rank a reduction that begins
/// while another one is under way, a wait without a reduction, a reduction without a wait; then a send that is there twice, a
/// wait without a send before it, a send without a wait.
[[nodiscard]] std::optional<WaitProblem> wait_problem(const ActionLists& lists);

}  // namespace pipeloom::torch
