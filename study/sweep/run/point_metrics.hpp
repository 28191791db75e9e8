#pragma once

// The metrics of one point whose schedule is already made. Not for users; see study/sweep/run/evaluator.hpp.
//
//   needs                                        is found by
//   nothing but totals, plain ops, often asked   FixedOrder
//   nothing but totals                           Simulator without a timeline
//   bytes that depend on time                    Simulator with a timeline
//   copies, transfers that block or queue        study::evaluate_made()
//   scenarios                                    also study::run_scenarios()

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/engine/simulator.hpp"
#include "sim/io/config/config.hpp"
#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"
#include "study/sweep/run/schedule_cache.hpp"

namespace pipeloom::sweep {

/// Parts of Metrics that cost something of their own.
struct Wanted {
  bool bound = false;
  bool period = false;  ///< of the repeated schedule
  bool rates = false;   ///< of a model
  bool bytes = false;   ///< peaks
  std::optional<study::ScenarioChoice> scenarios = {};
};
/// `scenarios` where a metric needs them.
[[nodiscard]] Wanted wanted_by(std::span<const study::Metric* const> metrics,
                               const std::optional<study::ScenarioChoice>& scenarios);

/// Numbers of a point; its metrics as far as they are wanted.
struct PointRun {
  Costs costs;
  MemoryModel memory;
  Timeline timeline;
  Metrics metrics;
  std::optional<OverLimit> over_limit;
  std::optional<study::ScenarioSummary> scenarios;
  std::optional<study::TrainingTerms> training;

  [[nodiscard]] study::RunNumbers numbers() const {
    study::RunNumbers out{&metrics, &timeline, &memory};
    if (scenarios) out.scenarios = &*scenarios;
    if (training) out.training = &*training;
    return out;
  }
};

/// Measures points; keeps its buffers. One per thread.
class PointMetrics {
 public:
  PointMetrics(Wanted wanted, Limits limits) : wanted_(wanted), limits_(std::move(limits)) {}

  /// The numbers that study::evaluate() would give, as far as they are wanted: of the timeline the unit only. Throws as
  /// study::evaluate() does. `grown` is set if `made` became larger.
  const PointRun& measure(MadeSchedule& made, const io::Config& config, bool& grown);

 private:
  bool measure_quickly(MadeSchedule& made, const io::Config& config, bool& grown);
  void resolve_memory(const std::shared_ptr<const Schedule>& schedule, const io::Config& config);
  bool find_totals(MadeSchedule& made, const Steps& steps, bool& grown);
  [[nodiscard]] bool is_over_limit() const;
  void find_peaks(MadeSchedule& made, const cost::MemorySpec& spec);
  bool measure_timeline(const std::shared_ptr<const Schedule>& schedule);
  [[nodiscard]] bool order_decides_bytes(const Schedule& schedule) const;
  void fill(const Schedule& schedule, const Steps& steps);

  Wanted wanted_;
  Limits limits_;
  Simulator simulator_;
  std::vector<Ticks> scratch_;
  Totals totals_;
  bool has_peaks_ = false;                           // totals_ came with peaks
  std::vector<RankMemory> memory_;                   // [rank]
  std::shared_ptr<const Schedule> memory_schedule_;  // for which run_.memory was resolved,
  std::optional<cost::MemorySpec> memory_spec_;      // from this,
  int memory_steps_ = 0;                             // for that many steps
  PointRun run_;
};

}  // namespace pipeloom::sweep
