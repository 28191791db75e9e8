#pragma once

// The terminal, or whatever stands in its place: where text goes, how wide it may be, whether it may have colour.

#include <string>
#include <string_view>

#include "sim/draw/terminal.hpp"
#include "study/text/table.hpp"

namespace pipeloom::cli {

/// --color.
enum class ColourMode : unsigned char { Auto, Always, Never };

/// What standard output can show.
struct Screen {
  /// Columns: $COLUMNS, else the terminal's own width, else 100.
  int width = 100;
  /// With Auto: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org). 24 bits if COLORTERM says so.
  draw::TerminalColour colour = draw::TerminalColour::None;
  /// Whether the locale's encoding is UTF-8.
  bool unicode = false;

  [[nodiscard]] bool has_colour() const { return colour != draw::TerminalColour::None; }
};

[[nodiscard]] Screen screen(ColourMode mode);

/// True if standard output is a terminal.
[[nodiscard]] bool stdout_is_terminal();

/// Writes to standard output, colours but nothing else that steers a terminal. Throws SystemError if that fails (a full disk behind a redirection).
void print(std::string_view text);
/// Writes to standard error what people read. Names of files and the like in it steer no terminal (sim/base/printable.hpp).
void say(std::string_view text);
/// Writes "warning: <text>" as a line to standard error.
void print_warning(std::string_view text);

using study::bold;

}  // namespace pipeloom::cli
