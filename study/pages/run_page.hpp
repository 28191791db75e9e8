#pragma once

// The pages of one run and of several: the answer first, then the pictures, then the tables. And the answers of commands: shorter pages of
// the same tables.

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/run.hpp>
#include "study/document/document.hpp"
#include "study/explain/explain.hpp"
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

/// Adds the line that opens one run, or two that are compared, live in a browser: a link to the page at `base` (<pipeloom/link.hpp>). Adds
/// nothing for more runs, and where a run is of no configuration or a link cannot hold it. Throws InputError if `base` is no address.
void add_link(Page& page, const std::list<Run>& runs, std::string_view base);

/// The answer of `pipeloom simulate`: metrics, causes that hold it back, ranks; all of them if `everything`.
[[nodiscard]] Page run_answer(const Run& run, const ScenarioSummary* scenarios, bool everything);

/// The answer of `pipeloom compare`: tables of compare_page() with at most `most` rows of causes and ops. runs[0] is the baseline.
[[nodiscard]] Page compare_answer(std::span<const Run* const> runs, std::size_t most);

/// The answer of `pipeloom explain`: causes with their amounts, and those without effect.
[[nodiscard]] Page explain_answer(const explain::Explanation& explanation);
/// Blocks of it that pages of comparisons have too: the table with `caption`, and sentences below it.
[[nodiscard]] std::vector<Block> explanation_blocks(const explain::Explanation& explanation,
                                                    std::string caption);

}  // namespace pipeloom::study::page
