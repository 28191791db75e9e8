#include "support/torch_load.hpp"

#include <set>

namespace pipeloom::tests {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw TorchStop{TorchRun::End::Refused, why};
}

class Load {
 public:
  Load(const ActionLists& lists, int ranks, int stages, int microbatches)
      : lists_(lists), stages_(stages), microbatches_(microbatches) {
    if (lists.ranks() != ranks) refuse("rows");
    for (int rank = 0; rank < ranks; ++rank)
      for (const Action action : lists.row(Rank(rank))) order(action, rank);
    counts();
    for (int rank = 0; rank < ranks; ++rank) reductions(rank);
    for (int rank = 0; rank < ranks; ++rank) send_waits(rank);
  }

  std::map<int, int> home;  // by stage

 private:
  void order(Action action, int rank) {
    const TorchKey key = key_of(action);
    const auto seen = [&](ActionKind kind) { return done_[kind].count(key) > 0; };
    const ActionKind kind = action.kind();
    const bool computes = kind <= ActionKind::BackwardWeight;
    if (computes && stage_of(action) >= stages_) refuse("stage");
    if ((kind == ActionKind::Backward || kind == ActionKind::BackwardInput) && !seen(ActionKind::Forward))
      refuse("backward before forward");
    if (kind == ActionKind::BackwardWeight && !seen(ActionKind::BackwardInput)) refuse("W before I");
    if (computes) done_[kind].insert(key);
    if (home.emplace(stage_of(action), rank).first->second != rank) refuse("stage on two ranks");
  }

  void counts() {
    for (int stage = 0; stage < stages_; ++stage) {
      const auto count = [&](ActionKind kind) {
        int n = 0;
        for (const TorchKey& key : done_[kind]) n += key.first == stage ? 1 : 0;
        return n;
      };
      const int inputs = count(ActionKind::BackwardInput);
      const int weights = count(ActionKind::BackwardWeight);
      if (count(ActionKind::Forward) != microbatches_ || inputs != weights ||
          count(ActionKind::Backward) + (inputs + weights) / 2 != microbatches_)
        refuse("counts");
    }
  }

  void reductions(int rank) {
    int pending = -1;
    for (const Action action : lists_.row(Rank(rank))) {
      if (action.is_idle()) refuse("blank");
      if (action.kind() == ActionKind::ReduceGrad) {
        if (pending >= 0) refuse("two reductions");
        pending = stage_of(action);
      } else if (action.kind() == ActionKind::WaitReduceGrad) {
        if (pending != stage_of(action)) refuse("wait without its reduction");
        pending = -1;
      }
    }
    if (pending >= 0) refuse("reduction without wait");
  }

  void send_waits(int rank) {
    std::set<std::pair<ActionKind, TorchKey>> pending;
    std::set<std::pair<ActionKind, TorchKey>> registered;
    for (const Action action : lists_.row(Rank(rank))) {
      const TorchKey key = key_of(action);
      if (is_send(action.kind())) {
        if (!registered.emplace(action.kind(), key).second) refuse("send twice");
        pending.emplace(action.kind(), key);
      } else if (is_send_wait(action.kind())) {
        const bool forward = action.kind() == ActionKind::WaitSendForward;
        if (pending.erase({forward ? ActionKind::SendForward : ActionKind::SendBackward, key}) == 0)
          refuse("wait without its send");
      }
    }
    if (!pending.empty()) refuse("send without wait");
  }

  const ActionLists& lists_;
  int stages_;
  int microbatches_;
  std::map<ActionKind, std::set<TorchKey>> done_;
};

}  // namespace

int stage_of(Action action) {
  return action.stage().value();
}
TorchKey key_of(Action action) {
  return {stage_of(action), action.has_microbatch() ? action.microbatch().value() : -1};
}

std::map<int, int> load_as_torch(const ActionLists& lists, int ranks, int stages, int microbatches) {
  return Load(lists, ranks, stages, microbatches).home;
}

}  // namespace pipeloom::tests
