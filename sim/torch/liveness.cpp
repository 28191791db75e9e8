// add_residency(): UNSHARD, RESHARD, and the reduction of gradients.

#include "sim/torch/liveness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "sim/torch/lowering.hpp"

namespace pipeloom::torch {

namespace {

constexpr std::size_t kMaxProblems = 20;

/// One stage and microbatch while a row is read.
struct Open {
  std::size_t lifetime = 0;
  bool has_input = false;
  bool released = false;
};

class RowReader {
 public:
  RowReader(Rank rank, std::vector<std::string>& problems) : rank_(rank), problems_(problems) {}

  std::vector<Lifetime> read(std::span<const Action> row) {
    std::size_t position = 0;
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      if (row[first].is_idle()) return;
      for (std::size_t i = first; i < last; ++i) read(row[i], position);
      ++position;
    });
    if (released_ < lifetimes_.size()) report_open();
    return std::move(lifetimes_);
  }
  [[nodiscard]] bool sound() const { return sound_; }

 private:
  void read(Action action, std::size_t position) {
    const ActionKind kind = action.kind();
    if (kind > ActionKind::BackwardWeight) return;
    const auto key = action.as(ActionKind::Forward, action.stage()).key();
    if (kind == ActionKind::Forward) {
      const auto [found, added] = open_.try_emplace(key, Open{lifetimes_.size()});
      if (!added) return problem(action, "stands twice; leave one of them out");
      lifetimes_.push_back({action.stage(), action.microbatch(), position, position, 0});
      return;
    }
    const auto found = open_.find(key);
    if (found == open_.end()) return problem(action, "has no F before it; add the F, or leave this out");
    Open& open = found->second;
    if (kind == ActionKind::BackwardInput) {
      if (open.has_input || open.released)
        return problem(action, "comes after another backward of it; leave one of them out");
      open.has_input = true;
      return;
    }
    if (open.released) return problem(action, "releases what is released; leave one of its backwards out");
    if (kind == ActionKind::BackwardWeight && !open.has_input)
      return problem(action, "has no I before it; add the I, or write B");
    if (kind == ActionKind::Backward && open.has_input)
      return problem(action, "comes after an I of it; write W");
    open.released = true;
    ++released_;
    lifetimes_[open.lifetime].last = position;
  }

  void report_open() {
    std::vector<std::uint8_t> released(lifetimes_.size(), 0);
    for (const auto& [key, open] : open_) released[open.lifetime] = open.released ? 1 : 0;
    for (std::size_t i = 0; i < lifetimes_.size(); ++i)
      if (released[i] == 0)
        problem(Action(ActionKind::Forward, lifetimes_[i].stage, lifetimes_[i].microbatch),
                "is never released by a B or W; add one");
  }

  void problem(Action action, std::string_view what) {
    sound_ = false;
    if (problems_.size() < kMaxProblems)
      problems_.push_back(fmt::format("rank {}: {} {}", rank_.value(), to_text(action), what));
  }

  Rank rank_;
  std::vector<std::string>& problems_;
  std::unordered_map<std::uint64_t, Open> open_;  // by the key of the F
  std::vector<Lifetime> lifetimes_;
  std::size_t released_ = 0;
  bool sound_ = true;
};

/// One lifetime per microbatch, in order of their begins.
std::vector<Lifetime> merged(const std::vector<Lifetime>& lifetimes) {
  std::vector<Lifetime> out;
  std::unordered_map<std::int32_t, std::size_t> of_microbatch;
  for (const Lifetime& one : lifetimes) {
    const auto [found, added] = of_microbatch.try_emplace(one.microbatch.value(), out.size());
    if (added)
      out.push_back(one);
    else
      out[found->second].last = std::max(out[found->second].last, one.last);
  }
  return out;
}

/// Gives each lifetime the lowest slot that is free when it begins; returns how many there are.
std::int32_t assign_slots(std::vector<Lifetime>& lifetimes) {
  using End = std::pair<std::size_t, std::int32_t>;  // last position, slot
  std::priority_queue<End, std::vector<End>, std::greater<>> alive;
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> free;
  std::int32_t slots = 0;
  for (Lifetime& one : lifetimes) {
    for (; !alive.empty() && alive.top().first < one.first; alive.pop()) free.push(alive.top().second);
    if (free.empty()) free.push(slots++);
    one.slot = free.top();
    free.pop();
    alive.emplace(one.last, one.slot);
  }
  return slots;
}

}  // namespace

Liveness live_activations(const ActionLists& lists, LivenessUnit unit) {
  Liveness out;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    RowReader reader(rank, out.problems);
    RankLiveness of_rank;
    of_rank.lifetimes = reader.read(lists.row(rank));
    if (unit == LivenessUnit::Microbatch) of_rank.lifetimes = merged(of_rank.lifetimes);
    if (reader.sound()) of_rank.slots = assign_slots(of_rank.lifetimes);
    out.ranks.push_back(std::move(of_rank));
  }
  return out;
}

namespace {

/// Just enough cells of a row to hold `count` distinct stages, moved along cell by cell.
class StageWindow {
 public:
  explicit StageWindow(int stages) : uses_(static_cast<std::size_t>(stages), 0) {}

  /// REQUIRES: leave() was called for every cell of the row before.
  void begin(std::span<const Action> row, int count) {
    row_ = row;
    count_ = count;
    ahead_ = 0;
    distinct_ = 0;
  }
  /// Calls enter(stage) for stages that were not in the window.
  template <class Enter>
  void look_ahead(const Enter& enter) {
    while (ahead_ < row_.size() && distinct_ < count_) {
      bool more = true;
      for (; more; ++ahead_) {
        more = row_[ahead_].joined() && ahead_ + 1 < row_.size();
        if (row_[ahead_].is_idle()) continue;
        const Stage stage = row_[ahead_].stage();
        if (uses_[stage.at()]++ > 0) continue;
        ++distinct_;
        enter(stage);
      }
    }
  }
  /// Takes the first cell out.
  void leave(std::span<const Action> cell) {
    for (const Action part : cell)
      if (--uses_[part.stage().at()] == 0) --distinct_;
  }
  [[nodiscard]] bool has(Stage stage) const { return uses_[stage.at()] > 0; }

 private:
  std::span<const Action> row_;
  int count_ = 0;
  std::vector<std::int32_t> uses_;  // by stage: cells of the window that use it
  std::size_t ahead_ = 0;           // the window ends here
  int distinct_ = 0;
};

/// The rows of add_residency(), one at a time.
class ResidentRows {
 public:
  ResidentRows(ResidencyOptions options, int stages, int units)
      : options_(std::move(options)),
        units_(units),
        resident_(stages),
        ahead_(stages),
        gathered_as_(static_cast<std::size_t>(stages), 0),
        backwards_(static_cast<std::size_t>(stages), 0) {}

  /// The tables are as they were when this returns, ready for the next row.
  void lower(Rank rank, std::span<const Action> row, ActionLists& out) {
    resident_.begin(row, options_.max_active_stages);
    ahead_.begin(row, options_.lookahead.of(rank, options_.max_active_stages));
    for_each_cell(row, [&](std::size_t first, std::size_t last) {
      const auto cell = row.subspan(first, last - first);
      if (cell[0].is_idle()) return;
      resident_.look_ahead([](Stage) {});
      reshard(out);
      ahead_.look_ahead([&](Stage stage) { unshard(stage, out); });
      out.add_cell(cell);
      if (options_.reduce_grad) reduce(cell, out);
      leave(cell);
    });
    if (options_.reshard_at_end) reshard(out);
    if (pending_) out.add(Action(ActionKind::WaitReduceGrad, *pending_));
    pending_.reset();
    leaving_.clear();
    gathered_ = 0;
    for (const Action action : row) {
      gathered_as_[action.stage().at()] = 0;
      backwards_[action.stage().at()] = 0;
    }
  }

 private:
  void leave(std::span<const Action> cell) {
    resident_.leave(cell);
    ahead_.leave(cell);
    for (const Action part : cell) leaving_.push_back(part.stage());
  }

  void reshard(ActionLists& out) {
    const auto key = [&](Stage stage) {
      return options_.reshard_as_gathered ? gathered_as_[stage.at()] : stage.value();
    };
    std::sort(leaving_.begin(), leaving_.end(), [&](Stage a, Stage b) { return key(a) < key(b); });
    for (const Stage stage : leaving_) {
      if (resident_.has(stage) || gathered_as_[stage.at()] == 0) continue;
      gathered_as_[stage.at()] = 0;
      out.add(Action(ActionKind::Reshard, stage));
    }
    leaving_.clear();
  }

  void unshard(Stage stage, ActionLists& out) {
    if (gathered_as_[stage.at()] != 0) return;
    gathered_as_[stage.at()] = ++gathered_;
    out.add(Action(ActionKind::Unshard, stage));
  }

  void reduce(std::span<const Action> cell, ActionLists& out) {
    for (const Action part : cell) {
      if (part.kind() != ActionKind::Backward && part.kind() != ActionKind::BackwardWeight) continue;
      if (++backwards_[part.stage().at()] != units_) continue;
      if (pending_) out.add(Action(ActionKind::WaitReduceGrad, *pending_));
      pending_.reset();
      out.add(Action(ActionKind::ReduceGrad, part.stage()));
      if (options_.reduce_wait == ReduceWait::Late) pending_ = part.stage();
      if (options_.reduce_wait == ReduceWait::AtOnce)
        out.add(Action(ActionKind::WaitReduceGrad, part.stage()));
    }
  }

  ResidencyOptions options_;
  std::int32_t units_;
  StageWindow resident_;  // stages that may stay
  StageWindow ahead_;     // stages that are gathered
  std::vector<std::int32_t>
      gathered_as_;  // by stage: which UNSHARD of the row it was, from 1; 0 if it is not gathered
  std::vector<std::int32_t> backwards_;
  std::vector<Stage> leaving_;  // of the cell before; twice where a group has a stage twice
  std::int32_t gathered_ = 0;
  std::optional<Stage> pending_;  // its reduction waits
};

}  // namespace

ActionLists add_residency(const ActionLists& lists, const Homes& homes, const ResidencyOptions& options) {
  ActionLists out;
  out.reserve(lists.num_actions() + lists.num_actions() / 8);
  ResidentRows rows(options, homes.stages(), homes.units());
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    out.begin_rank();
    rows.lower(rank, lists.row(rank), out);
  }
  return out;
}

}  // namespace pipeloom::torch
