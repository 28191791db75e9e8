#include "study/calibrate/measurements.hpp"

#include <algorithm>
#include <utility>

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

}  // namespace

bool waits_for_messages_alone(const Schedule& schedule) {
  return !schedule.has_copies() && !schedule.shares_output();
}

Measurements measure(const Timeline& timeline, const KnownOfRun& known) {
  Measurements out;
  static_cast<cost::MeasuredOps&>(out) = cost::measured_ops(timeline);
  out.unit = timeline.unit;
  out.transfers = known.transfers;
  out.usual_entry = usual_entry(timeline);
  out.single = find_single_ops(timeline);
  if (!waits_for_messages_alone(*timeline.schedule))
    out.waits.step_times = step_times(timeline);
  else
    out.waits = find_waits(timeline, known.clocks_by_step);
  return out;
}

}  // namespace pipeloom::study::calibrate
