#include "sim/torch/liveness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

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

}  // namespace pipeloom::torch
