// What makes gradients wrong without an error: reduction_lints() and forward_order_lint().

#include <fmt/format.h>

#include "sim/torch/verdict.hpp"

namespace pipeloom::torch {
namespace {

/// What a row has of one stage; positions count cells.
struct Reduced {
  std::optional<std::size_t> last_backward;
  std::optional<std::size_t> reduction;  // of those that find gradients
};

std::string in_row(Rank rank, std::size_t step, const std::string& what) {
  return fmt::format("rank {}, step {}: {}", rank.value(), step, what);
}

/// One row: fills `of_stage`, and tells of reductions that find no gradients yet, and of those that stand twice.
void read_reductions(Rank rank, std::span<const Action> row, std::vector<Reduced>& of_stage,
                     std::vector<Lint>& lints) {
  std::size_t step = 0;
  for (const Action action : row) {
    const ActionKind kind = action.kind();
    if (!action.is_idle() && action.stage().at() < of_stage.size()) {
      Reduced& reduced = of_stage[action.stage().at()];
      if (kind == ActionKind::Backward || kind == ActionKind::BackwardWeight) reduced.last_backward = step;
      if (kind == ActionKind::ReduceGrad && !reduced.last_backward)
        lints.push_back(
            {"reduce-unused", rank, step,
             in_row(rank, step,
                    to_text(action) +
                        " stands before any backward of its stage, so there is nothing to scale; with "
                        "FSDP it frees parameters that are still needed")});
      else if (kind == ActionKind::ReduceGrad && reduced.reduction)
        lints.push_back(
            {"reduce-twice", rank, step,
             in_row(rank, step,
                    to_text(action) +
                        " stands twice, so its gradients are scaled twice; leave one of them out")});
      else if (kind == ActionKind::ReduceGrad)
        reduced.reduction = step;
    }
    if (!action.joined()) ++step;
  }
}

}  // namespace

std::vector<Lint> reduction_lints(const ActionLists& lists, const std::vector<Rank>& rank_of_stage) {
  std::vector<Lint> lints;
  std::vector<Reduced> of_stage(rank_of_stage.size());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    of_stage.assign(of_stage.size(), {});
    read_reductions(rank, lists.row(rank), of_stage, lints);
    for (std::size_t stage = 0; stage < of_stage.size(); ++stage) {
      const Reduced& reduced = of_stage[stage];
      if (!reduced.last_backward) continue;
      const std::size_t last = *reduced.last_backward;
      if (!reduced.reduction)
        lints.push_back(
            {"reduce-missing", rank, last,
             in_row(
                 rank, last,
                 fmt::format("no {0}REDUCE_GRAD follows the last backward of stage {0}, so its "
                             "gradients stay as many times too large as there are microbatches; add it there",
                             stage))});
      else if (*reduced.reduction < last)
        lints.push_back(
            {"reduce-early", rank, *reduced.reduction,
             in_row(
                 rank, *reduced.reduction,
                 fmt::format("{}REDUCE_GRAD stands before the last backward of its stage at step {}, whose "
                             "gradients are added unscaled; put it behind that",
                             stage, last))});
    }
  }
  return lints;
}

std::optional<Lint> forward_order_lint(const ActionLists& lists, const std::vector<Rank>& rank_of_stage) {
  if (rank_of_stage.empty()) return std::nullopt;
  const Stage last(static_cast<std::int32_t>(rank_of_stage.size()) - 1);
  const Rank rank = rank_of_stage.back();
  std::size_t step = 0;
  std::int32_t next = 0;
  for (const Action action : lists.row(rank)) {
    if (action.kind() == ActionKind::Forward && action.stage() == last && action.has_microbatch() &&
        action.microbatch() != Microbatch(next++))
      return Lint{"forward-order", rank, step,
                  in_row(rank, step,
                         fmt::format("{} is forward {} of the last stage; PyTorch finds losses by that "
                                     "number, so microbatches must come in order there",
                                     to_text(action.with_joined(false)), next - 1))};
    if (!action.joined()) ++step;
  }
  return std::nullopt;
}

}  // namespace pipeloom::torch
