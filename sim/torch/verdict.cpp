#include "sim/torch/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include <pipeloom/error.hpp>
#include "sim/base/table_size.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/pairing.hpp"

namespace pipeloom::torch {

namespace {

// The part of verdict_of() before a file of computations is lowered.

constexpr std::int32_t kNoRank = -1;

std::size_t row_cells(std::span<const Action> row) {
  return static_cast<std::size_t>(
      std::count_if(row.begin(), row.end(), [](Action action) { return !action.joined(); }));
}

/// Passes that a stage has run so far, over all rows read.
struct StageSets {
  std::int64_t forwards = 0;
  std::int64_t inputs = 0;
  std::int64_t weights = 0;
  std::int64_t backwards = 0;
};

/// The loader's first checks, cell by cell.
class Loader {
 public:
  Loader(const ActionLists& lists, const LoadingRun& run)
      : lists_(lists),
        run_(run),
        stages_(static_cast<std::size_t>(run.stages)),
        rank_of_stage_(static_cast<std::size_t>(run.stages), Rank(kNoRank)) {
    done_.reserve(lists.num_actions());
  }

  Verdict load() {
    check_rows();
    for (Rank rank{0}; rank < Rank(lists_.ranks()) && verdict_.ok(); ++rank) check_row(rank);
    if (verdict_.ok()) check_counts();
    if (verdict_.ok()) check_form();
    if (verdict_.ok() && run_.target == Target::V215) check_waits();
    if (verdict_.ok()) verdict_.rank_of_stage = rank_of_stage_;
    return std::move(verdict_);
  }

 private:
  void refuse(std::string phase, std::string exception, std::string message) {
    verdict_.phase = std::move(phase);
    verdict_.exception = std::move(exception);
    verdict_.message = std::move(message);
  }

  void refuse_cell(Rank rank, std::size_t step, std::string exception, const std::string& why) {
    refuse("validate", std::move(exception), fmt::format("rank {}, step {}: {}", rank.value(), step, why));
    verdict_.place = Verdict::Place{rank, step};
  }

  /// The failing step is shown in a grid, and making the grid fails where there are fewer steps than ranks.
  void refuse_in_grid(Rank rank, std::size_t step, const std::string& why) {
    std::size_t steps = 0;
    for (Rank r{0}; r < Rank(lists_.ranks()); ++r) steps = std::max(steps, row_cells(lists_.row(r)));
    const bool drawn = steps >= static_cast<std::size_t>(lists_.ranks());
    refuse_cell(rank, step, drawn ? "AssertionError" : "IndexError", why);
  }

  void check_rows() {
    if (lists_.ranks() != run_.ranks)
      refuse("validate", "AssertionError",
             fmt::format("the file has {} rows, but the run has {} ranks; an empty line counts as a row",
                         lists_.ranks(), run_.ranks));
  }

  void check_row(Rank rank) {
    std::size_t step = 0;
    for (const Action action : lists_.row(rank)) {
      if (!action.is_idle() && !check(action, rank, step)) return;
      if (!action.joined()) ++step;
    }
  }

  /// Returns true if the action passes.
  bool check(Action action, Rank rank, std::size_t step) {
    const ActionKind kind = action.kind();
    const bool computes = kind <= ActionKind::BackwardWeight;
    const std::size_t stage = action.stage().at();
    if (computes && stage >= stages_.size()) {
      refuse_cell(
          rank, step, "KeyError",
          fmt::format("{} is of stage {}, but the run has {} stages", to_text(action), stage, run_.stages));
      return false;
    }
    if (computes && !check_order(action, rank, step)) return false;
    if (computes) count(action);
    if (stage >= stages_.size()) return true;
    Rank& home = rank_of_stage_[stage];
    if (home == Rank(kNoRank)) home = rank;
    if (home == rank) return true;
    refuse_cell(rank, step, "AssertionError",
                fmt::format("{}: stage {} is already on rank {}", to_text(action), stage, home.value()));
    return false;
  }

  bool check_order(Action action, Rank rank, std::size_t step) {
    if (action.kind() == ActionKind::Forward) return true;
    const bool weight = action.kind() == ActionKind::BackwardWeight;
    const Action needed = action.as(weight ? ActionKind::BackwardInput : ActionKind::Forward, action.stage());
    if (done_.contains(needed.key())) return true;
    refuse_in_grid(rank, step,
                   fmt::format("{} stands before {} of its stage and microbatch", to_text(action),
                               weight ? "the I" : "the forward"));
    return false;
  }

  void count(Action action) {
    if (!done_.insert(action.key()).second) return;
    StageSets& stage = stages_[action.stage().at()];
    switch (action.kind()) {
      case ActionKind::Forward:
        ++stage.forwards;
        break;
      case ActionKind::BackwardInput:
        ++stage.inputs;
        break;
      case ActionKind::BackwardWeight:
        ++stage.weights;
        break;
      default:
        ++stage.backwards;
    }
  }

  void check_counts() {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const StageSets& stage = stages_[s];
      std::string why;
      if (stage.forwards != run_.microbatches)
        why = fmt::format("{} forwards", stage.forwards);
      else if (stage.inputs != stage.weights)
        why = fmt::format("{} I but {} W", stage.inputs, stage.weights);
      else if (stage.backwards + (stage.inputs + stage.weights) / 2 != run_.microbatches)
        why = fmt::format("{} backwards", stage.backwards + stage.inputs);
      if (why.empty()) continue;
      return refuse("validate", "AssertionError",
                    fmt::format("stage {} has {} for {} microbatches (distinct ones counted)", s, why,
                                run_.microbatches));
    }
  }

  /// Reports actions that a form may not hold.
  void check_form() {
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      std::size_t step = 0;
      for (const Action action : lists_.row(rank)) {
        const bool alone = !action.joined() && (step == 0 || !in_group_);
        in_group_ = action.joined();
        if (run_.form == Form::ComputeComms && action.is_idle())
          return refuse_form(rank, step, "AssertionError", "a blank cell, and compute_comms has none");
        if (run_.form == Form::ComputeOnly && alone && !action.is_idle() &&
            action.kind() > ActionKind::BackwardWeight)
          return refuse_form(
              rank, step, "ValueError",
              fmt::format("{} is no computation, and compute_only has nothing else", to_text(action)));
        if (!action.joined()) ++step;
      }
    }
  }

  /// Checks that the waits of a lowered file, and groups that it lowers itself, meet the rules of 2.15.
  void check_waits() {
    if (run_.form == Form::ComputeOnly) return check_groups();
    const auto problem = wait_problem(lists_);
    if (problem) refuse_form(problem->rank, problem->step, "ValueError", problem->message);
  }

  void check_groups() {
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      const auto row = lists_.row(rank);
      std::size_t step = 0;
      for_each_cell(row, [&](std::size_t first, std::size_t last) {
        const auto cell = row.subspan(first, last - first);
        if (verdict_.ok() && stages_of(cell) > kMaxActiveStages)
          refuse_form(rank, step, "ValueError",
                      fmt::format("{} is of {} stages, more than the {} that are resident at once",
                                  cell_text(cell), stages_of(cell), kMaxActiveStages));
        ++step;
      });
    }
  }

  void refuse_form(Rank rank, std::size_t step, std::string exception, const std::string& why) {
    refuse("lower", std::move(exception), fmt::format("rank {}, step {}: {}", rank.value(), step, why));
    verdict_.place = Verdict::Place{rank, step};
  }

  const ActionLists& lists_;
  const LoadingRun& run_;
  Verdict verdict_;
  std::vector<StageSets> stages_;
  std::vector<Rank> rank_of_stage_;
  std::unordered_set<std::uint64_t> done_;  // keys of the computations seen
  bool in_group_ = false;
};

/// PyTorch's checks of the rows as its parser takes them, up to and with those of their form; 2.15's of waits and groups too. O(actions).
Verdict load(const ActionLists& lists, const LoadingRun& run) {
  return Loader(lists, run).load();
}

/// (stage, microbatch) pairs for which tables are made although there are few actions.
constexpr std::size_t kAlwaysAllowedPairs = std::size_t{1} << 16;

/// The same rows with microbatches numbered from 0 without gaps; a computation without microbatch gets a number of its own.
struct Renumbered {
  ActionLists lists;
  int microbatches = 0;
};

Renumbered renumbered(const ActionLists& lists) {
  std::vector<std::int32_t> number;
  const auto index_of = [](Action action) {
    return action.has_microbatch() ? action.microbatch().at() + 1 : std::size_t{0};
  };
  Renumbered out;
  for (const Action action : lists.actions()) {
    if (action.is_idle() || is_of_stage(action.kind())) continue;
    if (index_of(action) >= number.size()) number.resize(index_of(action) + 1, -1);
    if (number[index_of(action)] < 0) number[index_of(action)] = out.microbatches++;
  }
  std::vector<Action> cell;
  out.lists.reserve(lists.num_actions());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    out.lists.begin_rank();
    const auto row = lists.row(rank);
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      cell.clear();
      for (const Action action : row.subspan(first, last - first))
        cell.push_back(action.is_idle() || is_of_stage(action.kind())
                           ? action
                           : Action(action.kind(), action.stage(), Microbatch(number[index_of(action)])));
      out.lists.add_cell(cell);
    });
  }
  return out;
}

bool has_waits(const ActionLists& lists) {
  return std::any_of(lists.actions().begin(), lists.actions().end(), [](Action action) {
    return is_send_wait(action.kind()) || action.kind() == ActionKind::WaitReduceGrad;
  });
}

bool is_dense(std::size_t stages, int microbatches, std::size_t actions) {
  return count_of_cells(stages, microbatches) <=
         std::max(count_of_cells(kAlwaysAllowedPairs), count_of_cells(8, actions));
}

/// "" if the SEND/RECV pass gets to its end. A sparse file cannot: its stages run different microbatches.
std::string malformed(const ActionLists& lists, const std::vector<Rank>& rank_of_stage) {
  const Renumbered dense = renumbered(lists);
  if (!is_dense(rank_of_stage.size(), dense.microbatches, lists.num_actions()))
    return "neighbouring stages run different microbatches";
  const Transfers transfers = add_transfers(dense.lists, Homes(rank_of_stage, dense.microbatches));
  return transfers.stuck ? describe(*transfers.stuck, lists) : "";
}

/// A computation that is there twice and sends its result: 2.15 adds no second send.
std::optional<Verdict::Place> second_send(const ActionLists& lists, const std::vector<Rank>& rank_of_stage) {
  std::unordered_set<std::uint64_t> sent;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    std::size_t step = 0;
    for (const Action part : lists.row(rank)) {
      const bool forward = part.kind() == ActionKind::Forward;
      const bool backward = part.kind() == ActionKind::Backward || part.kind() == ActionKind::BackwardInput;
      const std::int32_t peer = part.stage().value() + (forward ? 1 : -1);
      const bool sends = (forward || backward) && peer >= 0 &&
                         static_cast<std::size_t>(peer) < rank_of_stage.size() &&
                         rank_of_stage[static_cast<std::size_t>(peer)] != rank;
      const Action made = part.as(forward ? ActionKind::SendForward : ActionKind::SendBackward, part.stage());
      if (sends && !sent.insert(made.key()).second) return Verdict::Place{rank, step};
      if (!part.joined()) ++step;
    }
  }
  return std::nullopt;
}

/// The rows as the parser of a release before 2.15 takes them.
ActionLists before_215(const ActionLists& lists) {
  std::vector<Action> actions(lists.actions().begin(), lists.actions().end());
  for (Action& action : actions)
    if (is_send_wait(action.kind()) || action.kind() == ActionKind::WaitReduceGrad)
      action = Action(ActionKind::BackwardWeight, action.stage()).with_joined(action.joined());
  std::vector<std::size_t> row_begin = {0};
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) row_begin.push_back(lists.row_end(rank));
  return {std::move(actions), std::move(row_begin)};
}

/// The first REDUCE_GRAD: the parser of mid-2025 knows none.
std::optional<Verdict> unparsed_reduction(const ActionLists& lists) {
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    std::size_t step = 0;
    for (const Action action : lists.row(rank)) {
      if (action.kind() == ActionKind::ReduceGrad)
        return Verdict{"parse",
                       "RuntimeError",
                       fmt::format("rank {}, step {}: {} is no action of that release", rank.value(), step,
                                   to_text(action.with_joined(false))),
                       {},
                       {}};
      if (!action.joined()) ++step;
    }
  }
  return std::nullopt;
}

void refuse_lowering(Verdict& verdict, std::string message) {
  verdict.phase = "lower";
  verdict.exception = "AssertionError";
  verdict.message = std::move(message);
  verdict.rank_of_stage.clear();
}

}  // namespace

LoadingRun loading_run(const ActionLists& lists, Form form) {
  LoadingRun run;
  run.form = form;
  std::unordered_set<std::int32_t> microbatches;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    const auto row = lists.row(rank);
    if (std::any_of(row.begin(), row.end(), [](Action action) { return !action.is_idle(); })) ++run.ranks;
    for (const Action action : row) {
      if (action.is_idle()) continue;
      run.stages = std::max(run.stages, action.stage().value() + 1);
      if (action.has_microbatch() && is_op(action.kind())) microbatches.insert(action.microbatch().value());
    }
  }
  run.microbatches = static_cast<int>(microbatches.size());
  return run;
}

std::string class_refusal(std::string_view name, int ranks, int chunks, int microbatches) {
  const bool single = name == "1F1B" || name == "GPipe";
  const bool needs_two = name == "ZBVZeroBubble" || name == "DualPipeV";
  const int wanted = single ? 1 : needs_two ? 2 : chunks;
  if (chunks != wanted)
    return fmt::format("PyTorch's {} takes {} per rank, not {}", name, single ? "one stage" : "two stages",
                       chunks);
  if ((name == "1F1B" || name == "DualPipeV") && microbatches < ranks * chunks)
    return fmt::format("PyTorch's {} refuses {} microbatches for {} stages; it needs as many", name,
                       microbatches, ranks * chunks);
  if (name != "Interleaved1F1B" && name != "InterleavedZeroBubble") return {};
  const int rounds = std::max(1, microbatches / ranks);
  if (microbatches % rounds == 0) return {};
  return fmt::format("PyTorch's {} runs {} rounds of the same size, which {} microbatches cannot be dealt to",
                     name, rounds, microbatches);
}

bool Lint::only_sharded() const {
  return code.find("shard") != std::string::npos || code == "reduce-unused";
}

Verdict verdict_of(const ActionLists& lists, const LoadingRun& run) {
  if (run.target == Target::Legacy)
    if (auto verdict = unparsed_reduction(lists)) return *verdict;
  if (run.target < Target::V215 && has_waits(lists)) {
    const ActionLists read = before_215(lists);
    Verdict verdict = load(read, run);
    if (!verdict.ok()) verdict.message += "; a release before 2.15 takes WAIT_SEND_F and its like for a W";
    return verdict;
  }
  Verdict verdict = load(lists, run);
  if (!verdict.ok() || run.form == Form::ComputeComms) return verdict;
  if (const std::string why = malformed(lists, verdict.rank_of_stage); !why.empty()) {
    refuse_lowering(verdict, "no rank can go on, so no messages can be placed: " + why);
  } else if (run.target == Target::V215) {
    if (const auto twice = second_send(lists, verdict.rank_of_stage)) {
      refuse_lowering(verdict,
                      fmt::format("rank {}, step {}: a computation whose output is sent stands twice, and "
                                  "no output is sent twice; leave one of them out",
                                  twice->rank.value(), twice->step));
      verdict.place = twice;
    }
  }
  return verdict;
}

std::optional<DryRun> dry_run_of(const ActionLists& lists, const Verdict& verdict, Receives receives) {
  const std::size_t stages = verdict.rank_of_stage.size();
  const Renumbered dense = renumbered(lists);
  if (!is_dense(stages, dense.microbatches, lists.num_actions())) return std::nullopt;
  const Homes homes(verdict.rank_of_stage, dense.microbatches);
  if (!fits(dense.lists, homes)) return std::nullopt;
  return dry_run(dense.lists, homes, KeepGrid::No, receives);
}

std::vector<Lint> swap_lints(const ActionLists& lists, const Verdict& verdict) {
  const Renumbered dense = renumbered(lists);
  const Homes homes(verdict.rank_of_stage, dense.microbatches);
  if (!fits(dense.lists, homes)) return {};
  std::vector<Lint> lints;
  for (const SwappedMessage& swap : swapped_messages(lists, homes))
    lints.push_back({"mispaired", swap.to, swap.cell,
                     fmt::format("rank {}, step {}: {}", swap.to.value(), swap.cell, describe(swap))});
  return lints;
}

}  // namespace pipeloom::torch
