#pragma once

// Internals of LaneIndex: the entries of a lane in time order. Included by its sources only.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gui/model/detail/lane_index.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {

/// Kinds of a lane that the schedule has: the channels of its rows.
struct LaneChannels {
  std::array<std::uint8_t, kOpKinds> kinds{};       // [channel]
  std::array<std::uint8_t, kOpKinds> channel_of{};  // [kind]
  std::size_t count = 0;
  LaneChannels(const Schedule& schedule, Lane lane) {
    for (const OpKind kind : kAllOpKinds) {
      if (!schedule.contains(kind) || is_copy(kind) != (lane == Lane::Copies)) continue;
      channel_of[index_of(kind)] = static_cast<std::uint8_t>(count);
      kinds[count++] = static_cast<std::uint8_t>(index_of(kind));
    }
  }
  [[nodiscard]] std::span<const std::uint8_t> places() const { return {kinds.data(), count}; }
};

/// One entry of the queue as it ran.
struct LaneEntry {
  Ticks start = 0;
  Ticks end = 0;
  std::size_t first = 0;  // position in timeline.start
  std::size_t count = 1;
};

/// The entries of a lane within a slice of a queue, in time order.
class LaneIndex::Walk {
 public:
  Walk(const LaneIndex& index, Lane lane) : index_(index), lane_(lane) {}

  /// Calls add(start, end, kind, of) for the ops and gap(start, end) for what lies between the entries. `until` is the end of what came
  /// before the slice, and becomes the end of what it holds.
  template <class Add, class Gap>
  void operator()(OpSlice slice, bool ordered, Ticks& until, Add&& add, Gap&& gap) {
    const auto take = [&](const LaneEntry& entry) {
      if (entry.start > until) gap(until, entry.start);
      until = std::max(until, entry.end);
      add_ops(entry, add);
    };
    if (ordered && !index_.timeline_->schedule->has_groups()) return walk_ops(slice, until, add, gap);
    if (ordered) return for_each_entry_of(slice, take);
    entries_.clear();
    for_each_entry_of(slice, [&](const LaneEntry& entry) { entries_.push_back(entry); });
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const LaneEntry& a, const LaneEntry& b) { return a.start < b.start; });
    for (const LaneEntry& entry : entries_) take(entry);
  }

 private:
  /// The same where every entry is one op that ran.
  template <class Add, class Gap>
  void walk_ops(OpSlice slice, Ticks& until, Add&& add, Gap&& gap) const {
    const Ticks* start = index_.timeline_->start.data();
    const Ticks* end = index_.timeline_->end.data();
    for (std::size_t i = slice.first; i < slice.last; ++i) {
      if (start[i] > until) gap(until, start[i]);
      until = end[i];
      add(start[i], end[i], index_.op_at(i).kind(), 1);
    }
  }

  template <class Fn>
  void for_each_entry_of(OpSlice slice, Fn&& fn) const {
    const Timeline& timeline = *index_.timeline_;
    for (std::size_t i = slice.first; i < slice.last;) {
      LaneEntry entry{timeline.start[i], timeline.end[i], i, 1};
      const bool ran = index_.is_in(i, lane_);
      for (++i; index_.op_at(i - 1).joined() && i < slice.last; ++i, ++entry.count) {
        entry.start = std::min(entry.start, timeline.start[i]);
        entry.end = std::max(entry.end, timeline.end[i]);
      }
      if (ran) fn(entry);
    }
  }

  /// Parts that ran one after another count by their own times, others share the entry's in equal parts.
  template <class Add>
  void add_ops(const LaneEntry& entry, Add&& add) const {
    const Timeline& timeline = *index_.timeline_;
    const auto kind = [&](std::size_t i) { return index_.op_at(i).kind(); };
    if (entry.count == 1) return add(entry.start, entry.end, kind(entry.first), 1);
    bool one_by_one = true;
    for (std::size_t i = entry.first + 1; i < entry.first + entry.count; ++i)
      one_by_one = one_by_one && timeline.start[i] == timeline.end[i - 1];
    for (std::size_t i = entry.first; i < entry.first + entry.count; ++i)
      if (one_by_one)
        add(timeline.start[i], timeline.end[i], kind(i), 1);
      else
        add(entry.start, entry.end, kind(i), entry.count);
  }

  const LaneIndex& index_;
  Lane lane_;
  std::vector<LaneEntry> entries_;
};

}  // namespace pipeloom::gui
