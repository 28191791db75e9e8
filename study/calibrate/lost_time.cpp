#include "study/calibrate/lost_time.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cost/measured/measured_ops.hpp"
#include "study/calibrate/statistics.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::study::calibrate {
namespace {

using explain::MeasuredStep;
using explain::Wiring;

constexpr double kMostLate = 0.1;   // of a rank's entries
constexpr double kFewLate = 4;      // are no habit of a rank
constexpr double kAgreeing = 0.75;  // of the steps

/// [entry] of one step.
std::vector<Ticks> late_times(const Wiring& wiring, const MeasuredStep& step, const KnownWaits& waits) {
  std::vector<Ticks> late(wiring.entries(), 0);
  const auto free = [&](std::uint32_t entry) {
    return step.times.end[entry] + waits.between + waits.rank_time * wiring.sends[entry];
  };
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    const std::uint32_t previous = step.order.previous[e];
    const std::uint32_t begin = wiring.message_begin[e];
    const std::uint32_t end = wiring.message_begin[e + 1];
    if (previous == Wiring::kNone && begin == end) continue;  // nothing says when it could have begun
    Ticks ready = previous == Wiring::kNone ? -kMaxTicks : free(previous);
    for (std::uint32_t i = begin; i < end; ++i)
      ready = std::max(ready, free(wiring.messages[i].producer) + waits.latency[wiring.messages[i].link]);
    late[e] = step.times.start[e] - waits.rank_time * wiring.receives[e] - ready;
  }
  return late;
}

/// How far such times spread from step to step; of one step how large they usually are.
double late_spread(const std::vector<std::vector<Ticks>>& late, const std::vector<Ticks>& median) {
  std::vector<double> apart;
  for (const std::vector<Ticks>& step : late)
    for (std::size_t e = 0; e < step.size(); ++e)
      apart.push_back(static_cast<double>(std::abs(late.size() > 1 ? step[e] - median[e] : step[e])));
  return kOfNormal * explain::median_of(std::move(apart));
}

/// Without those of ranks that are late before many entries.
void drop_habits(const Wiring& wiring, std::vector<std::uint32_t>& entries) {
  std::vector<double> late(static_cast<std::size_t>(wiring.ranks), 0);
  std::vector<double> all(late.size(), 0);
  for (const Rank rank : wiring.rank) ++all[rank.at()];
  for (const std::uint32_t e : entries) ++late[wiring.rank[e].at()];
  std::erase_if(entries, [&](std::uint32_t e) {
    const std::size_t rank = wiring.rank[e].at();
    return late[rank] > std::max(kFewLate, kMostLate * all[rank]);
  });
}

}  // namespace

bool repeats(const std::vector<Ticks>& times, Ticks value) {
  const auto there = std::count_if(times.begin(), times.end(), [&](Ticks of) { return 2 * of >= value; });
  if (static_cast<double>(there) < kAgreeing * static_cast<double>(times.size())) return false;
  if (times.size() < 2) return true;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() + 1) / 2);
  return 2 * cost::sample_of({times.begin(), middle}).median > value &&
         2 * cost::sample_of({middle, times.end()}).median > value;
}

std::vector<LostTime> find_lost_time(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                                     const KnownWaits& waits) {
  std::vector<std::vector<Ticks>> late;
  for (const MeasuredStep& step : steps) late.push_back(late_times(wiring, step, waits));
  std::vector<std::vector<Ticks>> of_entry(wiring.entries());
  std::vector<Ticks> median;
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    for (const std::vector<Ticks>& step : late) of_entry[e].push_back(step[e]);
    median.push_back(cost::sample_of(of_entry[e]).median);
  }
  const double error = median_error(late_spread(late, median), static_cast<double>(steps.size()));
  const double least =
      std::max(kLeastLost * static_cast<double>(explain::usual_time(steps)), z_of(wiring.entries()) * error);
  std::vector<std::uint32_t> entries;
  for (std::uint32_t e = 0; e < wiring.entries(); ++e)
    if (static_cast<double>(median[e]) > least && repeats(of_entry[e], median[e])) entries.push_back(e);
  drop_habits(wiring, entries);
  std::vector<LostTime> out;
  for (const std::uint32_t e : entries)
    out.push_back({wiring.part_begin[e], wiring.part_begin[e + 1], median[e]});
  return out;
}

}  // namespace pipeloom::study::calibrate
