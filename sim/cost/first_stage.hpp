#pragma once

// The part of resolve() about stage 0, which has no stage before it to send a gradient to.

#include "sim/cost/cost_spec.hpp"
#include "sim/cost/resolve.hpp"

namespace pipeloom::cost {

/// FirstStage::Torch: I of stage 0 takes no time, and its W takes I + W, as measured under PyTorch (there is no input whose gradient I
/// could compute, so autograd does all of it in W). Applying it again changes nothing. REQUIRES: `out.stage_duration` is filled in.
/// Throws InputError if I + W overflows.
void apply_first_stage(const CostSpec& spec, ResolvedCosts& out);

}  // namespace pipeloom::cost
