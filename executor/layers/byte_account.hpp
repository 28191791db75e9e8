#pragma once

// What the passes of a rank hold, op by op, and the most it ever was.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>

namespace pipeloom::executor {

/// Counts as the simulator does: what an overlapped group frees counts as held until all of its ops have ended, whichever ends first.
/// Its owner's lock guards all but peak().
class ByteAccount {
 public:
  ByteAccount(const Schedule& schedule, Rank rank) {
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     if (last - first == 1) return;
                     for (std::size_t i = first; i < last; ++i)
                       group_of_[schedule.ops()[i].key()] = groups_.size();
                     groups_.push_back({.parts = static_cast<int>(last - first)});
                   });
  }

  /// Every op of the rank's queue runs once from here on.
  void begin_step() {
    for (Group& group : groups_) group.running = group.parts;
  }

  /// The op has ended, and so much more is held than before, or less.
  void change(Op op, std::ptrdiff_t bytes) {
    held_ += std::max<std::ptrdiff_t>(bytes, 0);
    peak_ = std::max(peak_.load(), static_cast<std::size_t>(held_));
    const std::ptrdiff_t freed = std::max<std::ptrdiff_t>(-bytes, 0);
    const auto found = group_of_.find(op.key());
    if (found == group_of_.end()) {
      held_ -= freed;
      return;
    }
    Group& group = groups_[found->second];
    group.freed += freed;
    if (--group.running == 0) held_ -= std::exchange(group.freed, 0);
  }

  [[nodiscard]] std::size_t peak() const { return peak_; }

 private:
  struct Group {
    int parts = 0;
    int running = 0;           // of this step, not ended
    std::ptrdiff_t freed = 0;  // by those that ended
  };

  std::unordered_map<std::uint64_t, std::size_t> group_of_;  // by key of the op
  std::vector<Group> groups_;
  std::ptrdiff_t held_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

}  // namespace pipeloom::executor
