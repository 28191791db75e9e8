#include "sim/tensor_index.hpp"

#include <vector>

namespace pipeloom {

OpKind turning_kind(const Schedule& schedule) {
  if (!schedule.shares_output()) return OpKind::Forward;
  // Ops of one pass are in one queue, in their order.
  std::vector<bool> has_gradients(static_cast<std::size_t>(schedule.units()));
  for (const Op op : schedule.ops()) {
    if (op.stage().value() + 1 != schedule.stages()) continue;
    if (op.kind() == OpKind::OutputWeight) has_gradients[schedule.unit_of(op)] = true;
    if (carries_gradient(op.kind()) && has_gradients[schedule.unit_of(op)]) return OpKind::OutputWeight;
  }
  return OpKind::Output;
}

}  // namespace pipeloom
