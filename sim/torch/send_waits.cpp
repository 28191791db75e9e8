// add_send_waits(), and what PyTorch 2.15 refuses in the waits of a file.

#include "sim/torch/send_waits.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace pipeloom::torch {
namespace {

/// The rows of add_send_waits(), one at a time.
class SendWaits {
 public:
  SendWaits(const Homes& homes, ActionLists& out) : homes_(homes), out_(out), is_open_(homes.pairs(), 0) {}

  void add_to(std::span<const Action> row) {
    out_.begin_rank();
    sends_.clear();
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      const auto cell = row.subspan(first, last - first);
      out_.add_cell(cell);
      for (const Action part : cell) look(part);
    });
    for (const Action send : sends_)
      if (close(send)) out_.add(send.as(wait_of(send.kind()), send.stage()));
  }

 private:
  void look(Action part) {
    if (is_send(part.kind())) {
      sends_.push_back(part);
      is_open_[homes_.pair_of(part)] |= bit_of(part.kind());
    } else if (part.kind() == ActionKind::Backward || part.kind() == ActionKind::BackwardInput) {
      const Action send = part.as(ActionKind::SendForward, part.stage());
      if (close(send)) out_.add(send.as(ActionKind::WaitSendForward, send.stage()));
    }
  }

  /// Whether the send was open.
  bool close(Action send) {
    std::uint8_t& open = is_open_[homes_.pair_of(send)];
    if ((open & bit_of(send.kind())) == 0) return false;
    open = static_cast<std::uint8_t>(open & ~bit_of(send.kind()));
    return true;
  }

  [[nodiscard]] static std::uint8_t bit_of(ActionKind send) {
    return send == ActionKind::SendForward ? 1 : 2;
  }

  const Homes& homes_;
  ActionLists& out_;
  std::vector<Action> sends_;
  std::vector<std::uint8_t> is_open_;  // by pair: bit_of() of the sends without a wait
};

/// Calls look(part, step) for every part of a row until one of them gives a text; that text and its step.
template <class Look>
std::optional<WaitProblem> first_problem(Rank rank, std::span<const Action> row, const Look& look) {
  std::size_t step = 0;
  for (const Action part : row) {
    if (std::string text = look(part, step); !text.empty()) return WaitProblem{rank, step, std::move(text)};
    if (!part.joined()) ++step;
  }
  return std::nullopt;
}

/// At most one reduction of a rank is under way.
std::optional<WaitProblem> reduction_problem(Rank rank, std::span<const Action> row) {
  constexpr std::int32_t kNone = -1;
  std::int32_t pending = kNone;
  std::size_t pending_step = 0;
  const auto look = [&](Action part, std::size_t step) -> std::string {
    const std::int32_t stage = part.stage().value();
    if (part.kind() == ActionKind::ReduceGrad) {
      if (pending != kNone)
        return fmt::format(
            "{0} starts while {1}REDUCE_GRAD has no WAIT_REDUCE_GRAD yet; put {1}WAIT_REDUCE_GRAD in front "
            "of it",
            to_text(part), pending);
      pending = stage;
      pending_step = step;
    } else if (part.kind() == ActionKind::WaitReduceGrad) {
      if (pending != stage)
        return fmt::format("{} waits for a reduction that is not under way; put it behind {}REDUCE_GRAD",
                           to_text(part), stage);
      pending = kNone;
    }
    return {};
  };
  if (auto problem = first_problem(rank, row, look)) return problem;
  if (pending == kNone) return std::nullopt;
  return WaitProblem{rank, pending_step,
                     fmt::format("{0}REDUCE_GRAD has no {0}WAIT_REDUCE_GRAD behind it; add it", pending)};
}

/// Every send once, and one wait behind it.
std::optional<WaitProblem> send_problem(Rank rank, std::span<const Action> row) {
  std::unordered_map<std::uint64_t, std::size_t> open;  // steps of sends without a wait, by key
  std::unordered_set<std::uint64_t> seen;
  const auto look = [&](Action part, std::size_t step) -> std::string {
    if (is_send(part.kind())) {
      if (!seen.insert(part.key()).second) return to_text(part) + " stands twice; leave one of them out";
      open.emplace(part.key(), step);
    } else if (is_send_wait(part.kind())) {
      const Action send = part.as(send_of(part.kind()), part.stage());
      if (open.erase(send.key()) == 0)
        return fmt::format("{} has no {} before it to wait for; put it behind that, or leave it out",
                           to_text(part), to_text(send));
    }
    return {};
  };
  if (auto problem = first_problem(rank, row, look)) return problem;
  if (open.empty()) return std::nullopt;
  return first_problem(rank, row, [&](Action part, std::size_t) {
    return open.contains(part.with_joined(false).key())
               ? fmt::format("{} has no {} behind it; add it", to_text(part),
                             to_text(part.as(wait_of(part.kind()), part.stage())))
               : std::string();
  });
}

template <class Problem>
std::optional<WaitProblem> first_of_rows(const ActionLists& lists, const Problem& problem_of) {
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank)
    if (auto problem = problem_of(rank, lists.row(rank))) return problem;
  return std::nullopt;
}

}  // namespace

ActionKind send_of(ActionKind wait) {
  return wait == ActionKind::WaitSendForward ? ActionKind::SendForward : ActionKind::SendBackward;
}

ActionKind wait_of(ActionKind send) {
  return send == ActionKind::SendForward ? ActionKind::WaitSendForward : ActionKind::WaitSendBackward;
}

ActionLists add_send_waits(const ActionLists& lists, const Homes& homes) {
  ActionLists out;
  out.reserve(lists.num_actions() + lists.num_actions() / 4);
  SendWaits waits(homes, out);
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) waits.add_to(lists.row(rank));
  return out;
}

std::optional<WaitProblem> wait_problem(const ActionLists& lists) {
  if (auto problem = first_of_rows(lists, reduction_problem)) return problem;
  return first_of_rows(lists, send_problem);
}

}  // namespace pipeloom::torch
