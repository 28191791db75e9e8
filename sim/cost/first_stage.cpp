#include "sim/cost/first_stage.hpp"

#include <pipeloom/error.hpp>

namespace pipeloom::cost {

void apply_first_stage(const CostSpec& spec, ResolvedCosts& out) {
  if (spec.first_stage == FirstStage::Full) return;
  Ticks& input = out.stage_duration[index_of(OpKind::BackwardInput)].front();
  Ticks& weight = out.stage_duration[index_of(OpKind::BackwardWeight)].front();
  if (input + weight >= kMaxTicks)
    throw InputError(
        spec.where,
        "costs.backward_input + costs.backward_weight overflows on stage 0, where costs.first_stage "
        "\"torch\" adds them; use a larger time unit");
  weight += input;
  input = 0;
  out.origins.emplace_back("costs.first_stage", "stage 0: nothing in I, I and W in W");
}

}  // namespace pipeloom::cost
