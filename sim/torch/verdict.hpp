#pragma once

// PyTorch's verdict on a schedule file when it loads it, and the faults that its runtime meets later.
//
// PyTorch checks less than validate() does: duplicates, microbatch numbers that do not exist, and any message that never
// meets its partner pass. So a file may be fine for PyTorch and illegal for us; knowing both tells where the error shows.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/actions.hpp"
#include "sim/torch/dry_run.hpp"
#include "sim/torch/lowering.hpp"

namespace pipeloom::torch {

/// The two forms of PyTorch's schedule files.
enum class Form : std::uint8_t { ComputeOnly, ComputeComms };

/// The run that would load the file.
struct LoadingRun {
  Form form = Form::ComputeOnly;
  int ranks = 0;
  int stages = 0;
  int microbatches = 0;
  Target target = Target::V215;  ///< the release
};
/// The run that the rows themselves suggest: rows with an action, highest stage and count of distinct microbatches.
[[nodiscard]] LoadingRun loading_run(const ActionLists& lists, Form form);

struct Verdict {
  /// "" if PyTorch loads the file; "parse", "validate" or "lower" if it refuses it there.
  std::string phase;
  /// The Python exception: "AssertionError", "KeyError", "ValueError", "IndexError", "RuntimeError".
  std::string exception;
  /// Why, in our words, one line.
  std::string message;
  /// Where, if it is about one cell: PyTorch prints its step grid with this step marked.
  struct Place {
    Rank rank;
    std::size_t step = 0;  ///< cell of the row, blanks counted
  };
  std::optional<Place> place;
  /// [stage]: the rank that the file puts it on. Only if PyTorch loads the file.
  std::vector<Rank> rank_of_stage;

  [[nodiscard]] bool ok() const { return phase.empty(); }
};

/// The checks of a release's loader, in its order; the first that fails is the verdict. For ComputeOnly what follows is the lowering,
/// whose SEND/RECV pass refuses an order in which no rank can go on; 2.15 also refuses to send an output twice. For ComputeComms
/// 2.15 goes on with wait_problem(). The parser of a release before 2.15 takes WAIT_SEND_F for a W, as whatever follows is ignored,
/// and Legacy has no REDUCE_GRAD. Blank cells count as steps. O(actions).
[[nodiscard]] Verdict verdict_of(const ActionLists& lists, const LoadingRun& run);

/// Why PyTorch's class of this name ("1F1B", "ZBVZeroBubble", ...) refuses a run with a ValueError, although the order may exist; "" if it
/// does not, or if there is no such class. A schedule from a file knows none of these rules.
[[nodiscard]] std::string class_refusal(std::string_view name, int ranks, int chunks, int microbatches);

/// Something the runtime would assert on, or that a lowered program should not have.
struct Lint {
  /// "receive-twice", "receive-unused", "compute-before-receive", "send-before-compute", "send-twice", "no-peer", "mispaired",
  /// "forward-order", "unshard-resident", "reshard-absent", "reshard-unused", "compute-sharded", "unshard-unused", "reduce-missing",
  /// "reduce-twice", "reduce-early", "reduce-unused", "no-such-stage".
  std::string code;
  Rank rank;
  std::size_t step = 0;  ///< cell of the row, blanks counted
  std::string message;

  /// True if it matters only where parameters are sharded (FSDP).
  [[nodiscard]] bool only_sharded() const;
};

/// The run-time assertions that the rows of a lowered program show beforehand, in row order, at most a thousand:
/// a receive posted twice before its use, or that nothing uses; a computation before its receive (unless the neighbour stage is on
/// the same rank); a send before its computation, or twice; a message where the pipeline ends or between stages of one rank; UNSHARD of
/// a resident stage; RESHARD of one that is not, or whose gather nothing has waited for; a computation on a stage that is not resident (only
/// where any rank has an UNSHARD; the first of those that follow each other); an UNSHARD that nothing uses.
[[nodiscard]] std::vector<Lint> runtime_lints(const ActionLists& lists,
                                              const std::vector<Rank>& rank_of_stage);

/// From 2.10 on REDUCE_GRAD also scales the gradients, so a stage has it once, after its last B or W; else they come out wrong, without
/// an error. One before the first B or W scales nothing and matters with FSDP only. In row order.
[[nodiscard]] std::vector<Lint> reduction_lints(const ActionLists& lists,
                                                const std::vector<Rank>& rank_of_stage);

/// Losses are looked up by their position, so the last stage runs its forwards in microbatch order; else the gradients are wrong, or
/// a loss is not there yet. The first forward that is out of order, of either form.
[[nodiscard]] std::optional<Lint> forward_order_lint(const ActionLists& lists,
                                                     const std::vector<Rank>& rank_of_stage);

/// Every pair of ranks between which a message is received as another one, "mispaired". REQUIRES: as dry_run_of(); none where
/// that gives nothing.
[[nodiscard]] std::vector<Lint> swap_lints(const ActionLists& lists, const Verdict& verdict);

/// Dry run of the rows of a lowered program, for which PyTorch itself has no check. REQUIRES: verdict_of() is ok. Returns nullopt if a
/// message names a stage or microbatch that has no computation, or has no other rank at its end.
[[nodiscard]] std::optional<DryRun> dry_run_of(const ActionLists& lists, const Verdict& verdict,
                                               Receives receives = Receives::InOrder);

}  // namespace pipeloom::torch
