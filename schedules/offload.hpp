#pragma once

// Activation offload for any schedule: copies to the host after the forward, and back before the backward.

#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>

namespace pipeloom::schedules {

/// Slots of a rank whose activations may go to the host: its first chunks, of each replica, as far as the rule names their stages.
[[nodiscard]] std::vector<Slot> offloaded_slots(const Placement& placement, Rank rank,
                                                const OffloadOption& rule);

/// The same order with O(s,k) after the forward of every offloaded pass, and L(s,k) `rule.prefetch` entries before its R, B or I,
/// but never before its O.
/// Only offloaded_slots() go: a pass of a lower chunk lives longer, as its backward comes last, so the
/// longest-lived activations go first: the selective rule of PipeOffload (2025, arXiv 2503.01328, section 3.2). A pass keeps its
/// activations where the copies would not hide: with fewer entries than the rule's least gap between its forward and its R, B or I.
/// REQUIRES: no structural errors, no O or L yet, not forward-only; no number of the rule is negative, and its stages are the schedule's. O(ops).
[[nodiscard]] Schedule with_offload(const Schedule& schedule, const OffloadOption& rule = {});

}  // namespace pipeloom::schedules
