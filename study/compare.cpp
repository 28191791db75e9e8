#include "study/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pipeloom::study {
namespace {

constexpr double kSameWork = 1e-3;

std::optional<double> of_metrics(const Metrics* metrics, double (*get)(const Metrics&)) {
  return metrics == nullptr ? std::nullopt : std::optional(get(*metrics));
}

template <class Get>
double most_of(const Metrics& metrics, Get get) {
  double most = 0;
  for (const RankMetrics& rank : metrics.ranks) most = std::max(most, static_cast<double>(get(rank.memory)));
  return most;
}

double step_time(const Metrics& metrics) {
  return static_cast<double>(metrics.step_time);
}
double bound(const Metrics& metrics) {
  return static_cast<double>(metrics.lower_bound.value);
}
double peak(const Metrics& metrics) {
  return most_of(metrics, [](const RankMemory& memory) { return memory.peak_bytes; });
}
double peak_activations(const Metrics& metrics) {
  return most_of(metrics, [](const RankMemory& memory) { return memory.peak_activation_bytes; });
}
double live(const Metrics& metrics) {
  return most_of(metrics, [](const RankMemory& memory) { return memory.peak_live; });
}

bool differs(Ticks a, Ticks b) {
  const double larger = static_cast<double>(std::max(std::abs(a), std::abs(b)));
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) > kSameWork * larger;
}

Ticks median(std::vector<Ticks>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

TimelineFacts facts_of(const Timeline& timeline) {
  TimelineFacts facts;
  const Schedule& schedule = *timeline.schedule;
  facts.makespan = span_of(timeline).length();
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    if (is_copy(schedule.ops()[first].kind())) return;
    Ticks start = timeline.start[first];
    Ticks end = timeline.end[first];
    for (std::size_t op = first; op < last; ++op) {
      start = std::min(start, timeline.start[op]);
      end = std::max(end, timeline.end[op]);
    }
    facts.busy += end - start;
  });
  facts.idle = facts.makespan * schedule.ranks() - facts.busy;
  const double area = static_cast<double>(facts.makespan) * schedule.ranks();
  if (area > 0) facts.bubble_ratio = static_cast<double>(facts.idle) / area;
  if (facts.busy > 0)
    facts.bubble_overhead = static_cast<double>(facts.idle) / static_cast<double>(facts.busy);
  return facts;
}

std::optional<double> MetricRow::relative(std::size_t run) const {
  if (!values[0] || !values[run] || *values[0] == 0) return std::nullopt;
  return *values[run] / *values[0] - 1;
}

std::vector<MetricRow> compare_metrics(std::span<const ComparedRun> runs) {
  std::vector<MetricRow> rows = {{"makespan", "time_unit", Better::Lower, {}},
                                 {"bubble_ratio", "ratio", Better::Lower, {}},
                                 {"bubble_overhead", "ratio", Better::Lower, {}},
                                 {"busy", "time_unit", Better::Neither, {}},
                                 {"idle", "time_unit", Better::Lower, {}},
                                 {"step_time", "time_unit", Better::Lower, {}},
                                 {"lower_bound", "time_unit", Better::Neither, {}},
                                 {"peak_bytes", "bytes", Better::Lower, {}},
                                 {"peak_activation_bytes", "bytes", Better::Lower, {}},
                                 {"peak_live", "count", Better::Lower, {}}};
  for (const ComparedRun& run : runs) {
    const TimelineFacts facts = facts_of(*run.timeline);
    const std::optional<double> values[] = {static_cast<double>(facts.makespan),
                                            facts.bubble_ratio,
                                            facts.bubble_overhead,
                                            static_cast<double>(facts.busy),
                                            static_cast<double>(facts.idle),
                                            of_metrics(run.metrics, step_time),
                                            of_metrics(run.metrics, bound),
                                            of_metrics(run.metrics, peak),
                                            of_metrics(run.metrics, peak_activations),
                                            of_metrics(run.metrics, live)};
    const bool comparable = same_clock(*runs.front().timeline, *run.timeline);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].values.push_back(comparable || rows[i].unit != "time_unit" ? values[i] : std::nullopt);
  }
  return rows;
}

namespace {

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

std::vector<std::size_t> match_ops(const Schedule& a, const Schedule& b) {
  std::vector<std::size_t> match(b.num_ops());
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
    if (differs(before, before + difference.duration)) out.durations_differ = true;
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

CauseTotals cause_totals(const std::vector<std::vector<IdleSpan>>& idle) {
  CauseTotals out;
  for (const auto& spans : idle) {
    IdleCauses& rank = out.of_rank.emplace_back();
    for (const IdleSpan& span : spans) {
      rank.of(span.cause) += span.end - span.start;
      out.total.of(span.cause) += span.end - span.start;
    }
  }
  return out;
}

namespace {

constexpr IdleCause kCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                 IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

std::string more_or_less(Ticks change, TimeUnit unit) {
  return fmt::format("{} {}{}", format_ticks(std::abs(change), unit),
                     unit == TimeUnit::Unit ? "" : fmt::format("{} ", name_of(unit)),
                     change < 0 ? "less" : "more");
}

/// The cause whose change goes the way of the whole and is the largest.
IdleCause leading_cause(const IdleCauses& a, const IdleCauses& b, bool less) {
  IdleCause leading = kCauses[0];
  Ticks most = 0;
  for (const IdleCause cause : kCauses) {
    const Ticks change = (b.of(cause) - a.of(cause)) * (less ? -1 : 1);
    if (change > most) {
      most = change;
      leading = cause;
    }
  }
  return leading;
}

}  // namespace

std::string explain_idle(const CauseTotals& a, const CauseTotals& b, TimeUnit unit) {
  const Ticks change = b.total.total() - a.total.total();
  if (change == 0) return "idle time is the same";
  const IdleCause cause = leading_cause(a.total, b.total, change < 0);
  std::string text = fmt::format("idle time is {}: most of it {}, {}", more_or_less(change, unit),
                                 name_of(cause), more_or_less(b.total.of(cause) - a.total.of(cause), unit));
  if (a.of_rank.size() != b.of_rank.size()) return text;
  std::size_t rank = 0;
  Ticks most = 0;
  for (std::size_t r = 0; r < a.of_rank.size(); ++r) {
    const Ticks own = (b.of_rank[r].of(cause) - a.of_rank[r].of(cause)) * (change < 0 ? -1 : 1);
    if (own > most) {
      most = own;
      rank = r;
    }
  }
  return most == 0 ? text
                   : text + fmt::format(", of which rank {} has {}", rank,
                                        more_or_less(change < 0 ? -most : most, unit));
}

bool same_clock(const Timeline& a, const Timeline& b) {
  return (a.unit == TimeUnit::Unit) == (b.unit == TimeUnit::Unit);
}

std::string clock_difference(const Timeline& a, const Timeline& b) {
  if (same_clock(a, b)) return {};
  const auto said = [](TimeUnit unit) {
    return unit == TimeUnit::Unit ? std::string("abstract units") : std::string(name_of(unit));
  };
  return fmt::format("times cannot be compared: {} here, {} there; set costs.time_unit", said(a.unit),
                     said(b.unit));
}

std::string work_difference(const Timeline& a, const Timeline& b) {
  const Ticks busy_a = facts_of(a).busy;
  const Ticks busy_b = facts_of(b).busy;
  if (!differs(busy_a, busy_b)) return {};
  return fmt::format("total work differs: {} vs {}; set costs.per", format_ticks(busy_a, a.unit),
                     format_ticks(busy_b, a.unit));
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

std::vector<Ticks> step_makespans(const Timeline& timeline) {
  std::vector<Ticks> out;
  for (int step = 0; step < timeline.steps; ++step) out.push_back(span_of(timeline, step).length());
  return out;
}

}  // namespace pipeloom::study
