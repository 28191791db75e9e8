#include "study/explain/shown/explain_runs.hpp"

#include <pipeloom/error.hpp>
#include "sim/io/config/effective_config.hpp"

namespace pipeloom::study::explain {

Explanation explain_runs(const Run& predicted, const Run& measured, const GoesOn& goes_on) {
  if ((predicted.timeline.unit == TimeUnit::Unit) != (measured.timeline.unit == TimeUnit::Unit))
    throw InputError(
        "its times and the predicted ones do not compare: one of them is in abstract units; give the "
        "configuration costs in ms (costs.time_unit), or the timeline its unit");
  return explain({.timeline = predicted.timeline,
                  .costs = predicted.costs,
                  .rank_time = predicted.costs != nullptr ? predicted.costs->rank_time : Ticks{0}},
                 measured.timeline, goes_on);
}

std::optional<Explanation> explanation_between(const Run& predicted, const Run& measured) {
  if (predicted.costs == nullptr || measured.source != RunSource::TimelineFile) return std::nullopt;
  const Schedule& before = *predicted.timeline.schedule;
  const Schedule& after = *measured.timeline.schedule;
  if (before.num_ops() == 0 || before.num_ops() != after.num_ops() || before.has_copies() ||
      before.shares_output())
    return std::nullopt;
  if (measured.timeline.start.size() > kMostComparedTimes) return std::nullopt;
  try {
    return explain_runs(predicted, measured);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string_view transfer_model_of(const Run& run) {
  return run.effective == nullptr ? std::string_view() : name_of(run.effective->costs.transfer.model);
}

}  // namespace pipeloom::study::explain
