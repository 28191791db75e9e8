#pragma once

// Activation offload for any schedule: copies to the host after the forward, and back before the backward.

#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>

namespace pipeloom::schedules {

/// What a rank has whose activations may go: its first chunks, of each replica, as far as they are among the stages that the rule names.
[[nodiscard]] std::vector<Slot> offloaded_slots(const Placement& placement, Rank rank,
                                                const OffloadOption& rule);

/// The same order with O(s,k) behind the forward of every offloaded pass, and L(s,k) in front of the entry that stands
/// so many entries before its R, B or I, but never before its O.
/// Only offloaded_slots() go: a pass of a lower chunk lives longer, as its backward comes last, so the
/// longest-lived activations go first: the selective rule of PipeOffload (2025, arXiv 2503.01328, section 3.2). A pass stays where its
/// copies would not hide, between a forward and a backward that stand too close.
/// REQUIRES: no structural errors, no O or L yet, not forward-only; no number of the rule is negative, and its stages are the schedule's. O(ops).
[[nodiscard]] Schedule with_offload(const Schedule& schedule, const OffloadOption& rule = {});

}  // namespace pipeloom::schedules
