#pragma once

// When every op started and ended: the one type that simulation, measurement and import produce and that
// every view, exporter and metric reads.

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/schedule.hpp"

namespace pipeloom {

/// Times of `steps` runs of one schedule.
///
/// Shapes: start[step * num_ops + i], end[...] for op index i of schedule->ops(). The ops of a group share
/// start and end, unless the group ran its parts one after another. Time 0 is the start of the first step.
struct Timeline {
  std::shared_ptr<const Schedule> schedule;
  int steps = 1;
  TimeUnit unit = TimeUnit::Unit;
  std::vector<Ticks> start;
  std::vector<Ticks> end;

  [[nodiscard]] std::size_t index(int step, std::size_t op) const {
    return static_cast<std::size_t>(step) * schedule->num_ops() + op;
  }
  [[nodiscard]] Ticks start_of(std::size_t op, int step = 0) const { return start[index(step, op)]; }
  [[nodiscard]] Ticks end_of(std::size_t op, int step = 0) const { return end[index(step, op)]; }
};

/// First start and last end of a step over all ranks; {0, 0} without ops.
struct Span {
  Ticks start = 0;
  Ticks end = 0;
  [[nodiscard]] Ticks length() const { return end - start; }
  friend bool operator==(const Span&, const Span&) = default;
};
[[nodiscard]] Span span_of(const Timeline& timeline, int step = 0);
/// The same for one rank.
[[nodiscard]] Span span_of(const Timeline& timeline, Rank rank, int step = 0);

}  // namespace pipeloom
