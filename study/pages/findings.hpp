#pragma once

// Sentences and facts about a run, for the tops of pages.

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

}  // namespace pipeloom::study::page
