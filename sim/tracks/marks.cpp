#include "sim/tracks/marks.hpp"

#include <algorithm>

#include "sim/kind_masks.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::tracks {

std::int64_t Bins::at(Ticks time) const {
  const double share = static_cast<double>(time - range.start) / static_cast<double>(range.length());
  auto bin =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(count)), 0, count - 1);
  while (bin > 0 && edge(bin) > time) --bin;
  while (bin + 1 < count && edge(bin + 1) <= time) ++bin;
  return bin;
}

TimelineIndex::TimelineIndex(const Timeline& timeline, Lane lane) : timeline_(&timeline) {
  rows_.resize(static_cast<std::size_t>(timeline.schedule->ranks()));
  for (Rank rank(0); rank.value() < ranks(); ++rank) {
    find_entries(rows_[rank.at()], rank, lane);
    add_up(rows_[rank.at()]);
  }
}

void TimelineIndex::find_entries(Row& row, Rank rank, Lane lane) const {
  const Schedule& schedule = *timeline_->schedule;
  row.first_op = schedule.queue_begin(rank);
  row.queue = schedule.queue(rank).size();
  const auto steps = static_cast<std::size_t>(timeline_->steps);
  const auto by_start = [&](std::uint32_t a, std::uint32_t b) {
    const auto start_of = [&](std::size_t i) {
      return entry_at(timeline_->index(static_cast<int>(i / row.queue), row.first_op + i % row.queue)).start;
    };
    return start_of(a) < start_of(b);
  };
  for (std::size_t step = 0; step < steps; ++step)
    for_each_entry(schedule, row.first_op, row.first_op + row.queue, [&](std::size_t first, std::size_t) {
      if (is_copy(schedule.ops()[first].kind()) == (lane == Lane::Copies))
        row.order.push_back(static_cast<std::uint32_t>(step * row.queue + first - row.first_op));
    });
  row.size = row.order.size();
  // Only measured timelines can be out of queue order.
  if (!std::is_sorted(row.order.begin(), row.order.end(), by_start))
    std::stable_sort(row.order.begin(), row.order.end(), by_start);
  else if (row.size == steps * row.queue)
    row.order = {};
}

void TimelineIndex::add_up(Row& row) {
  row.before = BlockSums<BusyByKind>(row.size, [&](BusyByKind& busy, std::size_t i) {
    const DrawnEntry one = entry(row, i);
    const Ticks length = one.end - one.start;
    span_.start = some_ ? std::min(span_.start, one.start) : one.start;
    span_.end = std::max(span_.end, one.end);
    some_ = true;
    if (length > 0) {
      shortest_ = positive_ ? std::min(shortest_, length) : length;
      positive_ = true;
    }
    add_entry(busy, one);
  });
}

std::size_t TimelineIndex::position(const Row& row, std::size_t i) const {
  const std::size_t counted = row.order.empty() ? i : row.order[i];
  if (timeline_->steps == 1) return row.first_op + counted;
  return timeline_->index(static_cast<int>(counted / row.queue), row.first_op + counted % row.queue);
}

DrawnEntry TimelineIndex::entry_at(std::size_t position) const {
  DrawnEntry entry{timeline_->start[position], timeline_->end[position], position, 1};
  const Schedule& schedule = *timeline_->schedule;
  if (!schedule.has_groups()) return entry;
  const auto ops = schedule.ops();
  for (std::size_t op = position % ops.size(); ops[op].joined(); ++op, ++entry.count) {
    entry.start = std::min(entry.start, timeline_->start[position + entry.count]);
    entry.end = std::max(entry.end, timeline_->end[position + entry.count]);
  }
  return entry;
}

/// In equal parts for its ops; what does not divide goes to the first.
void TimelineIndex::add_entry(BusyByKind& busy, const DrawnEntry& entry) const {
  const auto ops = timeline_->schedule->ops();
  const auto count = static_cast<Ticks>(entry.count);
  const Ticks duration = entry.end - entry.start;
  const std::size_t first = entry.op % ops.size();
  for (std::size_t i = 0; i < entry.count; ++i)
    busy[index_of(ops[first + i].kind())] += duration / count + (i == 0 ? duration % count : 0);
}

std::size_t TimelineIndex::first_after(const Row& row, std::size_t low, Ticks time) const {
  return first_that(low, row.size, [&](std::size_t i) { return entry(row, i).end > time; });
}

BusyByKind TimelineIndex::busy_up_to(const Row& row, std::size_t i) const {
  return row.before.up_to(i, [&](BusyByKind& busy, std::size_t k) { add_entry(busy, entry(row, k)); });
}

BusyByKind TimelineIndex::busy_before(const Row& row, Ticks time) const {
  const std::size_t after =
      first_that(0, row.size, [&](std::size_t i) { return entry(row, i).start >= time; });
  if (after == 0) return {};
  const DrawnEntry last = entry(row, after - 1);
  BusyByKind busy = busy_up_to(row, after - 1);
  if (last.end <= time) {
    add_entry(busy, last);
    return busy;
  }
  // The entry that `time` cuts: sums over kinds are scaled, not the kinds, so that rounding loses no tick.
  BusyByKind whole{};
  add_entry(whole, last);
  Ticks sum = 0;
  Ticks given = 0;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    sum += whole[kind];
    const Ticks scaled = multiply_divide(sum, time - last.start, last.end - last.start);
    busy[kind] += scaled - given;
    given = scaled;
  }
  return busy;
}

BusyByKind TimelineIndex::busy(Rank rank, Ticks from, Ticks to) const {
  BusyByKind busy = busy_before(rows_[rank.at()], to);
  const BusyByKind before = busy_before(rows_[rank.at()], from);
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) busy[kind] -= before[kind];
  return busy;
}

void TimelineIndex::add_busy(Rank rank, const Bins& bins, std::vector<BusyByKind>& sums) const {
  const Row& row = rows_[rank.at()];
  Ticks seen = bins.range.start;
  // From one bin in which something runs to the next: of many ranks most are idle nearly everywhere.
  for (std::size_t i = 0;;) {
    i = first_after(row, i, seen);
    if (i == row.size) return;
    const Ticks start = entry(row, i).start;
    if (start >= bins.range.end) return;
    const std::int64_t bin = bins.at(std::max(seen, start));
    const Span span = bins.span_of(bin);
    const BusyByKind one = busy(rank, span.start, span.end);
    BusyByKind& sum = sums[static_cast<std::size_t>(bin)];
    for (std::size_t k = 0; k < kOpKinds; ++k) sum[k] += one[k];
    if (bin + 1 == bins.count) return;
    seen = span.end;
  }
}

std::vector<Mark> TimelineIndex::marks(Rank rank, Span range, int count) const {
  std::vector<Mark> out;
  const Bins bins{range, count};
  const Row& row = rows_[rank.at()];
  const Ticks wide = std::max<Ticks>(1, bins.edge(1) - range.start);
  std::size_t i = first_after(row, 0, range.start);
  Ticks cursor = range.start;
  while (i < row.size && cursor < range.end) {
    const DrawnEntry next = entry(row, i);
    if (next.start >= range.end) break;
    Mark mark{std::max(next.start, cursor), 0, i, i + 1, false, {}};
    if (next.end - next.start >= wide) {
      mark.end = std::min(next.end, range.end);
      ++i;
    } else {
      // All that begin in this bin; only the last of them can be wide or reach beyond it.
      const std::int64_t bin = bins.at(mark.start);
      mark.merged = true;
      mark.start = std::max(bins.edge(bin), cursor);
      mark.end = bins.edge(bin + 1);
      mark.last = first_that(i, row.size, [&](std::size_t k) { return entry(row, k).start >= mark.end; });
      i = mark.last;
      const DrawnEntry tail = entry(row, mark.last - 1);
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

}  // namespace pipeloom::tracks
