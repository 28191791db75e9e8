#pragma once

// The lower bound of a run with more repetitions than a short one has.

#include <functional>

#include "study/run/repeated/short_runs.hpp"

namespace pipeloom::study {

/// Sets the bounds of both short runs' metrics. False where it is not known that every further repetition adds as much to the bound as the first one.
///
/// Of n repetitions more, each set of entries of a rank with heads and tails above some limits gives a bound that is the largest of sums that grow
/// evenly with n, if heads and tails do: their maximum is convex in n. The makespan grows evenly, and no bound passes it. So a bound that grows as
/// the makespan does once goes on so. Heads and tails are those of stages where microbatches run alone; with groups they have to repeat, too.
/// A bound that grows as the busiest rank's work does goes on so where microbatches run alone and ranks have no limit: none grows faster.
[[nodiscard]] bool take_bounds(const Run& shorter, const LongerRun& longer, const RepeatedCuts& cuts,
                               const std::function<bool()>& stopped, LowerBound& of_shorter,
                               LowerBound& of_longer);

}  // namespace pipeloom::study
