#include "support/torch_run.hpp"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "support/torch_load.hpp"

namespace pipeloom::tests {
namespace {

using Key = TorchKey;

[[noreturn]] void raise(const std::string& why) {
  throw TorchStop{TorchRun::End::Raises, why};
}

/// The messages of one ordered pair of ranks: the n-th sent meets the n-th received.
struct Channel {
  std::vector<Action> sent;
  std::size_t received = 0;
};

class Run {
 public:
  Run(const ActionLists& lists, const std::map<int, int>& home, int stages, int microbatches,
      bool keeps_order)
      : lists_(lists), home_(home), stages_(stages), microbatches_(microbatches), keeps_order_(keeps_order) {}

  /// Whether it came to its end; `wrong()` says with what.
  bool run() {
    const int ranks = lists_.ranks();
    std::vector<std::size_t> at(static_cast<std::size_t>(ranks), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < ranks; ++rank)
        for (auto& i = at[static_cast<std::size_t>(rank)];
             i < lists_.row(Rank(rank)).size() && step(rank, lists_.row(Rank(rank))[i]); ++i)
          moved = true;
    }
    for (int rank = 0; rank < ranks; ++rank)
      if (at[static_cast<std::size_t>(rank)] < lists_.row(Rank(rank)).size()) return false;
    if (!posted_.empty()) raise("a receive is left over, so the next step receives twice");
    for (int stage = 0; stage < stages_; ++stage)
      for (int k = 0; k < microbatches_; ++k)
        if (scaled_[{stage, k}] != 1) wrong_ = "a gradient is not scaled once";
    return true;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  [[nodiscard]] bool same_rank(int rank, int stage) const {
    const auto found = home_.find(stage);
    return found != home_.end() && found->second == rank;
  }

  /// False if it has to wait; nothing has changed then.
  bool step(int rank, Action action) {
    switch (action.kind()) {
      case ActionKind::Forward:
        return forward(rank, action);
      case ActionKind::Backward:
      case ActionKind::BackwardInput:
        return backward(rank, action);
      case ActionKind::BackwardWeight:
        if (!done_.emplace(action.kind(), key_of(action)).second) raise("W twice");
        return true;
      case ActionKind::SendForward:
      case ActionKind::SendBackward:
        send(rank, action);
        return true;
      case ActionKind::RecvForward:
      case ActionKind::RecvBackward:
        return receive(rank, action);
      case ActionKind::WaitSendForward:
      case ActionKind::WaitSendBackward:
        return wait_send(rank, action);
      case ActionKind::ReduceGrad:
        for (int k = 0; k < microbatches_; ++k)
          if (finished(stage_of(action), k)) ++scaled_[{stage_of(action), k}];
        return true;
      default:
        return true;
    }
  }

  [[nodiscard]] bool finished(int stage, int k) const {
    return done_.count({ActionKind::Backward, {stage, k}}) +
               done_.count({ActionKind::BackwardWeight, {stage, k}}) >
           0;
  }

  /// Whether the input of this computation came; takes it.
  bool take_input(int rank, Action action, int from, ActionKind recv, ActionKind sent) {
    if (same_rank(rank, from)) {
      const bool made =
          sent == ActionKind::SendForward
              ? done_.count({ActionKind::Forward, {from, key_of(action).second}}) > 0
              : done_.count({ActionKind::Backward, {from, key_of(action).second}}) +
                        done_.count({ActionKind::BackwardInput, {from, key_of(action).second}}) >
                    0;
      if (!made) raise("a tensor of the same rank is not there yet");
      return true;
    }
    const auto posted = posted_.find({recv, key_of(action)});
    if (posted == posted_.end()) raise("no receive was posted");
    const Channel& channel = channels_[{home_.at(from), rank}];
    if (posted->second >= channel.sent.size()) return false;
    if (channel.sent[posted->second] != action.as(sent, Stage(from)))
      wrong_ = "a tensor was received as another";
    posted_.erase(posted);
    return true;
  }

  bool forward(int rank, Action action) {
    const int stage = stage_of(action);
    if (stage > 0 && !take_input(rank, action, stage - 1, ActionKind::RecvForward, ActionKind::SendForward))
      return false;
    // Seen with the real one for the first stage only; elsewhere a second forward is not counted as harmless.
    if (!done_.emplace(ActionKind::Forward, key_of(action)).second && stage > 0) raise("forward twice");
    if (stage == stages_ - 1) losses_.push_back(key_of(action).second);
    return true;
  }

  bool backward(int rank, Action action) {
    const int stage = stage_of(action);
    const int k = key_of(action).second;
    if (stage < stages_ - 1 &&
        !take_input(rank, action, stage + 1, ActionKind::RecvBackward, ActionKind::SendBackward))
      return false;
    if (stage == stages_ - 1) {
      if (k >= static_cast<int>(losses_.size())) raise("the loss is not available");
      if (losses_[static_cast<std::size_t>(k)] != k) wrong_ = "the loss of another microbatch";
    }
    if (done_.count({ActionKind::Backward, key_of(action)}) +
            done_.count({ActionKind::BackwardInput, key_of(action)}) >
        0)
      raise("backward twice");
    done_.emplace(action.kind(), key_of(action));
    return true;
  }

  void send(int rank, Action action) {
    const bool forward = action.kind() == ActionKind::SendForward;
    const int peer = stage_of(action) + (forward ? 1 : -1);
    const Key key = key_of(action);
    const bool made =
        forward
            ? done_.count({ActionKind::Forward, key}) > 0
            : done_.count({ActionKind::Backward, key}) + done_.count({ActionKind::BackwardInput, key}) > 0;
    if (!made) raise("there is nothing to send yet");
    if (forward && done_.count({ActionKind::Backward, key}) > 0) raise("the output is gone");
    channels_[{rank, home_.at(peer)}].sent.push_back(action.with_joined(false));
  }

  bool receive(int rank, Action action) {
    const int peer = stage_of(action) + (action.kind() == ActionKind::RecvForward ? -1 : 1);
    Channel& channel = channels_[{home_.at(peer), rank}];
    const std::pair posting(action.kind(), key_of(action));
    if (!in_receive_[rank]) {
      if (!posted_.emplace(posting, channel.received).second) raise("receive twice");
      ++channel.received;
    }
    in_receive_[rank] = keeps_order_ && posted_[posting] >= channel.sent.size();
    return !in_receive_[rank];
  }

  bool wait_send(int rank, Action action) {
    const bool forward = action.kind() == ActionKind::WaitSendForward;
    const Action sent =
        action.as(forward ? ActionKind::SendForward : ActionKind::SendBackward, action.stage());
    const Channel& channel = channels_[{rank, home_.at(stage_of(action) + (forward ? 1 : -1))}];
    for (std::size_t n = 0; n < channel.sent.size(); ++n)
      if (channel.sent[n] == sent) return n < channel.received;
    return true;
  }

  const ActionLists& lists_;
  const std::map<int, int>& home_;
  int stages_;
  int microbatches_;
  bool keeps_order_;
  std::set<std::pair<ActionKind, Key>> done_;
  std::map<std::pair<int, int>, Channel> channels_;
  std::map<std::pair<ActionKind, Key>, std::size_t> posted_;  // receives without a user: which of its pair
  std::map<Key, int> scaled_;
  std::vector<int> losses_;
  std::map<int, bool> in_receive_;  // by rank: it posted the receive at its head and waits in it
  std::string wrong_;
};

bool has_stray(const ActionLists& lists, const std::map<int, int>& home, int stages) {
  for (int rank = 0; rank < lists.ranks(); ++rank)
    for (const Action action : lists.row(Rank(rank))) {
      if (action.is_idle() || is_op(action.kind()) || is_of_stage(action.kind())) continue;
      const bool up = action.kind() == ActionKind::SendForward || action.kind() == ActionKind::RecvBackward ||
                      action.kind() == ActionKind::WaitSendForward;
      const int peer = stage_of(action) + (up ? 1 : -1);
      if (stage_of(action) >= stages || peer < 0 || peer >= stages || home.at(peer) == rank) return true;
    }
  return false;
}

/// FSDP: whether an assertion about parameters is raised.
bool sharded_raises(const ActionLists& lists) {
  for (int rank = 0; rank < lists.ranks(); ++rank) {
    std::set<int> gathering;
    std::set<int> resident;
    std::set<int> has_gradients;
    for (const Action action : lists.row(Rank(rank))) {
      const int stage = stage_of(action);
      if (action.kind() == ActionKind::Backward || action.kind() == ActionKind::BackwardWeight)
        has_gradients.insert(stage);
      // It ends the step of the stage: the next computation finds its parameters freed.
      if (action.kind() == ActionKind::ReduceGrad && has_gradients.count(stage) == 0) return true;
      if (action.kind() == ActionKind::Unshard) {
        if (gathering.count(stage) + resident.count(stage) > 0) return true;
        gathering.insert(stage);
      } else if (action.kind() == ActionKind::Reshard) {
        if (resident.erase(stage) == 0) return true;
      } else if (is_op(action.kind())) {
        if (gathering.erase(stage) > 0) resident.insert(stage);
        if (resident.count(stage) == 0) return true;
      }
    }
    if (!gathering.empty()) return true;
  }
  return false;
}

}  // namespace

TorchRun run_as_torch(const ActionLists& lists, int ranks, int stages, int microbatches) {
  TorchRun out;
  try {
    const std::map<int, int> home = load_as_torch(lists, ranks, stages, microbatches);
    out.has_stray = has_stray(lists, home, stages);
    if (out.has_stray) return out;
    Run posted(lists, home, stages, microbatches, false);
    if (!posted.run()) return out.end = TorchRun::End::Hangs, out;
    out.why = posted.wrong();
    if (!out.why.empty()) return out.end = TorchRun::End::Wrong, out;
    out.keeps_order_hangs = !Run(lists, home, stages, microbatches, true).run();
    out.sharded_raises = sharded_raises(lists);
  } catch (const TorchStop& stop) {
    out.end = stop.end;
    out.why = stop.why;
  }
  return out;
}

}  // namespace pipeloom::tests
