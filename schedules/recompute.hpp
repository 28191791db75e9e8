#pragma once

// Recomputation for any schedule: forwards keep a stash, and run once more just before their backward.

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>

namespace pipeloom::schedules {

/// The same order with R(s,k) in front of the backward of every recomputed pass.
///
/// keep = 0 recomputes every pass (full recomputation). keep = K is Megatron-LM's per-microbatch window
/// (num_microbatches_with_partial_activation_checkpoints): of the w passes that a rank has outstanding, those of its i-th
/// forward with i mod w < K keep their activations; w is the number of forwards before the rank's first backward, so ranks near
/// the end recompute less or nothing.
///
/// Passes of stages that the option does not name never run again.
///
/// R is an entry of its own before the entry of B or I. It waits for nothing but its turn, so it runs while the gradient is
/// still on its way.
/// REQUIRES: no structural errors, no R, O or L yet, not forward-only; the option's stages are the schedule's. O(ops).
[[nodiscard]] Schedule with_recompute(const Schedule& schedule, const RecomputeOption& rule = {});

/// The same order without what options add to it, R, O and L: what its generator emits, and what runs where a framework's backward computes
/// again by itself. REQUIRES: no structural errors, not forward-only. O(ops).
[[nodiscard]] Schedule without_added(const Schedule& schedule);

}  // namespace pipeloom::schedules
