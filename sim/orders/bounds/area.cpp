// Bytes times time: what all microbatches hold, as long as they must, within what a rank may hold. Near both ends it cannot hold it all.

#include <algorithm>
#include <cmath>

#include "sim/orders/bounds/parts.hpp"

namespace pipeloom::orders {
namespace {

using Real = long double;

/// How fast bytes can come or go: no more than `jump` + time * `rate` of them.
struct Ramp {
  Real jump = 0;
  Real rate = 0;  ///< bytes per tick; infinite where they come in no time

  void take(Bytes bytes, Wide time) {
    if (bytes == 0) return;
    rate = std::max(rate, time == 0 ? HUGE_VALL : static_cast<Real>(bytes) / static_cast<Real>(time));
  }
  /// How long until `limit` can be full.
  [[nodiscard]] Real length(Real limit) const {
    return rate == 0 || std::isinf(rate) ? 0 : std::max<Real>(0, limit - jump) / rate;
  }
  /// Area below `limit` that is not reached meanwhile.
  [[nodiscard]] Real loss(Real limit) const { return std::max<Real>(0, limit - jump) * length(limit) / 2; }
};

/// The least time in which `area` fits below `limit` and both ramps. A ramp counts where it is over within that time, both where they are over
/// one after the other: the area that fits grows with time, and is limit * time - losses from there on.
Real time_of(Real area, Real limit, const Ramp& up, const Ramp& down) {
  const auto with = [&](Real loss, Real length) {
    const Real time = (area + loss) / limit;
    return time >= length ? time : 0;
  };
  const Real up_only = with(up.loss(limit), up.length(limit));
  const Real down_only = with(down.loss(limit), down.length(limit));
  const Real both = with(up.loss(limit) + down.loss(limit), up.length(limit) + down.length(limit));
  return std::max({area / limit, up_only, down_only, both});
}

/// Rounded up, errors of rounding in its favour; no more than any time, of which few suffice.
Wide whole(Real time) {
  return static_cast<Wide>(std::ceil(std::min(time, Real{2} * kMaxTicks) * (1 - 1e-13L) - 1e-9L));
}

/// From the first F to the end of the rank: bytes wait for I, then for W.
Wide until_end(const Parts& parts, std::size_t rank) {
  Real area = 0;
  Ramp up;
  Ramp down;
  for (const std::size_t stage : parts.stages_of(rank)) {
    const StageWork& work = parts.problem.stages[stage];
    area += static_cast<Real>(parts.life(stage)) * static_cast<Real>(work.held) +
            static_cast<Real>(work.weight) * static_cast<Real>(work.kept);
    up.jump = std::max(up.jump, static_cast<Real>(work.held));
    up.take(work.held, work.forward);
    up.take(work.kept, Wide{work.forward} + work.input);
    down.jump = std::max({down.jump, static_cast<Real>(work.held), static_cast<Real>(work.kept)});
    down.take(work.held, Wide{work.input} + work.weight);
    down.take(work.kept, work.weight);
  }
  area *= static_cast<Real>(parts.problem.microbatches);
  const Real time = time_of(area, static_cast<Real>(parts.problem.limit[rank]), up, down);
  return parts.start(rank) + whole(time) - parts.problem.origin[rank];
}

/// From the first F to the last I, whose gradient then goes on: bytes that wait for I alone.
Wide until_last_input(const Parts& parts, std::size_t rank) {
  Real area = 0;
  Ramp up;
  Ramp down;
  for (const std::size_t stage : parts.stages_of(rank)) {
    const StageWork& work = parts.problem.stages[stage];
    const auto held = static_cast<Real>(work.held);
    area += static_cast<Real>(parts.life(stage)) * held;
    up.jump = std::max(up.jump, held);
    up.take(work.held, work.forward);
    down.jump = std::max(down.jump, held);
    down.take(work.held, work.input);
  }
  area *= static_cast<Real>(parts.problem.microbatches);
  const Real time = time_of(area, static_cast<Real>(parts.problem.limit[rank]), up, down);
  return parts.start(rank) + whole(time) + parts.chains[parts.first_stage(rank)].input_tail;
}

}  // namespace

Wide area_bound(const Parts& parts) {
  Wide best = 0;
  for (std::size_t rank = 0; rank < parts.problem.ranks(); ++rank)
    if (parts.problem.limit[rank] != kNoLimit && parts.problem.limit[rank] > 0)
      best = std::max({best, until_end(parts, rank), until_last_input(parts, rank)});
  return best;
}

}  // namespace pipeloom::orders
