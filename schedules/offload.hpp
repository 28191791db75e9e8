#pragma once

// Activation offload for any schedule: copies to the host after the forward, and back before the backward.

#include "sim/schedule.hpp"

namespace pipeloom::schedules {

struct OffloadRule {
  /// Offload the first `chunks` of each rank's chunks. A pass of a lower chunk lives longer (its backward comes last), so the
  /// longest-lived activations go first: the selective rule of PipeOffload (2025, arXiv 2503.01328, section 3.2).
  int chunks = kMaxIndex;
  /// L is issued so many entries before the entry that needs it, so that it runs beside them.
  int prefetch = 1;
  /// A pass stays on the device if fewer entries than this lie between its forward and its backward: its copies would not
  /// hide.
  int min_gap = 3;
};

/// The same order with O(s,k) behind the forward of every offloaded pass, and L(s,k) in front of the entry that stands
/// `prefetch` entries before its R, B or I, but never before its O.
/// REQUIRES: no structural errors, no O or L yet, not forward-only; prefetch >= 0, chunks >= 0, min_gap >= 0. O(ops).
[[nodiscard]] Schedule with_offload(const Schedule& schedule, const OffloadRule& rule = {});

}  // namespace pipeloom::schedules
