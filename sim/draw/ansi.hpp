#pragma once

// Coloured character cells for terminals.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/draw/terminal.hpp"

namespace pipeloom::draw {

/// One column: a glyph one column wide, its colour and the background colour. No value is the terminal's own.
struct Cell {
  std::string glyph;
  std::optional<Colour> text;
  std::optional<Colour> ground;
};

/// The entry of the 256-colour palette nearest to `colour`, from its 6 x 6 x 6 cube and its 24 greys: 16 .. 255.
[[nodiscard]] int ansi256(Colour colour);

/// Appends the glyphs, with escape sequences only where a colour changes and a reset at the end if there was one.
void append_cells(std::string& out, const std::vector<Cell>& cells, TerminalColour colour);

/// An entry of a legend: coloured letters, then words.
struct LegendCells {
  std::vector<Cell> cells;
  std::string text;
};
/// Appends the items on lines of at most `width` columns, `indent` spaces among them; only a longer word is wider.
void append_legend(std::string& out, const std::vector<LegendCells>& items, int indent, int width,
                   TerminalColour colour);

/// How full a column is: U+2581 to U+2588, or `:`, `+`, `%`, `#`. Only part == whole looks full. REQUIRES: 0 < part <= whole.
[[nodiscard]] std::string level_glyph(std::int64_t part, std::int64_t whole, bool unicode);

/// Characters of UTF-8 text, each taken as one column.
[[nodiscard]] int columns_of(std::string_view text);
/// The first `columns` characters of the text.
[[nodiscard]] std::string clipped(std::string_view text, int columns);

}  // namespace pipeloom::draw
