#include "sim/cost/bind.hpp"

namespace pipeloom::cost {

void bind_costs(Costs& costs, std::span<const OpCost> ops, const Schedule& schedule) {
  costs.per_op.clear();
  if (ops.empty()) return;
  costs.per_op.reserve(schedule.num_ops());
  for (const Op op : schedule.ops()) {
    Ticks ticks = costs.table_duration(op, schedule.slot_of(op));
    for (const OpCost& one : ops)
      if (one.names(op)) ticks = one.duration;
    costs.per_op.push_back(ticks);
  }
}

void bind(Terms& terms, const Schedule& schedule) {
  bind_costs(terms.costs, terms.ops, schedule);
}

}  // namespace pipeloom::cost
