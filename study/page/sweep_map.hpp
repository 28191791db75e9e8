#pragma once

// A winner map as a picture, as letters for Markdown and terminals, and what its letters and colours mean.

#include <string>
#include <string_view>

#include "study/page/document.hpp"
#include "study/sweep/answers.hpp"

namespace pipeloom::study::page {

/// "A" .. "Z", "AA" ..: the sign of contender i in maps whose cells have no room for names.
[[nodiscard]] std::string letters_of(std::size_t contender);

/// A whole <svg>: a cell per pair of values, with the winner's name and value where these fit, else its letters. Ties are hatched and
/// name how many share the best; cells without an answer are crossed out if there are points, empty if there are none. At
/// most kMaxMapValues squared cells, whatever the sweep's size.
[[nodiscard]] std::string map_svg(const sweep::ResultTable& table, const sweep::WinnerMap& map);

/// The same in letters, a line per value of y, the largest first.
[[nodiscard]] std::string map_text(const sweep::WinnerMap& map);

/// Who won how many cells: a row per contender that won any, with its colour and letters; then cells without an answer. At most
/// kMaxContenderRows rows.
[[nodiscard]] PageTable wins_table(const sweep::WinnerMap& map);
inline constexpr std::size_t kMaxContenderRows = 40;

[[nodiscard]] std::string_view map_style();

}  // namespace pipeloom::study::page
