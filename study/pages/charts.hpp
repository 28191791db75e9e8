#pragma once

// Pieces that pages of one run and of several share.

#include <cstddef>
#include <string>

#include "study/document/document.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study::page {

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
