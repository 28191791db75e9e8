#pragma once

// The table of metrics: one row says everything that the product knows of a metric. Reports, their schema, the tables of `simulate`,
// comparisons, sweeps, suites and the window read rows, in table order or in that of a list. A new metric is a row in metric.cpp and, if
// simulated runs do not have its number yet, a member of Metrics. docs/adding-anything.md has an example.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/base/tick_sum.hpp"
#include "study/run/scenario_run.hpp"
#include "study/run/training.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {

/// Facts about a timeline's first step, from the timeline alone.
struct TimelineFacts {
  Ticks makespan = 0;
  TickSum busy;  ///< over ranks; a group counts once, copies not
  TickSum idle;  ///< ranks * makespan - busy
};

/// A view: the objects that it points to must outlive it. Null where a run lacks them. Not thread-safe: facts() keeps its result.
struct RunNumbers {
  const Metrics* metrics = nullptr;    ///< of simulated runs
  const Timeline* timeline = nullptr;  ///< REQUIRES: there where `metrics` is not
  const MemoryModel* memory = nullptr;
  const Steps* steps = nullptr;
  /// Idle spans of the first step, [rank].
  const std::vector<std::vector<IdleSpan>>* idle = nullptr;
  const ScenarioSummary* scenarios = nullptr;
  const TrainingTerms* training = nullptr;  ///< of runs of a model

  /// Facts of the metrics if these are known, else of the timeline.
  [[nodiscard]] const TimelineFacts& facts() const;
  /// `units` of memory in bytes.
  [[nodiscard]] double in_bytes(Bytes units) const;

  mutable std::optional<TimelineFacts> kept_facts = {};
};

[[nodiscard]] RunNumbers numbers_of(const Run& run);

enum class Better : unsigned char { Lower, Higher, Neither };

enum class Unit : unsigned char { Time, Bytes, Ratio, Count, PerSecond };
/// "time_unit", "bytes", "ratio", "count" or "per_second", as files spell it.
[[nodiscard]] std::string_view name_of(Unit unit);

/// Numbers that a sweep must compute for a metric at every point.
enum class Needs : unsigned char {
  Timeline,   ///< a makespan and the work of ranks: known of measured runs as well
  Totals,     ///< sums over the ops of ranks
  Peaks,      ///< live activations
  Bytes,      ///< peaks in bytes
  Steady,     ///< the period of the repeated schedule
  Rates,      ///< that, and the rates at which a step of a model trains
  Bound,      ///< a bound over all orders
  Idle,       ///< why ranks are idle; sweeps do not ask for it
  Scenarios,  ///< the step many times, with durations that vary
};

/// Ticks, units of a MemoryModel or a count; a double is a ratio or a rate.
using MetricValue = std::variant<TickSum, double>;

/// Times of one page: real ones with their unit, abstract ones with the same number of decimals, so that they align in a column.
class PageTimes {
 public:
  explicit PageTimes(TimeUnit unit) : unit_(unit), format_(unit) {}
  void include(TickSum time) { format_.include(time); }
  [[nodiscard]] std::string text(TickSum time) const {
    return unit_ == TimeUnit::Unit ? format_.text(time) : time_text(time, unit_);
  }

 private:
  TimeUnit unit_;
  TimeFormat format_;
};

struct Metric {
  std::string_view name;   ///< in files: "peak_bytes"
  std::string_view label;  ///< for people: "peak memory"
  std::string_view help;
  Unit unit = Unit::Count;
  Better better = Better::Lower;
  Needs needs = Needs::Totals;
  bool swept = false;  ///< sweeps may name it, and suites may not
  bool sometimes =
      false;  ///< not every simulated run has it: of a model, of a limit. Files leave it out or say null
  /// Nullopt if the run does not have it.
  std::optional<MetricValue> (*get)(const RunNumbers&) = nullptr;

  // The lists that it is in.
  bool report = false;      ///< a key of the report
  bool asked = false;       ///< sweeps and suites may name it
  std::int8_t summary = 0;  ///< place in the table of `simulate`; 0: not in it
  std::int8_t compare =
      0;  ///< place in the tables of comparisons; 0: only rules and JSON have it, after the others
  std::int8_t facts = 0;   ///< place among the facts that the window tells of a simulated run
  std::int8_t state = 0;   ///< place in the window's state
  std::int8_t edited = 0;  ///< place in the window's text on a schedule under edit

  bool share = false;  ///< a ratio that is at most 1
  /// Text of the third column of `simulate` and of the notes of pages.
  std::string (*note)(const RunNumbers&, const PageTimes&) = nullptr;
  /// The sentence that the window shows for it.
  std::string_view sentence = {};
  /// The one of several that the value is: "critical path". The report then has an object of value and name.
  std::string_view (*which)(const RunNumbers&) = nullptr;
  /// The name of a metric that pages show next to it.
  std::string_view beside = {};
};

/// All rows, in the order of the report.
[[nodiscard]] std::span<const Metric> all_metrics();
/// The rows that sweeps and suites may name.
[[nodiscard]] std::span<const Metric> asked_metrics();
/// The rows that sweeps may name: these, and those of scenarios.
[[nodiscard]] std::span<const Metric> sweep_metrics();
/// The row of `table` by name. Throws InputError suggesting the nearest name and listing all.
[[nodiscard]] const Metric& find_metric(std::string_view name, const Where& where = {},
                                        std::span<const Metric> table = asked_metrics());
/// Null for names of no row.
[[nodiscard]] const Metric* metric_named(std::string_view name,
                                         std::span<const Metric> table = all_metrics());
/// The rows with a place in `list`, in its order: listed(&Metric::summary).
[[nodiscard]] std::vector<const Metric*> listed(std::int8_t Metric::*list,
                                                std::span<const Metric> table = all_metrics());
/// The metric that the lower bound of such steps bounds: the makespan, or the period of steps that overlap.
[[nodiscard]] const Metric& bounded_metric(const Steps& steps);

/// As the report writes it: exact decimals in `unit` for times, bytes whole where they are, the shortest text that reads back for ratios.
[[nodiscard]] std::string json_text(const Metric& metric, const MetricValue& value, const RunNumbers& run,
                                    TimeUnit unit);
/// For comparisons: ticks, bytes, a ratio or a count.
[[nodiscard]] double number_of(const Metric& metric, const MetricValue& value, const RunNumbers& run);
/// For the window's state: times in `unit`, sizes in units of the MemoryModel.
[[nodiscard]] std::variant<std::int64_t, double> state_value(const Metric& metric, const MetricValue& value,
                                                             TimeUnit unit);
/// The value that `run`'s report has; kNoValue where the run does not know it.
[[nodiscard]] std::string text_of(const Metric& metric, const RunNumbers& run, TimeUnit unit);
[[nodiscard]] std::string text_of(const Metric& metric, const Run& run);

// Sources of metrics (study/report/metric.hpp): the parts of a run that hold its numbers, as far as they are known.

[[nodiscard]] TimelineFacts facts_of(const Timeline& timeline);

}  // namespace pipeloom::study
