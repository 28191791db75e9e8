// runtime_lints(): the assertions of PyTorch's runtime, seen beforehand.

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "sim/torch/verdict.hpp"

namespace pipeloom::torch {
namespace {

constexpr std::size_t kMaxLints = 1000;

class Linter {
 public:
  Linter(const std::vector<Rank>& rank_of_stage, bool sharded, std::vector<Lint>& lints)
      : rank_of_stage_(rank_of_stage), lints_(lints), parameters_(rank_of_stage.size()), sharded_(sharded) {}

  void lint(Rank rank, std::span<const Action> row) {
    rank_ = rank;
    step_ = 0;
    for (const Action action : row) {
      if (!action.is_idle()) look(action);
      if (!action.joined()) ++step_;
    }
    finish(row);
  }

 private:
  enum class State : std::uint8_t { Sharded, Gathering, Resident };
  struct Parameters {
    State state = State::Sharded;
    std::size_t step = 0;   // of the last UNSHARD, while Gathering; of the last RESHARD, while Sharded
    bool reshards = false;  // there was one
    bool told = false;      // true once computations were reported where nothing is gathered
  };

  /// Leaves the tables as they were before the row.
  void finish(std::span<const Action> row) {
    for (const Action action : row) {
      if (action.is_idle() || action.stage().at() >= parameters_.size()) continue;
      Parameters& of_stage = parameters_[action.stage().at()];
      if (of_stage.state == State::Gathering)
        add("unshard-unused", of_stage.step,
            fmt::format("{}UNSHARD: nothing uses the gathered parameters before the row ends; leave it out",
                        action.stage().value()));
      of_stage = {};
    }
    std::vector<Action> unused;
    unused.reserve(posted_.size());
    for (const auto& [key, recv] : posted_) unused.push_back(recv.action);
    std::sort(unused.begin(), unused.end());
    for (const Action recv : unused)
      add("receive-unused", posted_.at(recv.key()).step,
          to_text(recv) +
              ": no computation behind it uses what it receives; leave it out, or put it before its "
              "computation");
    posted_.clear();
    sent_.clear();
    done_.clear();
  }

  void add(std::string code, std::size_t step, const std::string& what) {
    if (lints_.size() < kMaxLints)
      lints_.push_back(
          {std::move(code), rank_, step, fmt::format("rank {}, step {}: {}", rank_.value(), step, what)});
  }

  void look(Action action) {
    if (action.stage().at() >= parameters_.size())
      return add("no-such-stage", step_,
                 fmt::format("{} is of a stage without computations; leave it out", to_text(action)));
    if (is_of_stage(action.kind()))
      look_at_parameters(action);
    else if (is_op(action.kind()))
      look_at_computation(action);
    else if (is_transfer(action.kind()) && has_peer(action))
      is_recv(action.kind()) ? look_at_receive(action) : look_at_send(action);
  }

  void look_at_parameters(Action action) {
    Parameters& of_stage = parameters_[action.stage().at()];
    if (action.kind() == ActionKind::Unshard) {
      if (of_stage.state != State::Sharded)
        add("unshard-resident", step_,
            to_text(action) + ": the parameters are gathered already; leave it out");
      of_stage = {State::Gathering, step_};
    } else if (action.kind() == ActionKind::Reshard) {
      if (of_stage.state == State::Sharded && !of_stage.told)
        add("reshard-absent", step_, to_text(action) + ": the parameters are not gathered; leave it out");
      if (of_stage.state == State::Gathering)
        add("reshard-unused", step_,
            to_text(action) +
                ": no computation has waited for the gather; put it behind one that uses the parameters");
      of_stage = {State::Sharded, step_, true};
    }
  }

  /// A message goes to another rank, or comes from one.
  bool has_peer(Action message) {
    const bool receives = is_recv(message.kind());
    const bool up = message.kind() == ActionKind::SendForward || message.kind() == ActionKind::RecvBackward;
    const std::int32_t peer = message.stage().value() + (up ? 1 : -1);
    const std::string text = to_text(message.with_joined(false));
    if (peer < 0 || static_cast<std::size_t>(peer) >= rank_of_stage_.size())
      add("no-peer", step_,
          fmt::format("{}: stage {} is the {} one, so nobody {} this message; leave it out", text,
                      message.stage().value(), up ? "last" : "first", receives ? "sends" : "receives"));
    else if (rank_of_stage_[static_cast<std::size_t>(peer)] == rank_)
      add("no-peer", step_,
          fmt::format("{}: stage {} is on this rank too, where tensors are handed over without a message; "
                      "leave it out",
                      text, peer));
    else
      return true;
    return false;
  }

  void look_at_receive(Action recv) {
    if (!posted_.try_emplace(recv.key(), Posted{recv.with_joined(false), step_}).second)
      add("receive-twice", step_,
          to_text(recv) + " is posted again before a computation used the first; leave one of them out");
  }

  void look_at_send(Action send) {
    const bool is_forward = send.kind() == ActionKind::SendForward;
    const bool made = is_forward ? done_.contains(send.as(ActionKind::Forward, send.stage()).key())
                                 : done_.contains(send.as(ActionKind::Backward, send.stage()).key()) ||
                                       done_.contains(send.as(ActionKind::BackwardInput, send.stage()).key());
    if (!made)
      add("send-before-compute", step_,
          fmt::format("{} stands before the {} that makes its message; put it behind that", to_text(send),
                      is_forward ? "forward" : "backward"));
    if (!sent_.insert(send.key()).second)
      add("send-twice", step_, to_text(send) + " stands twice; leave one of them out");
  }

  void look_at_computation(Action part) {
    done_.insert(part.key());
    Parameters& of_stage = parameters_[part.stage().at()];
    if (sharded_ && of_stage.state == State::Sharded && !of_stage.told) {
      of_stage.told = true;
      add("compute-sharded", step_,
          to_text(part) +
              (of_stage.reshards
                   ? fmt::format(": the parameters of its stage were freed at step {}, and no {}UNSHARD "
                                 "stands between; add it",
                                 of_stage.step, part.stage().value())
                   : fmt::format(
                         ": the parameters of its stage are not gathered; put {}UNSHARD in front of it",
                         part.stage().value())));
    }
    if (of_stage.state == State::Gathering) of_stage.state = State::Resident;
    const bool is_forward = part.kind() == ActionKind::Forward;
    if (!is_forward && part.kind() != ActionKind::Backward && part.kind() != ActionKind::BackwardInput)
      return;
    const std::int32_t neighbour = part.stage().value() + (is_forward ? -1 : 1);
    if (neighbour < 0 || static_cast<std::size_t>(neighbour) == rank_of_stage_.size()) return;
    const Action recv =
        part.as(is_forward ? ActionKind::RecvForward : ActionKind::RecvBackward, part.stage());
    if (posted_.erase(recv.key()) > 0) return;
    if (rank_of_stage_[static_cast<std::size_t>(neighbour)] != rank_)
      add("compute-before-receive", step_,
          fmt::format("{} stands before {}, which brings its input; put it behind that", to_text(part),
                      to_text(recv)));
  }

  Rank rank_;
  const std::vector<Rank>& rank_of_stage_;
  std::vector<Lint>& lints_;
  std::vector<Parameters> parameters_;  // by stage
  struct Posted {
    Action action;
    std::size_t step = 0;
  };
  std::unordered_map<std::uint64_t, Posted> posted_;  // receives that nothing has used, by key
  std::unordered_set<std::uint64_t> sent_;
  std::unordered_set<std::uint64_t> done_;  // keys of computations
  std::size_t step_ = 0;
  bool sharded_;  // the file moves parameters
};

}  // namespace

std::vector<Lint> runtime_lints(const ActionLists& lists, const std::vector<Rank>& rank_of_stage) {
  std::vector<Lint> lints;
  const bool sharded = std::any_of(lists.actions().begin(), lists.actions().end(),
                                   [](Action action) { return action.kind() == ActionKind::Unshard; });
  Linter linter(rank_of_stage, sharded, lints);
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) linter.lint(rank, lists.row(rank));
  return lints;
}

}  // namespace pipeloom::torch
