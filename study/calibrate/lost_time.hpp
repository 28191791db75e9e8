#pragma once

// Time that ranks lose before single entries, step after step, though their messages are there: a host that is late, a collector. No latency and no
// launch says it.
//
//   late(e) = start(e) - tau receives(e) - max(lane(previous) + g, max over messages (lane(producer) + g + latency))
//
// with the names of study/calibrate/waits.hpp, and the latencies that a costs file gets. The median over the steps counts where it is larger than
// kLeastLost of a usual entry and than z standard errors, where three quarters of the steps have half of it or more, and where both halves of the
// steps do. A rank that is late before more than a tenth of its entries waits otherwise than the model of messages says, and has none.

#include <cstddef>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::calibrate {

/// Of a usual entry: less is not looked at.
inline constexpr double kLeastLost = 0.02;

/// Time that a rank loses before the entry of op indices [first, last) begins.
struct LostTime {
  std::size_t first = 0;
  std::size_t last = 0;
  Ticks time = 0;
};

/// [link] `latency`, g and tau, as the costs file says them.
struct KnownWaits {
  std::vector<Ticks> latency = {};
  Ticks between = 0;
  Ticks rank_time = 0;
};

/// True if `value`, the median of these times over the steps, is no chance: three quarters of the steps and the medians of both halves of them
/// have half of it or more.
[[nodiscard]] bool repeats(const std::vector<Ticks>& times, Ticks value);

/// `wiring` with messages of any latency; `steps` with clocks aligned.
[[nodiscard]] std::vector<LostTime> find_lost_time(const explain::Wiring& wiring,
                                                   const std::vector<explain::MeasuredStep>& steps,
                                                   const KnownWaits& waits);

}  // namespace pipeloom::study::calibrate
