#pragma once

// Checks that a run's bytes can be added up.

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"

namespace pipeloom::cost {

/// Throws InputError, at the place of the largest share, where the bytes that a rank could hold reach 2^62: static bytes of its stages, and
/// activations, logits and receive buffers of all `microbatches` at once, received ones of all `steps` too. What follows adds them in
/// 64 bits. `model` is `spec` resolved for this schedule, `microbatches` its own, or those of a longer run of it. O(slots).
void require_summable(const MemorySpec& spec, const MemoryModel& model, const Schedule& schedule, int steps,
                      int microbatches);

}  // namespace pipeloom::cost
