#pragma once

// The shape that costs are resolved against: all that is known of a run before its order is.

#include <cstdint>

#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::cost {

struct Shape {
  const Placement* placement = nullptr;  ///< outlives the shape
  std::uint32_t kinds = 0;               ///< bit index_of(kind): ops of this kind run
  int microbatches = 0;
  int slices = 0;  ///< of a microbatch; 0 where an order that does not exist yet decides

  [[nodiscard]] bool contains(OpKind kind) const { return (kinds >> index_of(kind) & 1U) != 0; }
};

/// The shape of a schedule, which must outlive it.
[[nodiscard]] inline Shape shape_of(const Schedule& schedule) {
  Shape shape{&schedule.placement(), 0, schedule.microbatches(), schedule.slices()};
  for (const OpKind kind : kAllOpKinds)
    if (schedule.contains(kind)) shape.kinds |= 1U << index_of(kind);
  return shape;
}

}  // namespace pipeloom::cost
