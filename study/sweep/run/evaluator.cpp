#include "study/sweep/run/evaluator.hpp"

#include <utility>

#include "study/report/run_tables.hpp"
#include "study/run/make_schedule.hpp"
#include "study/sweep/run/families.hpp"
#include "study/sweep/run/point_metrics.hpp"
#include "study/sweep/run/schedule_cache.hpp"

namespace pipeloom::sweep {

std::vector<std::string> default_metrics() {
  return {"makespan", "bubble_ratio", "peak_activation_bytes"};
}

std::vector<std::string> scenario_metrics() {
  std::vector<std::string> out;
  for (const study::Metric& metric : study::sweep_metrics())
    if (metric.needs == study::Needs::Scenarios) out.emplace_back(metric.name);
  return out;
}

std::shared_ptr<Evaluator::Cache> Evaluator::make_cache(std::size_t max_bytes) {
  return std::make_shared<Cache>(max_bytes);
}

CacheUse Evaluator::use_of(const Cache& cache) {
  return cache.use();
}

struct Evaluator::State {
  std::vector<std::string> names;
  std::vector<const study::Metric*> metrics;
  Wanted wanted;
  Limits limits;
  std::shared_ptr<Cache> cache;
  PointMetrics point;
  Families families;
  // The schedule of the last point: the next one often runs the same.
  ScheduleKey last_key;
  std::shared_ptr<MadeSchedule> last;

  void evaluate(const io::Config& config, std::string_view family, Outcome& out);
  bool evaluate_repeated(const io::Config& config, std::string_view family, Outcome& out);
  void take(const study::RunNumbers& run, const std::optional<OverLimit>& over_limit, Outcome& out) const;
};

/// The asked metrics of a point.
void Evaluator::State::take(const study::RunNumbers& run, const std::optional<OverLimit>& over_limit,
                            Outcome& out) const {
  out.status = over_limit ? Status::OverMemory : Status::Ok;
  if (over_limit) out.error = study::over_limit_text(*over_limit, *run.memory);
  for (const study::Metric* metric : metrics)
    out.metrics.push_back(text_of(*metric, run, run.timeline->unit));
}

/// A point of many microbatches from two short runs, without a schedule of its size. False where it is not one.
bool Evaluator::State::evaluate_repeated(const io::Config& config, std::string_view family, Outcome& out) {
  if (wanted.scenarios) return false;
  const FamilyRun* run = families.find(config, family);
  if (run == nullptr) return false;
  take(run->numbers(), run->over_limit, out);
  return true;
}

/// Throws as study::evaluate() does.
void Evaluator::State::evaluate(const io::Config& config, std::string_view family, Outcome& out) {
  if (evaluate_repeated(config, family, out)) return;
  const study::SchedulePlan plan = study::plan_schedule(config, limits);
  ScheduleKey key = key_of(config, plan);
  if (last == nullptr || !(key == last_key)) {
    last = cache->find(key);
    last_key = std::move(key);
  }
  bool generated = false;
  const Schedule* schedule = last->get(plan, config, limits, generated);
  if (generated) cache->grown(last_key, *last, true);
  if (schedule == nullptr) {
    out.status = last->status();
    out.error = last->error();
    return;
  }
  bool grown = false;
  const PointRun& run = point.measure(*last, config, grown);
  if (grown) cache->grown(last_key, *last, false);
  take(run.numbers(), run.over_limit, out);
}

Evaluator::Evaluator(std::vector<std::string> metrics, Limits limits, std::shared_ptr<Cache> cache,
                     const std::optional<study::ScenarioChoice>& scenarios) {
  std::vector<const study::Metric*> rows;
  for (const std::string& name : metrics)
    rows.push_back(&study::find_metric(name, {}, study::sweep_metrics()));
  // Asked once: a sweep has many points.
  if (!limits.max_memory) limits.max_memory = study::default_max_memory();
  const Wanted wanted = wanted_by(rows, scenarios);
  state_ = std::make_unique<State>(
      State{std::move(metrics),
            std::move(rows),
            wanted,
            limits,
            std::move(cache),
            PointMetrics(wanted, limits),
            Families(limits, wanted.bound ? study::Depth::All : study::Depth::Metrics),
            {},
            {}});
}

Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;

const std::vector<std::string>& Evaluator::metrics() const {
  return state_->names;
}

void Evaluator::evaluate(const io::Config& config, Outcome& out, std::string_view family) {
  out.metrics.clear();
  out.error.clear();
  try {
    state_->evaluate(config, family, out);
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    out.metrics.clear();
    out.status = study::status_of(error);
    out.error = error.line();
  }
}

}  // namespace pipeloom::sweep
