#pragma once

// What PyTorch would say of a schedule file when it loads it, and what its runtime would trip over later.
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

namespace pipeloom::torch {

/// The two forms of PyTorch's schedule files.
enum class Form : std::uint8_t { ComputeOnly, ComputeComms };

/// The run that would load the file.
struct LoadingRun {
  Form form = Form::ComputeOnly;
  int ranks = 0;
  int stages = 0;
  int microbatches = 0;
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

/// The checks of PyTorch's loader, in its order; the first that fails is the verdict. For ComputeOnly what follows is the lowering,
/// whose SEND/RECV pass refuses an order in which no rank can go on. Blank cells count as steps. O(actions).
[[nodiscard]] Verdict verdict_of(const ActionLists& lists, const LoadingRun& run);

/// Why PyTorch's class of this name ("1F1B", "ZBVZeroBubble", ...) refuses a run with a ValueError, although the order may exist; "" if it
/// does not, or if there is no such class. A schedule from a file knows none of these rules.
[[nodiscard]] std::string class_refusal(std::string_view name, int ranks, int chunks, int microbatches);

/// Something the runtime would assert on, or that a lowered program should not have.
struct Lint {
  /// "receive-twice", "compute-before-receive", "send-before-compute", "unshard-resident", "reshard-absent", "reshard-unused", "compute-sharded",
  /// "unshard-unused", "no-such-stage".
  std::string code;
  Rank rank;
  std::size_t step = 0;  ///< cell of the row, blanks counted
  std::string message;
};

/// The run-time assertions that the rows of a lowered program show beforehand, in row order, at most a thousand:
/// a receive posted twice before its use; a computation before its receive (unless the neighbour stage is on the same rank); UNSHARD of
/// a resident stage; RESHARD of one that is not, or whose gather nothing has waited for; a computation on a stage that is not resident (only
/// where the rank has any UNSHARD); an UNSHARD that nothing uses.
[[nodiscard]] std::vector<Lint> runtime_lints(const ActionLists& lists,
                                              const std::vector<Rank>& rank_of_stage);

/// Dry run of the rows of a lowered program, for which PyTorch itself has no check. REQUIRES: verdict_of() is ok. Nothing if a
/// message names a stage or microbatch that has no computation.
[[nodiscard]] std::optional<DryRun> dry_run_of(const ActionLists& lists, const Verdict& verdict);

}  // namespace pipeloom::torch
