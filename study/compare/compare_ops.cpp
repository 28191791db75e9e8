// Which op is which in two runs, and what it does differently.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/compare/compare.hpp"

namespace pipeloom::study {
namespace {

Ticks median(std::vector<Ticks>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Op key -> op index of a schedule: sorted pairs, which a million ops afford where a hash map is slower.
class OpsByKey {
 public:
  explicit OpsByKey(const Schedule& schedule) : schedule_(&schedule) {
    entries_.reserve(schedule.num_ops());
    for (std::size_t op = 0; op < schedule.num_ops(); ++op)
      entries_.emplace_back(schedule.ops()[op].key(), op);
    std::sort(entries_.begin(), entries_.end());
  }

  /// The op with this key, on `rank` if several have it.
  [[nodiscard]] std::size_t find(Op op, Rank rank) const {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), std::pair(op.key(), std::size_t{0}));
    if (at == entries_.end() || at->first != op.key()) return kUnmatched;
    const std::size_t first = at->second;
    for (; at != entries_.end() && at->first == op.key(); ++at)
      if (schedule_->rank_of_op(at->second) == rank) return at->second;
    return first;
  }

 private:
  const Schedule* schedule_;
  std::vector<std::pair<std::uint64_t, std::size_t>> entries_;
};

bool same_order(const Schedule& a, const Schedule& b) {
  return std::equal(a.ops().begin(), a.ops().end(), b.ops().begin(), b.ops().end());
}

}  // namespace

std::string different_parts(const Schedule& a, const Schedule& b) {
  if (a.stages() != b.stages())
    return fmt::format("a stage is 1/{} of the model in one and 1/{} in the other", a.stages(), b.stages());
  if (a.slices() != b.slices())
    return fmt::format("a pass is 1/{} of a sequence in one and 1/{} in the other", a.slices(), b.slices());
  return "";
}

std::vector<std::size_t> match_ops(const Schedule& a, const Schedule& b) {
  std::vector<std::size_t> match(b.num_ops(), kUnmatched);
  if (!different_parts(a, b).empty()) return match;
  if (same_order(a, b)) {
    for (std::size_t op = 0; op < match.size(); ++op) match[op] = op;
    return match;
  }
  const OpsByKey known(a);
  for (Rank rank{0}; rank < Rank(b.ranks()); ++rank)
    for (std::size_t op = b.queue_begin(rank); op < b.queue_end(rank); ++op)
      match[op] = known.find(b.ops()[op], rank);
  return match;
}

namespace {

/// Calls fn(difference) for every matched op.
template <class Fn>
void for_each_match(const Timeline& a, const Timeline& b, const std::vector<std::size_t>& match, int step_a,
                    int step_b, Fn&& fn) {
  const Ticks origin_a = span_of(a, step_a).start;
  const Ticks origin_b = span_of(b, step_b).start;
  for (std::size_t op = 0; op < match.size(); ++op) {
    if (match[op] == kUnmatched) continue;
    const Ticks start_a = a.start_of(match[op], step_a);
    const Ticks start_b = b.start_of(op, step_b);
    fn(OpDifference{match[op], op, (b.end_of(op, step_b) - start_b) - (a.end_of(match[op], step_a) - start_a),
                    (start_b - origin_b) - (start_a - origin_a)});
  }
}

}  // namespace

OpComparison compare_ops(const Timeline& a, const Timeline& b, int step_a, int step_b, std::size_t most) {
  OpComparison out;
  out.match = match_ops(*a.schedule, *b.schedule);
  std::vector<OpDifference> all;
  for_each_match(a, b, out.match, step_a, step_b, [&](const OpDifference& difference) {
    ++out.matched;
    const Ticks before = a.end_of(difference.in_a, step_a) - a.start_of(difference.in_a, step_a);
    if (!same_duration(before, before + difference.duration)) out.durations_differ = true;
    if (difference.duration != 0 || difference.start != 0) all.push_back(difference);
  });
  out.only_b = b.schedule->num_ops() - out.matched;
  out.only_a = a.schedule->num_ops() - std::min(out.matched, a.schedule->num_ops());
  const auto size = [&](const OpDifference& d) {
    return std::abs(out.durations_differ ? d.duration : d.start);
  };
  const auto larger = [&](const OpDifference& x, const OpDifference& y) {
    return size(x) != size(y) ? size(x) > size(y) : x.in_b < y.in_b;
  };
  const std::size_t kept = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), larger);
  all.resize(kept);
  out.largest = std::move(all);
  if (!out.largest.empty()) out.largest_difference = size(out.largest.front());
  return out;
}

std::vector<std::int8_t> tints(const Timeline& a, const Timeline& b, const OpComparison& comparison,
                               int step_a, int step_b) {
  std::vector<std::int8_t> out(b.schedule->num_ops(), -128);
  const double most = static_cast<double>(std::max<Ticks>(comparison.largest_difference, 1));
  for_each_match(a, b, comparison.match, step_a, step_b, [&](const OpDifference& difference) {
    const Ticks changed = comparison.durations_differ ? difference.duration : difference.start;
    const double level = 127 * static_cast<double>(changed) / most;
    // What differs at all shows.
    const double least = changed > 0 ? 1 : changed < 0 ? -1 : 0;
    out[difference.in_b] =
        static_cast<std::int8_t>(std::clamp(std::abs(level) < 1 ? least : std::round(level), -127.0, 127.0));
  });
  return out;
}

std::vector<Ticks> clock_offsets(const Timeline& a, const Timeline& b, const OpComparison& comparison) {
  const Schedule& schedule = *b.schedule;
  std::vector<std::vector<Ticks>> differences(static_cast<std::size_t>(schedule.ranks()));
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for (std::size_t op = schedule.queue_begin(rank); op < schedule.queue_end(rank); ++op)
      if (comparison.match[op] != kUnmatched)
        differences[rank.at()].push_back(b.start_of(op) - a.start_of(comparison.match[op]));
  std::vector<Ticks> offsets;
  std::vector<Ticks> known;
  for (auto& values : differences) {
    offsets.push_back(median(values));
    if (!values.empty()) known.push_back(offsets.back());
  }
  const Ticks common = median(known);
  for (std::size_t rank = 0; rank < offsets.size(); ++rank)
    offsets[rank] = differences[rank].empty() ? 0 : offsets[rank] - common;
  return offsets;
}

Timeline with_offsets(const Timeline& timeline, std::span<const Ticks> offsets) {
  Timeline out = timeline;
  const Schedule& schedule = *timeline.schedule;
  Ticks first = kMaxTicks;
  for (int step = 0; step < timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for (std::size_t op = schedule.queue_begin(rank); op < schedule.queue_end(rank); ++op) {
        const std::size_t at = timeline.index(step, op);
        out.start[at] -= offsets[rank.at()];
        out.end[at] -= offsets[rank.at()];
        first = std::min(first, out.start[at]);
      }
  for (Ticks& time : out.start) time -= first;
  for (Ticks& time : out.end) time -= first;
  return out;
}

}  // namespace pipeloom::study
