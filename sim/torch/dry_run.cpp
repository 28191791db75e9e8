#include "sim/torch/dry_run.hpp"

#include <algorithm>
#include <vector>

namespace pipeloom::torch {
namespace {

class Steps {
 public:
  Steps(const ActionLists& lists, const Homes& homes, KeepGrid keep, Receives receives)
      : lists_(lists),
        homes_(homes),
        keeps_(keep == KeepGrid::Yes),
        posted_(receives == Receives::Posted),
        done_(homes.pairs(), 0) {
    for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
      heads_.push_back(lists.row_begin(rank));
      skip(rank);
    }
    rows_.resize(heads_.size());
  }

  DryRun run() {
    while (waiting()) {
      const bool progress = step();
      if (progress) continue;
      return result(true);
    }
    return result(false);
  }

 private:
  // done_ bits.
  static constexpr unsigned kForward = 1;
  static constexpr unsigned kBackward = 2;
  static constexpr unsigned kSentForward = 4;
  static constexpr unsigned kSentBackward = 8;
  static constexpr unsigned kReceivedForward = 16;
  static constexpr unsigned kReceivedBackward = 32;

  /// Moves the head over actions that take no step.
  void skip(Rank rank) {
    std::size_t& head = heads_[rank.at()];
    while (head < lists_.row_end(rank)) {
      const ActionKind kind = lists_.actions()[head].kind();
      if (kind != ActionKind::Idle && !is_of_stage(kind)) return;
      ++head;
    }
  }

  [[nodiscard]] bool is_done(Rank rank) const { return heads_[rank.at()] >= lists_.row_end(rank); }
  [[nodiscard]] bool waiting() const {
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank)
      if (!is_done(rank)) return true;
    return false;
  }

  /// Does one step. Returns false if its first round moved no rank.
  bool step() {
    ++steps_;
    bool progress = false;
    blank_.clear();
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
      if (is_done(rank)) continue;
      if (try_head(rank))
        progress = true;
      else
        blank_.push_back(rank);
    }
    for (const Rank rank : blank_)
      if (!try_head(rank) && keeps_) rows_[rank.at()].emplace_back();
    return progress;
  }

  bool try_head(Rank rank) {
    const auto actions = lists_.actions();
    const std::size_t first = heads_[rank.at()];
    std::size_t last = first;
    do {
      if (!is_ready(actions[last], rank)) return false;
    } while (actions[last++].joined() && last < lists_.row_end(rank));
    auto& row = rows_[rank.at()];
    for (std::size_t i = first; i < last; ++i) {
      if (keeps_) row.push_back(actions[i].with_joined(i + 1 < last));
      if (actions[i].has_microbatch()) done_[homes_.pair_of(actions[i])] |= bit_of(actions[i].kind());
    }
    heads_[rank.at()] = last;
    skip(rank);
    return true;
  }

  [[nodiscard]] bool has(std::size_t pair, unsigned bit) const { return (done_[pair] & bit) != 0; }

  [[nodiscard]] bool is_ready(Action part, Rank rank) const {
    const Stage stage = part.stage();
    const std::size_t pair = homes_.pair_of(part);
    const bool first = homes_.is_first(stage);
    const bool last = homes_.is_last(stage);
    switch (part.kind()) {
      case ActionKind::Forward:
        return first || (has(pair, kReceivedForward) && has(pair - 1, kSentForward)) ||
               (has(pair - 1, kForward) && homes_.rank_of(stage - 1, part) == rank);
      case ActionKind::Backward:
      case ActionKind::BackwardInput:
        return last || (has(pair, kReceivedBackward) && has(pair + 1, kSentBackward)) ||
               (has(pair + 1, kBackward) && homes_.rank_of(stage + 1, part) == rank);
      case ActionKind::SendForward:
        return has(pair, kForward);
      case ActionKind::SendBackward:
        return has(pair, kBackward);
      case ActionKind::RecvForward:
        return posted_ || has(pair - 1, kSentForward);
      case ActionKind::RecvBackward:
        return posted_ || has(pair + 1, kSentBackward);
      case ActionKind::WaitSendForward:
        return has(pair, kSentForward) && has(pair + 1, kReceivedForward);
      case ActionKind::WaitSendBackward:
        return has(pair, kSentBackward) && has(pair - 1, kReceivedBackward);
      default:
        return true;
    }
  }

  [[nodiscard]] static std::uint8_t bit_of(ActionKind kind) {
    switch (kind) {
      case ActionKind::Forward:
        return kForward;
      case ActionKind::Backward:
      case ActionKind::BackwardInput:
        return kBackward;
      case ActionKind::SendForward:
        return kSentForward;
      case ActionKind::SendBackward:
        return kSentBackward;
      case ActionKind::RecvForward:
        return kReceivedForward;
      case ActionKind::RecvBackward:
        return kReceivedBackward;
      default:
        return 0;
    }
  }

  [[nodiscard]] DryRun result(bool is_stuck) const {
    DryRun out;
    for (const auto& row : rows_) {
      out.grid.begin_rank();
      for_each_cell(row, [&](std::size_t first, std::size_t last) {
        out.grid.add_cell(std::span<const Action>(row).subspan(first, last - first));
      });
    }
    out.steps = steps_;
    if (!is_stuck) return out;
    out.stuck.emplace();
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank)
      out.stuck->heads.push_back(heads_[rank.at()] - lists_.row_begin(rank));
    return out;
  }

  const ActionLists& lists_;
  const Homes& homes_;
  bool keeps_;
  bool posted_;  // receives block no other action of their rank
  std::size_t steps_ = 0;
  std::vector<std::uint8_t> done_;
  std::vector<std::size_t> heads_;  // by rank: index of its next action that takes a step
  std::vector<std::vector<Action>> rows_;
  std::vector<Rank> blank_;
};

}  // namespace

DryRun dry_run(const ActionLists& lists, const Homes& homes, KeepGrid keep, Receives receives) {
  return Steps(lists, homes, keep, receives).run();
}

bool fits(const ActionLists& lists, const Homes& homes) {
  const auto known = [&homes](Action action) {
    if (action.is_idle() || is_of_stage(action.kind())) return true;
    if (!action.has_microbatch() || action.stage() >= Stage(homes.stages()) || !homes.has(action))
      return false;
    if (is_op(action.kind())) return true;
    const auto peer = homes.peer_of(action);
    return peer && homes.rank_of(*peer, action) != homes.rank_of(action.stage(), action);
  };
  return std::all_of(lists.actions().begin(), lists.actions().end(), known);
}

}  // namespace pipeloom::torch
