#include "sim/torch/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include <pipeloom/error.hpp>
#include "sim/torch/loader.hpp"
#include "sim/torch/lowering.hpp"
#include "sim/torch/pairing.hpp"

namespace pipeloom::torch {
namespace {

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
  return stages * static_cast<std::size_t>(microbatches) <= std::max(kAlwaysAllowedPairs, 8 * actions);
}

/// "" if the SEND/RECV pass gets to its end. A sparse file cannot: its stages run different microbatches.
std::string malformed(const ActionLists& lists, const std::vector<Rank>& rank_of_stage) {
  const Renumbered dense = renumbered(lists);
  if (!is_dense(rank_of_stage.size(), dense.microbatches, lists.num_actions()))
    return "neighbouring stages run different microbatches";
  const Transfers transfers = add_transfers(dense.lists, Homes(rank_of_stage, dense.microbatches));
  return transfers.stuck ? describe(*transfers.stuck, lists) : "";
}

/// A computation that stands twice and sends what it makes: 2.15 adds no second send.
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
