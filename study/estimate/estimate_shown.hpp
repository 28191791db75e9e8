#pragma once

// An estimated run as JSON and as a page: what `pipeloom estimate` prints.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "study/document/document.hpp"
#include "study/estimate/estimated_run.hpp"
#include "study/report/run_tables.hpp"

namespace pipeloom::study {

/// Ends in a newline; keys as the schema `estimate` says. Times are exact decimals in ms, what is not known is null.
[[nodiscard]] std::string estimate_json(const EstimatedRun& run);

/// Step time and rates, stages, memory by rank and category, what times are made of; if `everything`, where every number is from.
[[nodiscard]] page::Page estimate_page(const EstimatedRun& run, bool everything);

/// Step time, bubble and, where they are known, rates. REQUIRES: run.metrics.
[[nodiscard]] Table rates_table(const Run& run, const std::optional<TrainingRates>& rates);
/// Ranks down, categories across; of more than kFullestShown ranks the fullest ones.
inline constexpr std::size_t kFullestShown = 16;
[[nodiscard]] Table category_table(const Run& run, const std::vector<RankBytes>& ranks);

/// Which rank passes its limit by most, by how much, and what would help; "" where all fit.
[[nodiscard]] std::string over_limit_text(const EstimatedRun& run);

}  // namespace pipeloom::study
