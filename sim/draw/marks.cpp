#include "sim/draw/marks.hpp"

#include <algorithm>

#include "sim/kinds.hpp"

namespace pipeloom::draw {
namespace {

/// Adds `duration` of an entry to `busy`, in equal parts for its ops; what does not divide goes to the first.
void add_entry(BusyByKind& busy, const Timeline& timeline, const DrawnEntry& entry, Ticks duration) {
  const auto ops = timeline.schedule->ops();
  const auto count = static_cast<Ticks>(entry.count);
  for (std::size_t i = 0; i < entry.count; ++i) {
    const Op op = ops[(entry.op + i) % ops.size()];
    busy[index_of(op.kind())] += duration / count + (i == 0 ? duration % count : 0);
  }
}

DrawnEntry drawn(const Timeline& timeline, int step, std::size_t first, std::size_t last) {
  DrawnEntry entry{timeline.start_of(first, step), timeline.end_of(first, step), timeline.index(step, first),
                   last - first};
  for (std::size_t op = first + 1; op < last; ++op) {
    entry.start = std::min(entry.start, timeline.start_of(op, step));
    entry.end = std::max(entry.end, timeline.end_of(op, step));
  }
  return entry;
}

/// Edge `k` of `bins` equal parts of `range`.
Ticks edge(Span range, int bins, std::int64_t k) {
  return range.start + multiply_divide(range.length(), k, bins);
}

/// Number of the bin that holds `time`.
std::int64_t bin_of(Span range, int bins, Ticks time) {
  auto k = static_cast<std::int64_t>(static_cast<double>(time - range.start) /
                                     static_cast<double>(range.length()) * bins);
  k = std::clamp<std::int64_t>(k, 0, bins - 1);
  while (k > 0 && edge(range, bins, k) > time) --k;
  while (k + 1 < bins && edge(range, bins, k + 1) <= time) ++k;
  return k;
}

}  // namespace

TimelineIndex::TimelineIndex(const Timeline& timeline, Lane lane) {
  const Schedule& schedule = *timeline.schedule;
  const auto count = schedule.num_entries() * static_cast<std::size_t>(timeline.steps);
  entries_.reserve(count);
  prefix_.reserve(count + static_cast<std::size_t>(schedule.ranks()));
  begin_.push_back(0);
  for (Rank rank(0); rank.value() < schedule.ranks(); ++rank) {
    const auto begin = static_cast<std::ptrdiff_t>(entries_.size());
    for (int step = 0; step < timeline.steps; ++step) {
      for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       const bool beside = is_copy(schedule.ops()[first].kind());
                       if (beside != (lane == Lane::Copies)) return;
                       entries_.push_back(drawn(timeline, step, first, last));
                     });
    }
    // Only measured timelines can be out of queue order.
    const auto by_start = [](const DrawnEntry& a, const DrawnEntry& b) { return a.start < b.start; };
    if (!std::is_sorted(entries_.begin() + begin, entries_.end(), by_start)) {
      std::stable_sort(entries_.begin() + begin, entries_.end(), by_start);
    }
    begin_.push_back(entries_.size());
  }
  add_up(timeline);
}

void TimelineIndex::add_up(const Timeline& timeline) {
  bool positive = false;
  for (Rank rank(0); rank.value() < ranks(); ++rank) {
    BusyByKind busy{};
    for (const DrawnEntry& entry : entries(rank)) {
      const Ticks length = entry.end - entry.start;
      span_.start = prefix_.empty() ? entry.start : std::min(span_.start, entry.start);
      span_.end = std::max(span_.end, entry.end);
      if (length > 0) {
        shortest_ = positive ? std::min(shortest_, length) : length;
        positive = true;
      }
      prefix_.push_back(busy);
      add_entry(busy, timeline, entry, length);
    }
    prefix_.push_back(busy);
  }
}

std::span<const DrawnEntry> TimelineIndex::entries(Rank rank) const {
  const std::size_t begin = begin_[rank.at()];
  return std::span<const DrawnEntry>(entries_).subspan(begin, begin_[rank.at() + 1] - begin);
}

BusyByKind TimelineIndex::busy_before(Rank rank, Ticks time) const {
  const auto all = entries(rank);
  const BusyByKind* const prefix = &prefix_[begin_[rank.at()] + rank.at()];
  const auto after =
      std::partition_point(all.begin(), all.end(), [&](const DrawnEntry& e) { return e.start < time; });
  if (after == all.begin()) return {};
  const auto i = static_cast<std::size_t>(after - all.begin()) - 1;
  if (all[i].end <= time) return prefix[i + 1];
  // The entry that `time` cuts: sums over kinds are scaled, not the kinds, so that rounding loses no tick.
  BusyByKind busy = prefix[i];
  Ticks sum = 0;
  Ticks given = 0;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    sum += prefix[i + 1][kind] - prefix[i][kind];
    const Ticks scaled = multiply_divide(sum, time - all[i].start, all[i].end - all[i].start);
    busy[kind] += scaled - given;
    given = scaled;
  }
  return busy;
}

BusyByKind TimelineIndex::busy(Rank rank, Ticks from, Ticks to) const {
  BusyByKind busy = busy_before(rank, to);
  const BusyByKind before = busy_before(rank, from);
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) busy[kind] -= before[kind];
  return busy;
}

std::vector<Mark> TimelineIndex::marks(Rank rank, Span range, int bins) const {
  std::vector<Mark> out;
  const auto all = entries(rank);
  const Ticks wide = std::max<Ticks>(1, edge(range, bins, 1) - range.start);
  const auto first_from = [&](std::size_t begin, Ticks time) {
    const auto it = std::partition_point(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(),
                                         [&](const DrawnEntry& e) { return e.start < time; });
    return static_cast<std::size_t>(it - all.begin());
  };
  std::size_t i = static_cast<std::size_t>(
      std::partition_point(all.begin(), all.end(),
                           [&](const DrawnEntry& e) { return e.end <= range.start; }) -
      all.begin());
  Ticks cursor = range.start;
  while (i < all.size() && all[i].start < range.end && cursor < range.end) {
    Mark mark{std::max(all[i].start, cursor), 0, i, i + 1, false, {}};
    if (all[i].end - all[i].start >= wide) {
      mark.end = std::min(all[i].end, range.end);
      ++i;
    } else {
      // All that begin in this bin; only the last of them can be wide or reach beyond it.
      const std::int64_t bin = bin_of(range, bins, mark.start);
      mark.merged = true;
      mark.start = std::max(edge(range, bins, bin), cursor);
      mark.end = edge(range, bins, bin + 1);
      mark.last = first_from(i, mark.end);
      i = mark.last;
      const DrawnEntry& tail = all[mark.last - 1];
      if (tail.end - tail.start >= wide) {
        mark.end = tail.start;
        i = --mark.last;
      } else if (tail.end > mark.end) {
        i = mark.last - 1;
      }
    }
    mark.busy = busy(rank, mark.start, mark.end);
    cursor = mark.end;
    if (total(mark.busy) > 0) out.push_back(mark);
  }
  return out;
}

}  // namespace pipeloom::draw
