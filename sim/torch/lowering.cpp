// add_send_waits(), and the waits of a file that PyTorch 2.15 refuses.

#include "sim/torch/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/torch/send_budget.hpp"

namespace pipeloom::torch {

namespace {

/// PyTorch 2.15 keeps all stages of a group resident at once, or refuses.
void require_resident_groups(const ActionLists& lists, int max_active_stages) {
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    const auto row = lists.row(rank);
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      if (last - first <= static_cast<std::size_t>(max_active_stages)) return;
      const auto cell = row.subspan(first, last - first);
      const int needed = stages_of(cell);
      if (needed > max_active_stages)
        throw InputError(fmt::format(
            "PyTorch 2.15 refuses {}: it needs {} stages resident at once, and max_active_stages is {}; "
            "allow {} or more",
            cell_text(cell), needed, max_active_stages, needed));
    });
  }
}

/// One look-ahead for every rank, where they are given one by one.
void require_lookaheads(const Lookahead& lookahead, int ranks) {
  if (lookahead.kind == Lookahead::Kind::ByRank &&
      lookahead.by_rank.size() != static_cast<std::size_t>(ranks))
    throw InputError(fmt::format("unshard_lookahead takes one number per rank, {} here, not {}", ranks,
                                 lookahead.by_rank.size()));
}

ResidencyOptions residency_of(const LowerOptions& options) {
  const bool old = options.target == Target::Legacy;
  const bool newest = options.target == Target::V215;
  ResidencyOptions out;
  out.max_active_stages = options.max_active_stages;
  out.lookahead = options.lookahead;
  out.reshard_at_end = !old;
  out.reshard_as_gathered = newest;
  out.reduce_grad = !old;
  if (newest) out.reduce_wait = options.defer_reduce_waits ? ReduceWait::Late : ReduceWait::AtOnce;
  return out;
}

/// Why the target lacks the options that only 2.15 has; "" if it is 2.15, or if none of them is asked for.
std::string refusal_before_215(const LowerOptions& options) {
  if (options.target == Target::V215) return {};
  const std::string_view name = name_of(options.target);
  if (options.max_active_stages != kMaxActiveStages)
    return fmt::format("PyTorch {} always keeps {} stages resident, not {}; take the target 2.15", name,
                       kMaxActiveStages, options.max_active_stages);
  if (options.lookahead != Lookahead())
    return fmt::format(
        "PyTorch {} gathers every stage that may be resident; take the target 2.15 for another look-ahead",
        name);
  if (options.defer_reduce_waits || options.max_open_sends)
    return fmt::format("PyTorch {} has no waits that could be moved; take the target 2.15", name);
  return {};
}

}  // namespace

int Lookahead::of(Rank rank, int max_active_stages) const {
  if (kind == Kind::ByRank) return by_rank[rank.at()];
  return kind == Kind::Full ? max_active_stages : std::min(rank.value() + 2, max_active_stages);
}

int stages_of(std::span<const Action> cell) {
  std::vector<Stage> stages;
  for (const Action part : cell) stages.push_back(part.stage());
  std::sort(stages.begin(), stages.end());
  return static_cast<int>(std::unique(stages.begin(), stages.end()) - stages.begin());
}

std::string_view name_of(Target target) {
  return kTargetNames[static_cast<std::size_t>(target)];
}

Target find_target(std::string_view name, const Where& where) {
  constexpr std::string_view kPrefix = "torch-";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  for (std::size_t i = 0; i < kTargetNames.size(); ++i)
    if (kTargetNames[i] == name) return static_cast<Target>(i);
  throw InputError::unknown_name(where, "PyTorch release", shortened(name, 64),
                                 {kTargetNames.begin(), kTargetNames.end()});
}

std::string refusal(const LowerOptions& options) {
  if (options.max_active_stages < 1)
    return fmt::format("max_active_stages is {}; at least one stage must be resident",
                       options.max_active_stages);
  for (const int stages : options.lookahead.by_rank)
    if (stages < 1 || stages > options.max_active_stages)
      return fmt::format("unshard_lookahead has {}; allowed is 1 to the {} stages that may be resident",
                         stages, options.max_active_stages);
  if (options.max_open_sends && *options.max_open_sends < 1)
    return fmt::format("max_outstanding_sends is {}; a rank must be able to send", *options.max_open_sends);
  if (std::string text = refusal_before_215(options); !text.empty()) return text;
  if (options.defer_receives && options.target < Target::V213)
    return fmt::format("PyTorch {} cannot defer receives; take the target 2.13 or a later one",
                       name_of(options.target));
  return {};
}

ActionLists lower(const Schedule& schedule, const LowerOptions& options) {
  if (const std::string text = refusal(options); !text.empty()) throw InputError(text);
  const Homes homes(schedule);
  ActionLists lists = to_actions(schedule);
  if (options.merge) lists = merge_backwards(lists);
  const bool waits = options.target == Target::V215;
  require_lookaheads(options.lookahead, lists.ranks());
  if (waits) require_resident_groups(lists, options.max_active_stages);
  lists = add_residency(lists, homes, residency_of(options));
  Transfers transfers = add_transfers(lists, homes);
  if (transfers.stuck)
    throw ScheduleError(
        fmt::format("the schedule hangs, so it cannot be lowered: {}", describe(*transfers.stuck, lists)));
  lists = std::move(transfers.lists);
  if (waits) lists = add_send_waits(lists, homes);
  if (options.defer_receives) lists = defer_receives(std::move(lists), homes);
  if (options.max_open_sends) lists = limit_open_sends(lists, homes, *options.max_open_sends);
  return lists;
}

ActionLists merge_backwards(const ActionLists& lists) {
  ActionLists out;
  out.reserve(lists.num_actions());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    out.begin_rank();
    const auto row = lists.row(rank);
    Action held;  // a lone I that may find its W next; else idle
    const auto release = [&] {
      if (!held.is_idle()) out.add(held);
      held = Action();
    };
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      const Action action = row[first];
      if (action.is_idle()) return;
      if (last - first == 1 && action.kind() == ActionKind::BackwardWeight &&
          held == action.as(ActionKind::BackwardInput, action.stage())) {
        held = Action();
        out.add(action.as(ActionKind::Backward, action.stage()));
        return;
      }
      release();
      if (last - first == 1 && action.kind() == ActionKind::BackwardInput)
        held = action;
      else
        out.add_cell(row.subspan(first, last - first));
    });
    release();
  }
  return out;
}

std::string describe(const Stuck& stuck, const ActionLists& lists) {
  constexpr int kShown = 4;
  std::string text;
  int waiting = 0;
  for (std::size_t r = 0; r < stuck.heads.size(); ++r) {
    const auto row = lists.row(Rank(static_cast<std::int32_t>(r)));
    if (stuck.heads[r] == row.size()) continue;
    if (waiting++ >= kShown) continue;
    std::size_t last = stuck.heads[r] + 1;
    while (row[last - 1].joined() && last < row.size()) ++last;
    text += fmt::format("{}rank {} {}at {}", text.empty() ? "" : ", ", r, text.empty() ? "stands " : "",
                        cell_text(row.subspan(stuck.heads[r], last - stuck.heads[r])));
  }
  if (waiting > kShown) text += fmt::format(", and {} more ranks wait", waiting - kShown);
  return text;
}

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

  /// Returns true if the send was open.
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

/// Every send once, and one wait after it.
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
