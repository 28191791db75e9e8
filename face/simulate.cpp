#include <utility>

#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/cost/bind.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/memory.hpp"

namespace pipeloom {
namespace {

/// Calls fn with the costs of this very order: those of `terms`, bound where a cost depends on the op.
template <class Fn>
auto with_costs(const Terms& terms, const Schedule& schedule, Fn&& fn) {
  if (terms.ops.empty()) return fn(terms.costs);
  Costs bound = terms.costs;
  cost::bind_costs(bound, terms.ops, schedule);
  return fn(std::as_const(bound));
}

}  // namespace

Timeline simulate(std::shared_ptr<const Schedule> schedule, const Terms& terms, const Steps& steps) {
  require_valid(*schedule);
  return with_costs(terms, *schedule, [&](const Costs& costs) { return simulate(schedule, costs, steps); });
}

Metrics measure(const Timeline& timeline, const Terms& terms, const Steps& steps) {
  return with_costs(terms, *timeline.schedule,
                    [&](const Costs& costs) { return measure(timeline, costs, terms.memory, steps); });
}

std::vector<MemoryStep> memory_curve(const Timeline& timeline, const Terms& terms, Rank rank, int step) {
  return memory_curve(timeline, terms.memory, rank, step);
}

std::vector<std::vector<IdleSpan>> idle_spans(const Timeline& timeline, const Terms& terms) {
  return with_costs(terms, *timeline.schedule,
                    [&](const Costs& costs) { return all_idle_spans(timeline, costs); });
}

CriticalPath critical_path(const Timeline& timeline, const Terms& terms) {
  return with_costs(terms, *timeline.schedule,
                    [&](const Costs& costs) { return critical_path(timeline, costs); });
}

std::vector<Ticks> slack(const Timeline& timeline, const Terms& terms) {
  return with_costs(terms, *timeline.schedule, [&](const Costs& costs) { return slack(timeline, costs); });
}

}  // namespace pipeloom
