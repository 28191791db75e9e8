// Durations by kind: statistics, histograms, outliers. See ops_table.hpp.

#include <algorithm>
#include <cmath>

#include "gui/model/panels/ops_table.hpp"

namespace pipeloom::gui {
namespace {

/// Calls fn(position, op, duration) for every op that ran.
template <class Fn>
void for_each_op(const RunModel& run, const Found& positions, const Cancelled& cancelled, Fn&& fn) {
  const Timeline& timeline = run.timeline;
  const auto ops = run.schedule->ops();
  const std::size_t n = positions ? positions->size() : timeline.start.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 65536 == 0 && cancelled) return;
    const std::size_t position = positions ? (*positions)[i] : i;
    if (timeline.end[position] < 0) continue;
    fn(position, ops[position % ops.size()], timeline.end[position] - timeline.start[position]);
  }
}

/// The durations of all ops, those of the same kind and stage side by side.
struct Grouped {
  std::size_t stages = 0;
  std::vector<std::size_t> begin;  // [kind * stages + stage], and the end of the last
  std::vector<Ticks> durations;
  [[nodiscard]] std::size_t group_of(Op op) const { return index_of(op.kind()) * stages + op.stage().at(); }
};

Grouped group(const RunModel& run, const Found& positions, const Cancelled& cancelled) {
  Grouped out;
  out.stages = static_cast<std::size_t>(run.schedule->stages());
  out.begin.assign(kOpKinds * out.stages + 1, 0);
  for_each_op(run, positions, cancelled,
              [&](std::size_t, Op op, Ticks) { ++out.begin[out.group_of(op) + 1]; });
  for (std::size_t g = 1; g < out.begin.size(); ++g) out.begin[g] += out.begin[g - 1];
  out.durations.resize(out.begin.back());
  std::vector<std::size_t> next(out.begin.begin(), out.begin.end() - 1);
  for_each_op(run, positions, cancelled, [&](std::size_t, Op op, Ticks duration) {
    out.durations[next[out.group_of(op)]++] = duration;
  });
  return out;
}

/// Number `index` of the durations in order; changes their order.
Ticks ranked(std::span<Ticks> durations, std::size_t index) {
  const auto at = durations.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(durations.begin(), at, durations.end());
  return *at;
}

struct Fences {
  Ticks low = 0;
  Ticks high = kMaxTicks;
  Ticks median = 0;
};

Fences fences_of(std::span<Ticks> durations) {
  const std::size_t n = durations.size();
  if (n < kFewestForOutliers) return {};
  const Ticks q1 = ranked(durations, (n - 1) / 4);
  const Ticks median = ranked(durations, (n - 1) / 2);
  const Ticks q3 = ranked(durations, 3 * (n - 1) / 4);
  const Ticks reach = (q3 - q1) + (q3 - q1) / 2;
  return {q1 - reach, q3 + std::min(reach, kMaxTicks - q3), median};
}

KindDurations summary_of(std::span<Ticks> durations) {
  KindDurations out;
  out.count = durations.size();
  if (durations.empty()) return out;
  for (const Ticks duration : durations) out.total += duration;
  out.least = *std::min_element(durations.begin(), durations.end());
  out.most = *std::max_element(durations.begin(), durations.end());
  out.median = ranked(durations, (out.count - 1) / 2);
  out.p95 = ranked(durations, 95 * (out.count - 1) / 100);
  return out;
}

double strangeness(const DurationOutlier& o) {
  const auto median = static_cast<double>(std::max<Ticks>(o.median, 1));
  return std::abs(static_cast<double>(o.duration - o.median)) / median;
}

/// Keeps the strangest kMaxOutliers in order.
void keep_strangest(std::vector<DurationOutlier>& outliers) {
  std::sort(outliers.begin(), outliers.end(), [](const DurationOutlier& a, const DurationOutlier& b) {
    const double x = strangeness(a);
    const double y = strangeness(b);
    return x != y ? x > y : a.position < b.position;
  });
  if (outliers.size() > kMaxOutliers) outliers.resize(kMaxOutliers);
}

void find_outliers(const RunModel& run, const Found& positions, Grouped& grouped, DurationStats& stats,
                   const Cancelled& cancelled) {
  std::vector<Fences> fences(grouped.begin.size() - 1);
  const std::span<Ticks> all(grouped.durations);
  for (std::size_t g = 0; g < fences.size(); ++g)
    fences[g] = fences_of(all.subspan(grouped.begin[g], grouped.begin[g + 1] - grouped.begin[g]));
  for_each_op(run, positions, cancelled, [&](std::size_t position, Op op, Ticks duration) {
    const Fences& fence = fences[grouped.group_of(op)];
    if (duration >= fence.low && duration <= fence.high) return;
    ++stats.num_outliers;
    stats.outliers.push_back({position, duration, fence.median});
    if (stats.outliers.size() >= 4 * kMaxOutliers) keep_strangest(stats.outliers);
  });
  keep_strangest(stats.outliers);
}

std::vector<Ticks> edges_of(Ticks least, Ticks most, bool logarithmic) {
  std::vector<Ticks> edges;
  const auto first = static_cast<double>(std::max<Ticks>(least, 1));
  const double factor = static_cast<double>(most) / first;
  for (std::size_t i = 0; i <= kDurationBins; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kDurationBins);
    const double edge = logarithmic ? first * std::pow(factor, share)
                                    : static_cast<double>(least) + share * static_cast<double>(most - least);
    edges.push_back(std::clamp(static_cast<Ticks>(std::llround(edge)), least, most));
  }
  edges.front() = least;
  edges.back() = most;
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  // All durations are the same: one bin without width.
  if (edges.size() == 1) edges.push_back(most);
  return edges;
}

void count(DurationHistogram& histogram, OpKind kind, Ticks duration) {
  const auto& edges = histogram.edges;
  const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, duration);
  const auto bin = static_cast<std::size_t>(above - edges.begin()) - 1;
  ++histogram.bins[bin][index_of(kind)];
}

DurationHistogram empty_histogram(Ticks least, Ticks most, bool logarithmic) {
  DurationHistogram histogram;
  histogram.edges = edges_of(least, most, logarithmic);
  histogram.bins.resize(histogram.edges.size() - 1);
  return histogram;
}

}  // namespace

std::size_t DurationHistogram::total(std::size_t bin) const {
  std::size_t sum = 0;
  for (const std::size_t n : bins[bin]) sum += n;
  return sum;
}

DurationStats duration_stats(const RunModel& run, const Found& positions, const Cancelled& cancelled) {
  DurationStats stats;
  stats.run = run.id;
  Grouped grouped = group(run, positions, cancelled);
  if (grouped.durations.empty() || cancelled) return stats;
  find_outliers(run, positions, grouped, stats, cancelled);
  Ticks least = kMaxTicks;
  Ticks most = 0;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const std::size_t first = grouped.begin[k * grouped.stages];
    const std::size_t last = grouped.begin[(k + 1) * grouped.stages];
    stats.of[k] = summary_of(std::span<Ticks>(grouped.durations).subspan(first, last - first));
    if (stats.of[k].count == 0) continue;
    least = std::min(least, stats.of[k].least);
    most = std::max(most, stats.of[k].most);
  }
  stats.linear = empty_histogram(least, most, false);
  stats.logarithmic = empty_histogram(least, most, true);
  for_each_op(run, positions, cancelled, [&](std::size_t, Op op, Ticks duration) {
    count(stats.linear, op.kind(), duration);
    count(stats.logarithmic, op.kind(), duration);
  });
  return stats;
}

}  // namespace pipeloom::gui
