#include "sim/tracks/marks.hpp"

#include <algorithm>
#include <limits>
#include <optional>

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

TimelineIndex::TimelineIndex(const Timeline& timeline, Lane lane)
    : timeline_(&timeline), groups_(timeline.schedule->has_groups()) {
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
  const auto in_order = [&] {
    Ticks before = std::numeric_limits<Ticks>::min();
    for (std::size_t i = 0; i < row.size; ++i) {
      const Ticks start = entry(row, i).start;
      if (start < before) return false;
      before = start;
    }
    return true;
  };
  const bool plain = !groups_ && !schedule.has_copies();
  if (plain) row.size = lane == Lane::Work ? steps * row.queue : 0;
  // Only measured timelines can be out of queue order.
  if (plain && in_order()) return;
  for (std::size_t step = 0; step < steps; ++step)
    for_each_entry(schedule, row.first_op, row.first_op + row.queue, [&](std::size_t first, std::size_t) {
      if (is_copy(schedule.ops()[first].kind()) == (lane == Lane::Copies))
        row.order.push_back(static_cast<std::uint32_t>(step * row.queue + first - row.first_op));
    });
  row.order.shrink_to_fit();
  row.size = row.order.size();
  if (in_order()) return;
  const auto start_of = [&](std::size_t counted) { return entry_at(position_of(row, counted)).start; };
  std::stable_sort(row.order.begin(), row.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return start_of(a) < start_of(b); });
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

DrawnEntry TimelineIndex::with_joined(DrawnEntry entry) const {
  const auto ops = timeline_->schedule->ops();
  for (std::size_t op = entry.op % ops.size(); ops[op].joined(); ++op, ++entry.count) {
    entry.start = std::min(entry.start, timeline_->start[entry.op + entry.count]);
    entry.end = std::max(entry.end, timeline_->end[entry.op + entry.count]);
  }
  return entry;
}

/// Adds the entry's time in equal parts for its ops; the remainder goes to the first.
void TimelineIndex::add_entry(BusyByKind& busy, const DrawnEntry& entry) const {
  const auto ops = timeline_->schedule->ops();
  const auto count = static_cast<Ticks>(entry.count);
  const Ticks duration = entry.end - entry.start;
  const std::size_t first = entry.op < ops.size() ? entry.op : entry.op % ops.size();
  if (count == 1) {
    busy[index_of(ops[first].kind())] += duration;
    return;
  }
  for (std::size_t i = 0; i < entry.count; ++i)
    busy[index_of(ops[first + i].kind())] += duration / count + (i == 0 ? duration % count : 0);
}

/// Busy time of a row before one moment after another.
class TimelineIndex::Sweep {
 public:
  Sweep(const TimelineIndex& index, const Row& row) : index_(index), row_(row) {}

  /// REQUIRES: no earlier than in the calls before.
  BusyByKind before(Ticks time) {
    const std::size_t after =
        next_that(next_, row_.size, [&](std::size_t i) { return index_.entry(row_, i).start >= time; });
    if (after == 0) return {};
    go_to(after - 1);
    BusyByKind busy = sums_;
    const DrawnEntry last = index_.entry(row_, after - 1);
    if (last.end <= time)
      index_.add_entry(busy, last);
    else
      add_part(busy, last, time);
    return busy;
  }
  BusyByKind within(Span span) {
    // Where bins follow each other, one starts at the last one's end.
    const BusyByKind start = asked_ == span.start ? answer_ : before(span.start);
    asked_ = span.end;
    answer_ = before(span.end);
    BusyByKind busy = answer_;
    for (std::size_t kind = 0; kind < kOpKinds; ++kind) busy[kind] -= start[kind];
    return busy;
  }

 private:
  void go_to(std::size_t i) {
    const auto add = [&](BusyByKind& busy, std::size_t k) { index_.add_entry(busy, index_.entry(row_, k)); };
    if (i > next_ + decltype(row_.before)::kBlock)
      sums_ = row_.before.up_to(i, add);
    else
      for (std::size_t k = next_; k < i; ++k) add(sums_, k);
    next_ = std::max(i, next_);
  }
  /// The entry that `time` cuts: sums over kinds are scaled, not the kinds, so that rounding loses no tick.
  void add_part(BusyByKind& busy, const DrawnEntry& entry, Ticks time) const {
    BusyByKind whole{};
    index_.add_entry(whole, entry);
    Ticks sum = 0;
    Ticks given = 0;
    for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
      sum += whole[kind];
      const Ticks scaled = multiply_divide(sum, time - entry.start, entry.end - entry.start);
      busy[kind] += scaled - given;
      given = scaled;
    }
  }

  const TimelineIndex& index_;
  const Row& row_;
  std::size_t next_ = 0;  // sums_ is of entries [0, next_)
  BusyByKind sums_{};
  std::optional<Ticks> asked_;  // answer_ is before(*asked_)
  BusyByKind answer_{};
};

BusyByKind TimelineIndex::busy(Rank rank, Ticks from, Ticks to) const {
  return Sweep(*this, rows_[rank.at()]).within({from, to});
}

void TimelineIndex::add_busy(Rank rank, const Bins& bins, std::vector<BusyByKind>& sums) const {
  const Row& row = rows_[rank.at()];
  Sweep sweep(*this, row);
  Ticks seen = bins.range.start;
  // From one bin in which something runs to the next: of many ranks most are idle nearly everywhere.
  for (std::size_t i = 0;;) {
    i = next_that(i, row.size, [&](std::size_t k) { return entry(row, k).end > seen; });
    if (i == row.size) return;
    const Ticks start = entry(row, i).start;
    if (start >= bins.range.end) return;
    const std::int64_t bin = bins.at(std::max(seen, start));
    const Span span = bins.span_of(bin);
    const BusyByKind one = sweep.within(span);
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
  std::size_t i = first_that(0, row.size, [&](std::size_t k) { return entry(row, k).end > range.start; });
  Sweep sweep(*this, row);
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
      mark.last = next_that(i, row.size, [&](std::size_t k) { return entry(row, k).start >= mark.end; });
      i = mark.last;
      const DrawnEntry tail = entry(row, mark.last - 1);
      if (tail.end - tail.start >= wide) {
        mark.end = tail.start;
        i = --mark.last;
      } else if (tail.end > mark.end) {
        i = mark.last - 1;
      }
    }
    mark.busy = sweep.within({mark.start, mark.end});
    cursor = mark.end;
    if (total(mark.busy) > 0) out.push_back(mark);
  }
  return out;
}

}  // namespace pipeloom::tracks
