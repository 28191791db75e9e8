#pragma once

// Root causes of a run with more repetitions than a short one has.

#include <cstdint>
#include <vector>

#include "sim/roots/root_causes.hpp"
#include "study/run/repeated/short_runs.hpp"

namespace pipeloom::study {

/// root_causes() of the run with `times` repetitions more; RootCause::op and span are those of ShortRuns::longer(), and ops have names. Empty if nothing is idle, and
/// where a cause may not have the same part in every repetition: the walks from the last repetition on must stay where the run repeats, and entries of one
/// stage and kind take the same time. REQUIRES: `runs` has the times of its ops, times >= 1. O(ops of both runs, and their walks).
[[nodiscard]] std::vector<RootCause> repeated_roots(const ShortRuns& runs, std::int64_t times);

}  // namespace pipeloom::study
