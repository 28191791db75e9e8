// The passes of lowering.hpp that place messages.
// Faults that make gradients wrong without an error: reduction_lints() and forward_order_lint().

#include <fmt/format.h>

#include <pipeloom/error.hpp>
#include "sim/torch/lowering.hpp"
#include "sim/torch/verdict.hpp"

namespace pipeloom::torch {

namespace {

/// The message that `part` makes for another rank, and its receive there; idle if it makes none.
struct Message {
  Action send;
  Action recv;
  Rank to;
};

Message message_of(Action part, const Homes& homes) {
  const Stage stage = part.stage();
  const bool is_forward = part.kind() == ActionKind::Forward;
  if (!is_forward && part.kind() != ActionKind::Backward && part.kind() != ActionKind::BackwardInput)
    return {};
  if (is_forward ? homes.is_last(stage) : homes.is_first(stage)) return {};
  const Stage neighbour = stage + (is_forward ? 1 : -1);
  const Rank to = homes.rank_of(neighbour, part);
  if (to == homes.rank_of(stage, part)) return {};
  return {part.as(is_forward ? ActionKind::SendForward : ActionKind::SendBackward, stage),
          part.as(is_forward ? ActionKind::RecvForward : ActionKind::RecvBackward, neighbour), to};
}

/// The rounds of add_transfers(). Rows are counted first, so that each is written in place.
class Rounds {
 public:
  Rounds(const ActionLists& lists, const Homes& homes)
      : lists_(lists), homes_(homes), done_(homes.pairs(), 0) {
    const auto ranks = static_cast<std::size_t>(lists.ranks());
    std::vector<std::size_t> sizes(ranks, 0);
    for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank)
      for (const Action action : lists.row(rank)) {
        if (!action.is_idle()) ++sizes[rank.at()];
        const Message message = message_of(action, homes);
        if (message.send.is_idle()) continue;
        ++sizes[rank.at()];
        ++sizes[message.to.at()];
      }
    row_begin_.push_back(0);
    for (const std::size_t size : sizes) row_begin_.push_back(row_begin_.back() + size);
    end_.assign(row_begin_.begin(), row_begin_.end() - 1);
    out_.resize(row_begin_.back());
    for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) heads_.push_back(lists.row_begin(rank));
  }

  Transfers run() {
    for (;;) {
      bool waiting = false;
      bool progress = false;
      for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank) {
        if (heads_[rank.at()] == lists_.row_end(rank)) continue;
        waiting = true;
        progress = try_head(rank) || progress;
      }
      if (!waiting) return {ActionLists(std::move(out_), std::move(row_begin_)), std::nullopt};
      if (!progress) return {{}, stuck()};
    }
  }

 private:
  // done_ bits: the output of F, the gradient of B or I.
  static constexpr std::uint8_t kForward = 1;
  static constexpr std::uint8_t kBackward = 2;

  /// An input is there as soon as its producer ran: the receive is posted, or the tensor handed over, in that moment.
  [[nodiscard]] bool is_ready(Action part) const {
    if (part.kind() == ActionKind::Forward)
      return homes_.is_first(part.stage()) || (done_[homes_.pair_of(part) - 1] & kForward) != 0;
    if (part.kind() == ActionKind::Backward || part.kind() == ActionKind::BackwardInput)
      return homes_.is_last(part.stage()) || (done_[homes_.pair_of(part) + 1] & kBackward) != 0;
    return true;
  }

  /// Takes the rank's next cell if it is ready.
  bool try_head(Rank rank) {
    const auto actions = lists_.actions();
    const std::size_t first = heads_[rank.at()];
    std::size_t last = first;
    do {
      if (!is_ready(actions[last])) return false;
    } while (actions[last++].joined() && last < lists_.row_end(rank));
    heads_[rank.at()] = last;
    for (std::size_t i = first; i < last; ++i)
      if (!actions[i].is_idle()) out_[end_[rank.at()]++] = actions[i];
    for (std::size_t i = first; i < last; ++i) finish(rank, actions[i]);
    return true;
  }

  void finish(Rank rank, Action part) {
    if (part.kind() == ActionKind::Forward)
      done_[homes_.pair_of(part)] |= kForward;
    else if (part.kind() == ActionKind::Backward || part.kind() == ActionKind::BackwardInput)
      done_[homes_.pair_of(part)] |= kBackward;
    else
      return;
    const Message message = message_of(part, homes_);
    if (message.send.is_idle()) return;
    out_[end_[rank.at()]++] = message.send;
    out_[end_[message.to.at()]++] = message.recv;
  }

  [[nodiscard]] Stuck stuck() const {
    Stuck out;
    for (Rank rank{0}; rank < Rank(lists_.ranks()); ++rank)
      out.heads.push_back(heads_[rank.at()] - lists_.row_begin(rank));
    return out;
  }

  const ActionLists& lists_;
  const Homes& homes_;
  std::vector<std::uint8_t> done_;
  std::vector<Action> out_;
  std::vector<std::size_t> row_begin_;
  std::vector<std::size_t> end_;    // by rank: where its next action goes
  std::vector<std::size_t> heads_;  // by rank: index of its next action
};

/// The rows of defer_receives(): the same actions in another order. One rank at a time holds receives.
class HeldReceives {
 public:
  HeldReceives(const Homes& homes, int ranks)
      : homes_(homes), held_(homes.pairs(), 0), from_(static_cast<std::size_t>(ranks)) {}

  /// The row in its new order, until the next call.
  std::span<const Action> lower(Rank rank, std::span<const Action> row) {
    rank_ = rank;
    out_.clear();
    std::size_t first_of_cell = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Action part = row[i];
      if (is_recv(part.kind())) {
        hold(part);
        first_of_cell = i + 1;
        continue;
      }
      if (is_send(part.kind())) release_before_send(part);
      release_input(part);
      if (part.joined()) continue;
      while (first_of_cell <= i) out_.push_back(row[first_of_cell++]);
    }
    for (auto& queue : from_) queue.clear();
    if (count_ > 0)
      throw ScheduleError(
          fmt::format("rank {} receives {} messages that no later computation of its row uses, so their "
                      "receives cannot be deferred",
                      rank.value(), count_));
    return out_;
  }

 private:
  [[nodiscard]] static std::uint8_t bit_of(ActionKind kind) {
    return kind == ActionKind::RecvForward ? 1 : 2;
  }

  void hold(Action recv) {
    held_[homes_.pair_of(recv)] |= bit_of(recv.kind());
    ++count_;
    const Stage sender = recv.stage() + (recv.kind() == ActionKind::RecvForward ? -1 : 1);
    const Rank from = homes_.rank_of(sender, recv);
    if (rank_ < from) from_[from.at()].push_back(recv);
  }

  void release(ActionKind kind, Action part) {
    std::uint8_t& held = held_[homes_.pair_of(part)];
    if ((held & bit_of(kind)) == 0) return;
    held = static_cast<std::uint8_t>(held & ~bit_of(kind));
    --count_;
    out_.push_back(part.as(kind, part.stage()));
  }

  void release_before_send(Action send) {
    const Stage receiver = send.stage() + (send.kind() == ActionKind::SendForward ? 1 : -1);
    auto& queue = from_[homes_.rank_of(receiver, send).at()];
    for (const Action recv : queue) release(recv.kind(), recv);
    queue.clear();
  }

  void release_input(Action part) {
    if (part.kind() == ActionKind::Forward)
      release(ActionKind::RecvForward, part);
    else if (part.kind() == ActionKind::Backward || part.kind() == ActionKind::BackwardInput)
      release(ActionKind::RecvBackward, part);
  }

  const Homes& homes_;
  Rank rank_;
  std::vector<std::uint8_t> held_;  // by pair: bit_of() of the receives that wait
  std::vector<std::vector<Action>>
      from_;  // by sending rank, if it is above this one: in the order of the row
  std::size_t count_ = 0;
  std::vector<Action> out_;
};

}  // namespace

Transfers add_transfers(const ActionLists& lists, const Homes& homes) {
  return Rounds(lists, homes).run();
}

ActionLists defer_receives(ActionLists lists, const Homes& homes) {
  HeldReceives held(homes, lists.ranks());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank)
    lists.replace_row(rank, held.lower(rank, lists.row(rank)));
  return lists;
}

namespace {

/// Positions of one stage in a row, in cells.
struct Reduced {
  std::optional<std::size_t> last_backward;
  std::optional<std::size_t> reduction;  // of those that find gradients
};

std::string in_row(Rank rank, std::size_t step, const std::string& what) {
  return fmt::format("rank {}, step {}: {}", rank.value(), step, what);
}

/// Reads one row: fills `of_stage`, and reports reductions that find no gradients yet, and those that are there twice.
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
