#include "study/compare/compare.hpp"

#include <algorithm>
#include <cmath>

#include "study/text/memory_text.hpp"

namespace pipeloom::study {
namespace {

constexpr double kSame = 1e-3;

template <class Get>
double most_of(const Metrics& metrics, Get get) {
  double most = 0;
  for (const RankMetrics& rank : metrics.ranks) most = std::max(most, static_cast<double>(get(rank.memory)));
  return most;
}

double bound(const Metrics& metrics) {
  return static_cast<double>(metrics.lower_bound.value);
}
/// What a rank holds at most, in bytes or activations.
std::optional<double> most_bytes(const ComparedRun& run, Bytes RankMemory::*member) {
  if (run.metrics == nullptr) return std::nullopt;
  const double most = most_of(*run.metrics, [member](const RankMemory& memory) { return memory.*member; });
  return run.memory == nullptr ? most : most / run.memory->parts;
}
std::optional<double> headroom(const ComparedRun& run) {
  if (run.metrics == nullptr || run.memory == nullptr) return std::nullopt;
  const auto left = headroom_of(*run.memory, *run.metrics);
  return left ? std::optional(run.memory->in_bytes(*left)) : std::nullopt;
}
double live(const Metrics& metrics) {
  return most_of(metrics, [](const RankMemory& memory) { return memory.peak_live; });
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
  const TickSum area = TickSum::times(facts.makespan, schedule.ranks());
  facts.idle = area - facts.busy;
  facts.bubble_ratio = share_of(facts.idle, area);
  facts.bubble_overhead = share_of(facts.idle, facts.busy);
  return facts;
}

std::optional<double> MetricRow::relative(std::size_t run) const {
  if (!values[0] || !values[run] || *values[0] == 0) return std::nullopt;
  return *values[run] / *values[0] - 1;
}

namespace {

/// A row and how a run's value is found; nothing where it does not know it.
struct RowSource {
  std::string_view name;
  std::string_view unit;
  Better better;
  std::optional<double> (*value)(const ComparedRun& run, const TimelineFacts& facts);
};

template <double (*get)(const Metrics&)>
std::optional<double> known(const ComparedRun& run, const TimelineFacts& /*facts*/) {
  return run.metrics == nullptr ? std::nullopt : std::optional(get(*run.metrics));
}

template <auto member>
double ticks_of(const Metrics& metrics) {
  return static_cast<double>(metrics.*member);
}

using Facts = const TimelineFacts&;
using Run = const ComparedRun&;

/// What every table of a comparison shows.
constexpr RowSource kRows[] = {
    {"makespan", "time_unit", Better::Lower,
     [](Run, Facts facts) { return std::optional(static_cast<double>(facts.makespan)); }},
    {"bubble_ratio", "ratio", Better::Lower,
     [](Run, Facts facts) { return std::optional(facts.bubble_ratio); }},
    {"bubble_overhead", "ratio", Better::Lower,
     [](Run, Facts facts) { return std::optional(facts.bubble_overhead); }},
    {"busy", "time_unit", Better::Neither,
     [](Run, Facts facts) { return std::optional(static_cast<double>(facts.busy)); }},
    {"idle", "time_unit", Better::Lower,
     [](Run, Facts facts) { return std::optional(static_cast<double>(facts.idle)); }},
    {"step_time", "time_unit", Better::Lower, known<ticks_of<&Metrics::step_time>>},
    {"lower_bound", "time_unit", Better::Neither, known<bound>},
    {"peak_bytes", "bytes", Better::Lower,
     [](Run run, Facts) { return most_bytes(run, &RankMemory::peak_bytes); }},
    {"peak_activation_bytes", "bytes", Better::Lower,
     [](Run run, Facts) { return most_bytes(run, &RankMemory::peak_activation_bytes); }},
    {"peak_live", "count", Better::Lower, known<live>},
    {"headroom_bytes", "bytes", Better::Higher, [](Run run, Facts) { return headroom(run); }},
};

constexpr RowSource kMoreRows[] = {
    {"steady_period", "time_unit", Better::Lower, known<ticks_of<&Metrics::steady_period>>},
    {"ideal_time", "time_unit", Better::Lower, known<ticks_of<&Metrics::ideal_time>>},
    {"max_window", "time_unit", Better::Lower, known<ticks_of<&Metrics::max_window>>},
    {"window_bubble_ratio", "ratio", Better::Lower, known<ticks_of<&Metrics::window_bubble_ratio>>},
    {"num_ops", "count", Better::Neither, known<ticks_of<&Metrics::num_ops>>},
    {"num_entries", "count", Better::Neither, known<ticks_of<&Metrics::num_entries>>},
};

/// Idle time of one cause, over all ranks.
template <IdleCause cause>
std::optional<double> idle_of(Run run, Facts) {
  if (run.idle == nullptr) return std::nullopt;
  return static_cast<double>(cause_totals(*run.idle).total.of(cause));
}

constexpr RowSource kCauseRows[] = {
    {"idle.warmup", "time_unit", Better::Lower, idle_of<IdleCause::Warmup>},
    {"idle.cooldown", "time_unit", Better::Lower, idle_of<IdleCause::Cooldown>},
    {"idle.imbalance", "time_unit", Better::Lower, idle_of<IdleCause::Imbalance>},
    {"idle.transfer", "time_unit", Better::Lower, idle_of<IdleCause::Transfer>},
    {"idle.queueing", "time_unit", Better::Lower, idle_of<IdleCause::Queueing>},
    {"idle.memory", "time_unit", Better::Lower, idle_of<IdleCause::Memory>},
};

void add_rows(std::span<const RowSource> sources, std::span<const ComparedRun> runs,
              std::vector<MetricRow>& out) {
  const std::size_t first = out.size();
  for (const RowSource& source : sources) out.push_back({source.name, source.unit, source.better, {}});
  for (const ComparedRun& run : runs) {
    const TimelineFacts facts = facts_of(*run.timeline);
    const bool comparable = same_clock(*runs.front().timeline, *run.timeline);
    for (std::size_t i = 0; i < sources.size(); ++i)
      out[first + i].values.push_back(
          comparable || sources[i].unit != "time_unit" ? sources[i].value(run, facts) : std::nullopt);
  }
}

}  // namespace

std::vector<MetricRow> compare_metrics(std::span<const ComparedRun> runs) {
  std::vector<MetricRow> rows;
  add_rows(kRows, runs, rows);
  std::erase_if(rows, [](const MetricRow& row) {
    return std::none_of(row.values.begin(), row.values.end(),
                        [](const auto& value) { return value.has_value(); });
  });
  return rows;
}

std::vector<MetricRow> compare_all_metrics(std::span<const ComparedRun> runs) {
  std::vector<MetricRow> rows;
  for (const std::span<const RowSource> sources :
       {std::span<const RowSource>(kRows), std::span<const RowSource>(kMoreRows),
        std::span<const RowSource>(kCauseRows)})
    add_rows(sources, runs, rows);
  return rows;
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

}  // namespace pipeloom::study
