#include "study/calibrate/measurements.hpp"

#include <algorithm>
#include <utility>

#include <pipeloom/schedule.hpp>

namespace pipeloom::study::calibrate {
namespace {

std::vector<Ticks> step_times(const Timeline& timeline) {
  std::vector<Ticks> times;
  for (int step = 0; step < timeline.steps; ++step) times.push_back(span_of(timeline, step).length());
  return times;
}

Ticks usual_entry(const Timeline& timeline) {
  std::vector<Ticks> times;
  for (std::size_t i = 0; i < timeline.schedule->num_ops(); ++i)
    times.push_back(timeline.end_of(i) - timeline.start_of(i));
  return cost::sample_of(std::move(times)).median;
}

/// Offsets that reading took off count with those found here.
void add(const ClockFit& taken, ClockFit& found) {
  if (!taken.apart) return;
  found.offset.resize(taken.offset.size());
  for (std::size_t r = 0; r < taken.offset.size(); ++r) found.offset[r] += taken.offset[r];
  found.apart = true;
  found.uncertain = std::max(found.uncertain, taken.uncertain);
}

/// Empty where stage s is on rank s mod p.
std::vector<std::int32_t> stage_ranks_of(const Placement& placement) {
  std::vector<std::int32_t> ranks;
  bool in_turn = true;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    ranks.push_back(placement.rank_of(stage).value());
    in_turn = in_turn && ranks.back() == stage.value() % placement.ranks();
  }
  return in_turn ? std::vector<std::int32_t>() : ranks;
}

void take_layers(const Placement& placement, const KnownOfRun& known, Measurements& out) {
  out.layers = known.layers;
  if (placement.replicas() > 1) return;
  if (out.layers.empty()) out.layers.assign(static_cast<std::size_t>(placement.stages()), kEqualLayers);
  out.stage_ranks = stage_ranks_of(placement);
}

}  // namespace

bool waits_for_messages_alone(const Schedule& schedule) {
  return !schedule.has_copies() && !schedule.shares_output();
}

Measurements measure(const Timeline& timeline, const KnownOfRun& known) {
  Measurements out;
  static_cast<cost::MeasuredOps&>(out) = cost::measured_ops(timeline, known.held);
  out.unit = timeline.unit;
  out.ranks = timeline.schedule->ranks();
  out.microbatches = timeline.schedule->microbatches();
  out.is_of_torch = known.is_of_torch;
  out.transfers = known.transfers;
  take_layers(timeline.schedule->placement(), known, out);
  out.usual_entry = usual_entry(timeline);
  out.single = find_single_ops(timeline, known.held);
  // Of stage 0 I and W are no times of their own there.
  if (known.is_of_torch)
    std::erase_if(out.single.rows, [](const cost::CostRow& row) {
      return row.stage == 0 && (row.kind == OpKind::BackwardInput || row.kind == OpKind::BackwardWeight);
    });
  if (!waits_for_messages_alone(*timeline.schedule))
    out.waits.step_times = step_times(timeline);
  else
    out.waits = find_waits(timeline, known.clocks_by_step);
  add(known.clocks, out.waits.clocks);
  return out;
}

}  // namespace pipeloom::study::calibrate
