#pragma once

// The terminal, or the file or pipe in its place: where text goes, how wide it may be, whether it may have colour.

#include <string>
#include <string_view>

#include "sim/draw/terminal.hpp"
#include "study/text/table.hpp"

namespace pipeloom::cli {

/// --color.
enum class ColourMode : unsigned char { Auto, Always, Never };

/// Width, colours and characters that standard output can show.
struct Screen {
  /// Columns: $COLUMNS, else the terminal's own width, else 100.
  int width = 100;
  /// With Auto: a terminal that is not "dumb", and no NO_COLOR (https://no-color.org). 24 bits if COLORTERM says so.
  draw::TerminalColour colour = draw::TerminalColour::None;
  /// True if the locale's encoding is UTF-8.
  bool unicode = false;

  [[nodiscard]] bool has_colour() const { return colour != draw::TerminalColour::None; }
};

[[nodiscard]] Screen screen(ColourMode mode);

/// True if standard output is a terminal.
[[nodiscard]] bool stdout_is_terminal();

/// Writes to standard output, colours but nothing else that steers a terminal. Throws SystemError if that fails (output redirected to a full disk).
void print(std::string_view text);
/// The same on standard error, where something else goes to standard output.
void print_beside(std::string_view text);
/// Writes a text for people to standard error. Names of files and the like in it steer no terminal (sim/base/text_tools.hpp).
void say(std::string_view text);
/// The same when no memory is left. REQUIRES: the text steers no terminal.
void say_without_memory(const char* text) noexcept;
/// Writes "warning: <text>" as a line to standard error.
void print_warning(std::string_view text);

using study::bold;

// A line on standard error that says how far something is.

/// Keeps one line of a terminal up to date while it lives; says nothing where standard error is no terminal.
class ProgressLine {
 public:
  /// Shows nothing unless `wanted`.
  explicit ProgressLine(bool wanted);
  /// Removes the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// True if show() shows anything.
  [[nodiscard]] bool is_on() const { return on_; }
  void show(const std::string& text);

 private:
  bool on_;
  bool shown_ = false;
};

/// "12 s", "3:05", "1:00:00".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace pipeloom::cli
