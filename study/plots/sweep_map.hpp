#pragma once

// A winner map as a picture, as letters for Markdown and terminals, and the meaning of its letters and colours.

#include <string>
#include <string_view>

#include "sim/kinds.hpp"
#include "study/answers/answers.hpp"
#include "study/document/document.hpp"

namespace pipeloom::study::page {

/// "A" .. "Z", "AA" ..: the sign of contender i in maps whose cells have no room for names.
[[nodiscard]] std::string letters_of(std::size_t contender);

/// A whole <svg>: a cell per pair of values, with the winner's name and value where these fit, else its letters. Ties are hatched and
/// name how many share the best. Cells without a winner are crossed out where no point has an answer, have a dash where the page's conditions
/// leave all of them out, and a dotted frame where the grid has no point. At most kMaxMapValues squared cells, whatever the sweep's size.
[[nodiscard]] std::string map_svg(const sweep::ResultTable& table, const sweep::WinnerMap& map);

/// "no point has an answer": why a cell of this kind has no winner.
[[nodiscard]] std::string words_of(const sweep::WinnerMap& map, sweep::CellKind kind);

/// Meaning of the marks of map_svg() that this map has, as sentences with a blank before each.
[[nodiscard]] std::string map_signs(const sweep::WinnerMap& map);

/// The same in letters, a line per value of y, the largest first; wins_table() explains its signs.
[[nodiscard]] std::string map_text(const sweep::WinnerMap& map);

/// Number of cells that each contender won: a row per contender that won any, with its colour and letters; then a row for each reason why
/// cells have no winner. At most kMaxContenderRows contenders.
[[nodiscard]] PageTable wins_table(const sweep::WinnerMap& map);
inline constexpr std::size_t kMaxContenderRows = 40;

[[nodiscard]] std::string_view map_style();

}  // namespace pipeloom::study::page
