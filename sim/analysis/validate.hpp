#pragma once

// Is this a schedule at all, and can it run?

#include <cstddef>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom {

/// Checks the structure: every op is on the rank of its stage (for the microbatch's replica), once; every (stage, microbatch)
/// that has a forward has either one B, or one I and one W (unless the schedule is forward-only), and the other way round; a
/// microbatch runs through all stages; on a rank F comes before B or I, I before W; the ops of a group do not
/// depend on each other. R is between F and the backward; O between F and its L, L before R and the backward, both alone and
/// never one without the other; the slices of a sequence go forward in order, and backward in the opposite order after the last
/// forward.
[[nodiscard]] std::vector<Diagnostic> validate_structure(const Schedule& schedule);

/// True if diagnostics of validate() say that the schedule hangs and nothing else.
[[nodiscard]] bool only_hangs(const std::vector<Diagnostic>& diagnostics);

/// Throws ScheduleError (HangError if it only hangs) with the first diagnostics (at most three, then a count) if there are any.
void require_valid(const Schedule& schedule);

}  // namespace pipeloom
