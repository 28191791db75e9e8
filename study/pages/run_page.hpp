#pragma once

// The pages of one run and of several: the answer first, then the pictures, then the tables.

#include <list>
#include <string>

#include <pipeloom/run.hpp>
#include "study/document/document.hpp"
#include "study/run/scenario_run.hpp"

namespace pipeloom::study::page {

/// Format of the page: Markdown has no pictures, and short tables.
enum class Medium : unsigned char { Html, Markdown };

/// Simulated: makespan, bubble, memory and limit, bound, the largest cause of idle time in a sentence; timeline; memory; idle causes; ranks;
/// critical path; configuration with the origin of every value; `scenarios` of it, if there are any.
/// For a run from a file of times: the facts that times alone give.
[[nodiscard]] Page run_page(const Run& run, Medium medium, const ScenarioSummary* scenarios = nullptr);

/// Two runs or more, the first the baseline: metrics with changes, timelines one above the other on one scale, idle causes of each,
/// causes of the difference, ops that differ most.
[[nodiscard]] Page compare_page(const std::list<Run>& runs, Medium medium);

}  // namespace pipeloom::study::page
