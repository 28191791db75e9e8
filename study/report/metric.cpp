#include "study/report/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <pipeloom/metrics.hpp>
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {

namespace {

using N = const RunNumbers&;
using Known = std::optional<MetricValue>;

/// A number that simulated runs alone have.
template <auto member>
Known known(N run) {
  if (run.metrics == nullptr) return std::nullopt;
  const auto value = run.metrics->*member;
  if constexpr (std::is_floating_point_v<decltype(value)>)
    return MetricValue(value);
  else
    return MetricValue(TickSum(static_cast<Ticks>(value)));
}

/// The largest value of a rank.
template <auto member>
Known most(N run) {
  if (run.metrics == nullptr) return std::nullopt;
  Ticks largest = 0;
  for (const RankMetrics& rank : run.metrics->ranks) largest = std::max(largest, Ticks{rank.memory.*member});
  return MetricValue(TickSum(largest));
}

/// A ratio that the metrics have, and that measured runs have from idle time and the whole of which it is a share.
Known ratio_of(N run, double Metrics::*member, bool of_busy) {
  if (run.metrics != nullptr) return MetricValue(run.metrics->*member);
  const TimelineFacts& facts = run.facts();
  return MetricValue(share_of(facts.idle, of_busy ? facts.busy : facts.busy + facts.idle));
}

Known headroom(N run) {
  if (run.metrics == nullptr || run.memory == nullptr) return std::nullopt;
  const auto left = headroom_of(*run.memory, *run.metrics);
  return left ? Known(MetricValue(TickSum(*left))) : std::nullopt;
}

/// Rate at which a step of a model trains.
template <auto of>
Known rate(N run) {
  if (run.metrics == nullptr || run.training == nullptr) return std::nullopt;
  const std::optional<double> value = of(*run.training, run.metrics->step_time);
  return value ? Known(MetricValue(*value)) : std::nullopt;
}

/// Idle time of one cause, over all ranks.
template <IdleCause cause>
Known idle_of(N run) {
  if (run.idle == nullptr) return std::nullopt;
  TickSum sum;
  for (const auto& spans : *run.idle)
    for (const IdleSpan& span : spans)
      if (span.cause == cause) sum += span.end - span.start;
  return MetricValue(sum);
}

/// A quantile of the makespan, or of the bubble, over scenarios.
template <auto quantile>
Known makespan_over(N run) {
  if (run.scenarios == nullptr) return std::nullopt;
  return MetricValue(TickSum(run.scenarios->makespan.*quantile));
}
template <auto quantile>
Known bubble_over(N run) {
  if (run.scenarios == nullptr) return std::nullopt;
  return MetricValue(run.scenarios->bubble.*quantile);
}

constexpr Metric over_scenarios(std::string_view name, std::string_view label, std::string_view help,
                                Unit unit, Known (*get)(N)) {
  return {.name = name,
          .label = label,
          .help = help,
          .unit = unit,
          .needs = Needs::Scenarios,
          .swept = true,
          .get = get,
          .share = unit == Unit::Ratio};
}

bool has_barrier(N run) {
  return run.steps == nullptr || run.steps->rule == StepRule::Barrier;
}

/// Says how far the bounded metric is above the bound.
std::string bound_note(N run, const PageTimes& /*times*/) {
  const Metric& bounded = bounded_metric(*run.steps);
  const TickSum value = std::get<TickSum>(*bounded.get(run));
  const LowerBound& bound = run.metrics->lower_bound;
  if (value == bound.value) return fmt::format("{}; the {} reaches it", bound.name, bounded.label);
  if (bound.value == 0) return fmt::format("{}; says nothing about the {}", bound.name, bounded.label);
  const double ratio = static_cast<double>(value) / static_cast<double>(bound.value);
  return fmt::format("{}; the {} is {} above it", bound.name, bounded.label, percent_text(ratio - 1));
}

std::string peak_note(N run, const PageTimes& /*times*/) {
  std::string note = fmt::format("on rank {}", run.metrics->peak_rank.value());
  if (!run.memory->limit.empty()) note += "; " + headroom_text(*run.memory, *run.metrics);
  return note;
}

// A row per metric; those that sweeps and suites may ask for come first, then those that sweeps alone may.
constexpr Metric kMetrics[] = {
    {.name = "makespan",
     .label = "makespan",
     .help = "last end - first start over all ranks",
     .unit = Unit::Time,
     .needs = Needs::Timeline,
     .get = [](N run) { return Known(MetricValue(TickSum(run.facts().makespan))); },
     .report = true,
     .asked = true,
     .summary = 1,
     .compare = 1,
     .facts = 1,
     .state = 1,
     .edited = 1,
     .note = [](N, const PageTimes&) { return std::string("first start to last end"); },
     .sentence = "From the first start to the last end, over all ranks."},
    {.name = "step_time",
     .label = "step time",
     .help = "time of one step, optimizer included",
     .unit = Unit::Time,
     .needs = Needs::Steady,
     .get = known<&Metrics::step_time>,
     .report = true,
     .asked = true,
     .summary = 2,
     .compare = 6,
     .facts = 2,
     .state = 2,
     .note =
         [](N run, const PageTimes&) {
           return fmt::format("with the optimizer; step rule {}",
                              has_barrier(run) ? "barrier" : "post-validation");
         },
     .sentence = "What one step takes in a long run: the makespan with the optimizer, or the period from one "
                 "step to the next."},
    {.name = "steady_period",
     .label = "steady period",
     .help = "time per step of the endlessly repeated schedule",
     .unit = Unit::Time,
     .needs = Needs::Steady,
     .get = known<&Metrics::steady_period>,
     .report = true,
     .asked = true,
     .summary = 3,
     .note = [](N, const PageTimes&) { return std::string("per step when steps repeat"); }},
    {.name = "ideal_time",
     .label = "ideal time",
     .help = "the most work that one rank must do",
     .unit = Unit::Time,
     .get = known<&Metrics::ideal_time>,
     .report = true,
     .asked = true,
     .summary = 5,
     .note = [](N, const PageTimes&) { return std::string("work of the busiest rank"); }},
    {.name = "max_window",
     .label = "longest window",
     .help = "longest time from a rank's first start to its last end",
     .unit = Unit::Time,
     .get = known<&Metrics::max_window>,
     .report = true,
     .asked = true,
     .compare = 7},
    {.name = "lower_bound",
     .label = "lower bound",
     .help = "best proven bound over all orders",
     .unit = Unit::Time,
     .better = Better::Neither,
     .needs = Needs::Bound,
     .get =
         [](N run) {
           return run.metrics == nullptr ? std::nullopt
                                         : Known(MetricValue(TickSum(run.metrics->lower_bound.value)));
         },
     .report = true,
     .asked = true,
     .summary = 4,
     .compare = 9,
     .facts = 5,
     .state = 5,
     .note = bound_note,
     .sentence = "No order with this placement, these costs and this memory is faster",
     .which = [](N run) { return std::string_view(run.metrics->lower_bound.name); }},
    {.name = "bubble_ratio",
     .label = "bubble ratio",
     .help = "idle time / (ranks * makespan)",
     .unit = Unit::Ratio,
     .needs = Needs::Timeline,
     .get = [](N run) { return ratio_of(run, &Metrics::bubble_ratio, false); },
     .report = true,
     .asked = true,
     .summary = 6,
     .compare = 2,
     .facts = 3,
     .state = 3,
     .edited = 2,
     .share = true,
     .note = [](N, const PageTimes&) { return std::string("idle / all time"); },
     .sentence = "Idle time of all ranks, as a share of ranks times makespan.",
     .beside = "bubble_overhead"},
    {.name = "bubble_overhead",
     .label = "bubble overhead",
     .help = "idle time / busy time",
     .unit = Unit::Ratio,
     .needs = Needs::Timeline,
     .get = [](N run) { return ratio_of(run, &Metrics::bubble_overhead, true); },
     .report = true,
     .asked = true,
     .summary = 7,
     .compare = 3,
     .facts = 4,
     .state = 4,
     .note = [](N, const PageTimes&) { return std::string("idle / busy"); },
     .sentence = "Idle time of all ranks, as a share of their work."},
    {.name = "window_bubble_ratio",
     .label = "window bubble ratio",
     .help = "1 - busiest rank's work / longest window",
     .unit = Unit::Ratio,
     .get = known<&Metrics::window_bubble_ratio>,
     .report = true,
     .asked = true,
     .summary = 8,
     .compare = 8,
     .share = true,
     .note =
         [](N run, const PageTimes& times) {
           return fmt::format("1 - busiest / longest window ({})", times.text(run.metrics->max_window));
         }},
    {.name = "peak_bytes",
     .label = "peak memory",
     .help = "most bytes that a rank holds at once",
     .unit = Unit::Bytes,
     .needs = Needs::Bytes,
     .get = most<&RankMemory::peak_bytes>,
     .asked = true,
     .summary = 9,
     .compare = 10,
     .facts = 6,
     .state = 6,
     .edited = 3,
     .note = peak_note,
     .sentence = "Most bytes that a rank holds at once: activations, static, buffers."},
    {.name = "peak_activation_bytes",
     .label = "peak activations",
     .help = "most activation bytes that a rank holds at once",
     .unit = Unit::Bytes,
     .needs = Needs::Peaks,
     .get = most<&RankMemory::peak_activation_bytes>,
     .asked = true,
     .compare = 11},
    {.name = "peak_live",
     .label = "peak live",
     .help = "most (stage, microbatch) pairs live on a rank",
     .needs = Needs::Peaks,
     .get = most<&RankMemory::peak_live>,
     .asked = true,
     .compare = 12},
    {.name = "num_ops",
     .label = "ops",
     .help = "ops of one step",
     .better = Better::Neither,
     .get = known<&Metrics::num_ops>,
     .report = true,
     .asked = true},
    {.name = "num_entries",
     .label = "entries",
     .help = "queue entries of one step; a group counts once",
     .better = Better::Neither,
     .get = known<&Metrics::num_entries>,
     .report = true,
     .asked = true},
    {.name = "headroom_bytes",
     .label = "headroom",
     .help = "what its limit leaves to the rank that has least left; below 0 over it",
     .unit = Unit::Bytes,
     .better = Better::Higher,
     .needs = Needs::Bytes,
     .sometimes = true,
     .get = headroom,
     .report = true,
     .asked = true,
     .compare = 13},
    {.name = "tokens_per_s",
     .label = "tokens per second",
     .help = "tokens of a step / step time; of a model",
     .unit = Unit::PerSecond,
     .better = Better::Higher,
     .needs = Needs::Rates,
     .sometimes = true,
     .get = rate<tokens_per_s>,
     .report = true,
     .asked = true,
     .summary = 10,
     .compare = 14,
     .facts = 7,
     .note =
         [](N run, const PageTimes&) {
           return count_text(static_cast<std::size_t>(run.training->tokens)) + " tokens a step";
         },
     .sentence = "Tokens of a step over the step time."},
    {.name = "tokens_per_s_per_gpu",
     .label = "  of each GPU",
     .help = "tokens per second / devices; of a model",
     .unit = Unit::PerSecond,
     .better = Better::Higher,
     .needs = Needs::Rates,
     .sometimes = true,
     .get = rate<tokens_per_s_per_gpu>,
     .report = true,
     .asked = true,
     .summary = 11,
     .compare = 15,
     .note =
         [](N run, const PageTimes&) {
           return count_text(static_cast<std::size_t>(run.training->devices), "GPU");
         }},
    {.name = "mfu",
     .label = "MFU",
     .help = "FLOPs of the model / what its devices could do in a step; of a model on hardware",
     .unit = Unit::Ratio,
     .better = Better::Higher,
     .needs = Needs::Rates,
     .sometimes = true,
     .get = rate<mfu>,
     .report = true,
     .asked = true,
     .summary = 12,
     .compare = 16,
     .facts = 8,
     .note = [](N, const PageTimes&) { return std::string("of the devices' peak; nothing that runs again"); },
     .sentence = "FLOPs of the model, as a share of what its devices could do in a step."},
    over_scenarios("makespan_p50", "makespan p50",
                   "what the makespan does not exceed in half of the scenarios", Unit::Time,
                   makespan_over<&Quantiles<Ticks>::p50>),
    over_scenarios("makespan_p95", "makespan p95",
                   "what the makespan does not exceed in 95 % of the scenarios", Unit::Time,
                   makespan_over<&Quantiles<Ticks>::p95>),
    over_scenarios("makespan_p99", "makespan p99",
                   "what the makespan does not exceed in 99 % of the scenarios", Unit::Time,
                   makespan_over<&Quantiles<Ticks>::p99>),
    over_scenarios("bubble_ratio_p50", "bubble ratio p50",
                   "what the bubble ratio does not exceed in half of the scenarios", Unit::Ratio,
                   bubble_over<&Quantiles<double>::p50>),
    over_scenarios("bubble_ratio_p95", "bubble ratio p95",
                   "what the bubble ratio does not exceed in 95 % of the scenarios", Unit::Ratio,
                   bubble_over<&Quantiles<double>::p95>),
    over_scenarios("bubble_ratio_p99", "bubble ratio p99",
                   "what the bubble ratio does not exceed in 99 % of the scenarios", Unit::Ratio,
                   bubble_over<&Quantiles<double>::p99>),
    {.name = "busy",
     .label = "busy",
     .help = "work of all ranks",
     .unit = Unit::Time,
     .better = Better::Neither,
     .needs = Needs::Timeline,
     .get = [](N run) { return Known(MetricValue(run.facts().busy)); },
     .compare = 4},
    {.name = "idle",
     .label = "idle",
     .help = "idle time of all ranks",
     .unit = Unit::Time,
     .needs = Needs::Timeline,
     .get = [](N run) { return Known(MetricValue(run.facts().idle)); },
     .compare = 5},
    {.name = "idle.warmup",
     .label = "idle in warm-up",
     .help = "idle time while the pipeline fills",
     .unit = Unit::Time,
     .needs = Needs::Idle,
     .get = idle_of<IdleCause::Warmup>},
    {.name = "idle.cooldown",
     .label = "idle in cool-down",
     .help = "idle time while the pipeline drains",
     .unit = Unit::Time,
     .needs = Needs::Idle,
     .get = idle_of<IdleCause::Cooldown>},
    {.name = "idle.imbalance",
     .label = "idle for other ranks",
     .help = "idle time in between, for ranks that take longer",
     .unit = Unit::Time,
     .needs = Needs::Idle,
     .get = idle_of<IdleCause::Imbalance>},
    {.name = "idle.transfer",
     .label = "idle for transfers",
     .help = "idle time while tensors are under way",
     .unit = Unit::Time,
     .needs = Needs::Idle,
     .get = idle_of<IdleCause::Transfer>},
    {.name = "idle.queueing",
     .label = "idle for links",
     .help = "idle time while messages wait behind others",
     .unit = Unit::Time,
     .needs = Needs::Idle,
     .get = idle_of<IdleCause::Queueing>},
    {.name = "idle.memory",
     .label = "idle for memory",
     .help = "idle time until memory is free",
     .unit = Unit::Time,
     .needs = Needs::Idle,
     .get = idle_of<IdleCause::Memory>},
};

constexpr std::size_t kAsked = static_cast<std::size_t>(std::count_if(
    std::begin(kMetrics), std::end(kMetrics), [](const Metric& metric) { return metric.asked; }));
static_assert(std::all_of(kMetrics, kMetrics + kAsked, [](const Metric& metric) { return metric.asked; }));
constexpr std::size_t kSwept = static_cast<std::size_t>(std::count_if(
    std::begin(kMetrics), std::end(kMetrics), [](const Metric& metric) { return metric.swept; }));
static_assert(std::all_of(kMetrics + kAsked, kMetrics + kAsked + kSwept,
                          [](const Metric& metric) { return metric.swept; }));

std::string shortest(double value) {
  std::array<char, 40> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

Ticks whole(const MetricValue& value) {
  return static_cast<Ticks>(std::get<TickSum>(value).value());
}

}  // namespace

std::string_view name_of(Unit unit) {
  constexpr std::array<std::string_view, 5> kNames = {"time_unit", "bytes", "ratio", "count", "per_second"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::span<const Metric> all_metrics() {
  return kMetrics;
}

std::span<const Metric> asked_metrics() {
  return all_metrics().first(kAsked);
}

const Metric* metric_named(std::string_view name, std::span<const Metric> table) {
  const auto found =
      std::find_if(table.begin(), table.end(), [name](const Metric& metric) { return metric.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::span<const Metric> sweep_metrics() {
  return all_metrics().first(kAsked + kSwept);
}

const Metric& find_metric(std::string_view name, const Where& where, std::span<const Metric> table) {
  if (const Metric* metric = metric_named(name, table)) return *metric;
  std::vector<std::string> valid;
  for (const Metric& metric : table) valid.emplace_back(metric.name);
  throw InputError::unknown_name(where, "metric", name, valid);
}

std::vector<const Metric*> listed(std::int8_t Metric::*list, std::span<const Metric> table) {
  std::vector<const Metric*> out;
  for (const Metric& metric : table)
    if (metric.*list > 0) out.push_back(&metric);
  std::stable_sort(out.begin(), out.end(),
                   [list](const Metric* a, const Metric* b) { return a->*list < b->*list; });
  return out;
}

const Metric& bounded_metric(const Steps& steps) {
  return *metric_named(steps.rule == StepRule::Barrier ? "makespan" : "steady_period");
}

std::string json_text(const Metric& metric, const MetricValue& value, const RunNumbers& run, TimeUnit unit) {
  if (const double* number = std::get_if<double>(&value)) return shortest(*number);
  if (metric.unit == Unit::Time) {
    const TickSum time = std::get<TickSum>(value);
    return time == whole(value) ? format_ticks(whole(value), unit) : format_ticks(time, unit);
  }
  if (metric.unit == Unit::Bytes && run.memory != nullptr) return bytes_number(*run.memory, whole(value));
  return std::to_string(whole(value));
}

double number_of(const Metric& metric, const MetricValue& value, const RunNumbers& run) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  if (metric.unit == Unit::Bytes) return run.in_bytes(whole(value));
  return static_cast<double>(std::get<TickSum>(value));
}

std::variant<std::int64_t, double> state_value(const Metric& metric, const MetricValue& value,
                                               TimeUnit unit) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  if (metric.unit == Unit::Time) return to_double(whole(value), unit);
  return whole(value);
}

std::string text_of(const Metric& metric, const RunNumbers& run, TimeUnit unit) {
  const Known value = metric.get(run);
  return value ? json_text(metric, *value, run, unit) : std::string(kNoValue);
}

std::string text_of(const Metric& metric, const Run& run) {
  return text_of(metric, numbers_of(run), run.timeline.unit);
}

namespace {

TimelineFacts facts_of(const Metrics& metrics) {
  TimelineFacts facts;
  facts.makespan = metrics.makespan;
  for (const RankMetrics& rank : metrics.ranks) {
    facts.busy += rank.busy;
    facts.idle += rank.idle;
  }
  return facts;
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
  facts.idle = TickSum::times(facts.makespan, schedule.ranks()) - facts.busy;
  return facts;
}

const TimelineFacts& RunNumbers::facts() const {
  if (!kept_facts) kept_facts = metrics != nullptr ? facts_of(*metrics) : study::facts_of(*timeline);
  return *kept_facts;
}

double RunNumbers::in_bytes(Bytes units) const {
  return memory == nullptr ? static_cast<double>(units) : memory->in_bytes(units);
}

RunNumbers numbers_of(const Run& run) {
  return {run.metrics ? &*run.metrics : nullptr,
          &run.timeline,
          run.memory.get(),
          run.effective ? &run.effective->step : nullptr,
          run.idle.empty() ? nullptr : &run.idle,
          nullptr,
          run.model ? &run.model->training : nullptr};
}

}  // namespace pipeloom::study
