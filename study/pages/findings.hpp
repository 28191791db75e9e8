#pragma once

// Sentences and facts about a run, for the tops of pages.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/tick_sum.hpp"
#include "study/compare/compare.hpp"
#include "study/document/document.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study::page {

/// "Largest cause of idle time: cooldown, 9.0 of 12.0 ms (75.0 %), ..": which, how much, where, and what that means. Nothing idle is said
/// too. `unit` is that of the times.
[[nodiscard]] std::string largest_cause(const CauseTotals& causes, TimeUnit unit);

/// Makespan with its bound, bubble, memory with the verdict of the limit, work.
[[nodiscard]] Facts facts_of_run(const Run& run);
/// Facts that the timeline alone gives.
[[nodiscard]] Facts facts_of_times(const Timeline& timeline);

/// Kinds of ops on the critical path, with their time, and the gaps between them.
[[nodiscard]] PageTable critical_table(const Run& run);

/// Every key of the effective configuration with its value and where it came from.
[[nodiscard]] PageTable config_table(const io::EffectiveConfig& config);

// Pieces that pages of one run and of several share.

/// The timeline as plain text for Markdown, at most 100 columns and 16 ranks.
[[nodiscard]] std::string text_chart(const Timeline& timeline);

/// "zb-h1 on 4 ranks, 8 microbatches".
[[nodiscard]] std::string run_heading(const Run& run);
/// Further facts about its shape: chunks, ops, unit of time.
[[nodiscard]] std::string run_subtitle(const Run& run);

/// Idle time summed over ranks by cause, with its share of idle and of all time.
[[nodiscard]] PageTable cause_table(const Metrics& metrics, TimeUnit unit);

/// Busy and idle time of each rank in the first step, for timelines of which nothing else is known; the first `most` ranks.
[[nodiscard]] PageTable busy_table(const Timeline& timeline, std::size_t most);

}  // namespace pipeloom::study::page
