#include "sim/torch/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"
#include "sim/torch/send_waits.hpp"

namespace pipeloom::torch {
namespace {

/// One row under the UNSHARD/RESHARD rule: a window over the cells to come that holds just enough distinct stages, moved
/// along cell by cell.
class ResidentRow {
 public:
  ResidentRow(const ResidencyOptions& options, int stages, int units)
      : options_(options),
        units_(units),
        uses_(static_cast<std::size_t>(stages), 0),
        active_(static_cast<std::size_t>(stages), 0),
        backwards_(static_cast<std::size_t>(stages), 0) {}

  /// The tables are as they were when this returns, ready for the next row.
  void lower(std::span<const Action> row, ActionLists& out) {
    row_ = row;
    ahead_ = 0;
    distinct_ = 0;
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      const auto cell = row.subspan(first, last - first);
      if (cell[0].is_idle()) return;
      look_ahead();
      reshard(out);
      unshard(out);
      out.add_cell(cell);
      if (options_.reduce_grad) reduce(cell, out);
      leave(cell);
    });
    if (options_.reshard_at_end) reshard(out);
    leaving_.clear();
    for (const Action action : row) {
      active_[action.stage().at()] = 0;
      backwards_[action.stage().at()] = 0;
    }
  }

 private:
  void look_ahead() {
    while (ahead_ < row_.size() && distinct_ < options_.max_active_stages) {
      bool more = true;
      for (; more; ++ahead_) {
        more = row_[ahead_].joined() && ahead_ + 1 < row_.size();
        if (row_[ahead_].is_idle()) continue;
        const Stage stage = row_[ahead_].stage();
        if (uses_[stage.at()]++ > 0) continue;
        ++distinct_;
        entering_.push_back(stage);
      }
    }
  }

  void leave(std::span<const Action> cell) {
    for (const Action part : cell) {
      if (--uses_[part.stage().at()] > 0) continue;
      --distinct_;
      leaving_.push_back(part.stage());
    }
  }

  void reshard(ActionLists& out) {
    std::sort(leaving_.begin(), leaving_.end());
    for (const Stage stage : leaving_) {
      if (uses_[stage.at()] > 0) continue;
      active_[stage.at()] = 0;
      out.add(Action(ActionKind::Reshard, stage));
    }
    leaving_.clear();
  }

  void unshard(ActionLists& out) {
    for (const Stage stage : entering_) {
      if (active_[stage.at()] != 0) continue;
      active_[stage.at()] = 1;
      out.add(Action(ActionKind::Unshard, stage));
    }
    entering_.clear();
  }

  void reduce(std::span<const Action> cell, ActionLists& out) {
    for (const Action part : cell) {
      if (part.kind() != ActionKind::Backward && part.kind() != ActionKind::BackwardWeight) continue;
      if (++backwards_[part.stage().at()] != units_) continue;
      out.add(Action(ActionKind::ReduceGrad, part.stage()));
      if (options_.wait_reduce_grad) out.add(Action(ActionKind::WaitReduceGrad, part.stage()));
    }
  }

  std::span<const Action> row_;
  ResidencyOptions options_;
  std::int32_t units_;
  std::vector<std::int32_t> uses_;  // by stage: cells of the window that use it
  std::vector<std::uint8_t> active_;
  std::vector<std::int32_t> backwards_;
  std::vector<Stage> entering_;
  std::vector<Stage> leaving_;
  std::size_t ahead_ = 0;  // the window ends here
  int distinct_ = 0;
};

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

}  // namespace

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
  if (options.max_active_stages != kMaxActiveStages && options.target != Target::V215)
    return fmt::format("PyTorch {} always keeps {} stages resident, not {}; take the target 2.15",
                       name_of(options.target), kMaxActiveStages, options.max_active_stages);
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
  const bool old = options.target == Target::Legacy;
  const bool waits = options.target == Target::V215;
  if (waits) require_resident_groups(lists, options.max_active_stages);
  lists = add_residency(lists, homes, {options.max_active_stages, !old, !old, waits});
  Transfers transfers = add_transfers(lists, homes);
  if (transfers.stuck)
    throw ScheduleError(
        fmt::format("the schedule hangs, so it cannot be lowered: {}", describe(*transfers.stuck, lists)));
  if (waits) transfers.lists = add_send_waits(transfers.lists, homes);
  if (!options.defer_receives) return std::move(transfers.lists);
  return defer_receives(std::move(transfers.lists), homes);
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

ActionLists add_residency(const ActionLists& lists, const Homes& homes, const ResidencyOptions& options) {
  ActionLists out;
  out.reserve(lists.num_actions() + lists.num_actions() / 8);
  ResidentRow row(options, homes.stages(), homes.units());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    out.begin_rank();
    row.lower(lists.row(rank), out);
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

}  // namespace pipeloom::torch
