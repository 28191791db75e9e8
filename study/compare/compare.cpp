// Idle time of two runs by cause, and sentences about the differences.
// Matches the ops of two runs, and compares them.

#include "study/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "study/text/numbers.hpp"

namespace pipeloom::study {

namespace {

constexpr double kSame = 1e-3;

std::vector<RunNumbers> numbers_of(std::span<const Run* const> runs) {
  std::vector<RunNumbers> out;
  for (const Run* run : runs) out.push_back(study::numbers_of(*run));
  return out;
}

}  // namespace

std::optional<double> MetricRow::relative(std::size_t run) const {
  if (!values[0] || !values[run] || *values[0] == 0) return std::nullopt;
  return *values[run] / *values[0] - 1;
}

namespace {

std::vector<MetricRow> rows_of(std::span<const Metric* const> metrics, std::span<const RunNumbers> runs) {
  std::vector<MetricRow> rows;
  for (const Metric* metric : metrics) rows.push_back({metric->name, metric->unit, metric->better, {}});
  for (const RunNumbers& run : runs) {
    const bool comparable = same_clock(*runs.front().timeline, *run.timeline);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto value = comparable || rows[i].unit != Unit::Time ? metrics[i]->get(run) : std::nullopt;
      rows[i].values.push_back(value ? std::optional(number_of(*metrics[i], *value, run)) : std::nullopt);
    }
  }
  return rows;
}

}  // namespace

std::vector<MetricRow> compare_metrics(std::span<const RunNumbers> runs, std::span<const Metric> table) {
  std::vector<MetricRow> rows = rows_of(listed(&Metric::compare, table), runs);
  std::erase_if(rows, [](const MetricRow& row) {
    return std::none_of(row.values.begin(), row.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
  return rows;
}

std::vector<MetricRow> compare_metrics(std::span<const Run* const> runs, std::span<const Metric> table) {
  return compare_metrics(numbers_of(runs), table);
}

std::vector<MetricRow> compare_all_metrics(std::span<const Run* const> runs, std::span<const Metric> table) {
  std::vector<const Metric*> metrics = listed(&Metric::compare, table);
  // Of scenarios results of sweeps alone have numbers: without runs the names are asked for, which rules about those use too.
  for (const Metric& metric : table)
    if (metric.compare == 0 && (runs.empty() || metric.needs != Needs::Scenarios)) metrics.push_back(&metric);
  return rows_of(metrics, numbers_of(runs));
}

bool same_duration(TickSum a, TickSum b) {
  const double larger = std::max(std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b)));
  return std::abs(static_cast<double>(a - b)) <= kSame * larger;
}

std::vector<Ticks> step_makespans(const Timeline& timeline) {
  std::vector<Ticks> out;
  for (int step = 0; step < timeline.steps; ++step) out.push_back(span_of(timeline, step).length());
  return out;
}

CauseTotals cause_totals(const std::vector<std::vector<IdleSpan>>& idle) {
  CauseTotals out;
  for (const auto& spans : idle) {
    IdleCauses& rank = out.of_rank.emplace_back();
    for (const IdleSpan& span : spans) rank.of(span.cause) += span.end - span.start;
    out.total += rank;
  }
  return out;
}

namespace {

constexpr IdleCause kCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                 IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

std::string more_or_less(TickSum change, TimeUnit unit) {
  return fmt::format("{} {}", time_with_unit(change < 0 ? -change : change, unit),
                     change < 0 ? "less" : "more");
}

/// The cause whose change goes the way of the whole and is the largest.
IdleCause leading_cause(const CauseSums& a, const CauseSums& b, bool less) {
  IdleCause leading = kCauses[0];
  TickSum most;
  for (const IdleCause cause : kCauses) {
    const TickSum change = less ? a.of(cause) - b.of(cause) : b.of(cause) - a.of(cause);
    if (change > most) {
      most = change;
      leading = cause;
    }
  }
  return leading;
}

}  // namespace

std::string explain_idle(const CauseTotals& a, const CauseTotals& b, TimeUnit unit) {
  const TickSum change = b.total.total() - a.total.total();
  if (change == 0) {
    const IdleCause moved = leading_cause(a.total, b.total, false);
    const TickSum more = b.total.of(moved) - a.total.of(moved);
    if (more == 0) return "idle time is the same";
    return fmt::format("idle time is the same, but {} is {}", name_of(moved), more_or_less(more, unit));
  }
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

std::vector<CauseChange> cause_changes(const CauseTotals& a, const CauseTotals& b, std::size_t most) {
  std::vector<CauseChange> out;
  if (a.of_rank.size() != b.of_rank.size()) return out;
  for (std::size_t rank = 0; rank < a.of_rank.size(); ++rank)
    for (const IdleCause cause : kCauses)
      if (a.of_rank[rank].of(cause) != b.of_rank[rank].of(cause))
        out.push_back({rank, cause, a.of_rank[rank].of(cause), b.of_rank[rank].of(cause)});
  std::stable_sort(out.begin(), out.end(), [](const CauseChange& x, const CauseChange& y) {
    return std::abs(x.change()) > std::abs(y.change());
  });
  out.resize(std::min(out.size(), most));
  return out;
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

namespace {

bool has_other_ops(const Schedule& a, const Schedule& b) {
  return std::any_of(std::begin(kAllOpKinds), std::end(kAllOpKinds),
                     [&](OpKind kind) { return a.contains(kind) != b.contains(kind); });
}

/// Advice that would make the two comparable, or why none can.
std::string about_work(const Timeline& a, const Timeline& b, double busy_a, double busy_b) {
  const Schedule& one = *a.schedule;
  const Schedule& other = *b.schedule;
  if (one.microbatches() != other.microbatches())
    return fmt::format("{} against {}, which are different steps: give both as many",
                       count_text(static_cast<std::size_t>(one.microbatches()), "microbatch"),
                       other.microbatches());
  if (one.stages() != other.stages()) {
    // As much work for a stage, however many there are: op times were given per stage.
    const bool per_stage =
        same_duration(static_cast<Ticks>(busy_a / one.stages()), static_cast<Ticks>(busy_b / other.stages()));
    if (per_stage)
      return fmt::format(
          "{} stages against {} with the same times: set costs.per to \"model\" (or \"rank\"), so "
          "that both cut one model",
          one.stages(), other.stages());
    return fmt::format("{} stages against {}, and other times: different models, or costs of other machines",
                       one.stages(), other.stages());
  }
  if (has_other_ops(one, other)) return "one has kinds of ops that the other lacks, such as recomputation";
  return "the same ops take other times: another model, machine or measurement";
}

}  // namespace

std::string work_difference(const Timeline& a, const Timeline& b) {
  const TickSum busy_a = facts_of(a).busy;
  const TickSum busy_b = facts_of(b).busy;
  if (same_duration(busy_a, busy_b)) return {};
  return fmt::format("total work differs: {} vs {}; {}", time_text(busy_a, a.unit), time_text(busy_b, a.unit),
                     about_work(a, b, static_cast<double>(busy_a), static_cast<double>(busy_b)));
}

std::vector<std::string> remarks(const Run& a, const Run& b, const OpComparison& ops,
                                 const PairNames& names) {
  std::vector<std::string> lines;
  if (!same_clock(a.timeline, b.timeline)) {
    lines.push_back(clock_difference(a.timeline, b.timeline));
  } else {
    const std::string work = work_difference(a.timeline, b.timeline);
    if (!work.empty()) lines.push_back(work);
    if (!a.idle.empty() && !b.idle.empty())
      lines.push_back(explain_idle(cause_totals(a.idle), cause_totals(b.idle), a.timeline.unit));
  }
  if (const std::string why = different_parts(*a.timeline.schedule, *b.timeline.schedule); !why.empty()) {
    lines.push_back("ops are not compared: " + why);
    return lines;
  }
  lines.push_back(fmt::format("{} in both, {} only in {}, {} only in {}", count_text(ops.matched, "op"),
                              count_text(ops.only_a), names.a, count_text(ops.only_b), names.b));
  return lines;
}

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
    // Any difference shows.
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
