#pragma once

// What metrics are read from (study/report/metric.hpp): the parts of a run that hold its numbers, as far as they are known.

#include <optional>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/base/tick_sum.hpp"

namespace pipeloom::study {

/// What a timeline alone tells, of its first step.
struct TimelineFacts {
  Ticks makespan = 0;
  TickSum busy;  ///< over ranks; a group counts once, copies not
  TickSum idle;  ///< ranks * makespan - busy
};
[[nodiscard]] TimelineFacts facts_of(const Timeline& timeline);

/// A view: what it points at outlives it. Null where a run does not know it. Not for several threads: facts() keeps what it worked out.
struct RunNumbers {
  const Metrics* metrics = nullptr;    ///< of simulated runs
  const Timeline* timeline = nullptr;  ///< REQUIRES: there where `metrics` is not
  const MemoryModel* memory = nullptr;
  const Steps* steps = nullptr;
  /// Idle spans of the first step, [rank].
  const std::vector<std::vector<IdleSpan>>* idle = nullptr;

  /// Of the metrics where these are known, else of the timeline.
  [[nodiscard]] const TimelineFacts& facts() const;
  /// `units` of memory in bytes.
  [[nodiscard]] double in_bytes(Bytes units) const;

  mutable std::optional<TimelineFacts> kept_facts = {};
};

[[nodiscard]] RunNumbers numbers_of(const Run& run);

}  // namespace pipeloom::study
