#pragma once

// The Gantt chart as text, for a terminal of a given width.
//
//   rank 0  F0F1F2F3............B0--F4B1--
//   rank 1  ..F0F1F2......B0--F3B1--F4..
//
// A letter is the kind, digits the microbatch where they fit; `-` fills up an op. `X8/3==` is a group of overlapped ops, such as F8
// with B3, `X===` where the numbers do not fit. `.` is idle. A column that several ops share shows how busy it is.

#include <cstdint>
#include <optional>
#include <string>

#include <pipeloom/simulate.hpp>
#include "sim/draw/palette.hpp"

namespace pipeloom::draw {

enum class TerminalColour : std::uint8_t { None, Ansi256, TrueColour };

struct TerminalOptions {
  /// Columns of the terminal, labels included; below 20 there is a line saying so instead of a chart.
  int width = 80;
  TerminalColour colour = TerminalColour::None;
  Theme theme = Theme::Dark;
  ColourBy colour_by = ColourBy::Kind;
  /// Blocks of eight heights for partly busy columns; without it `:`, `+`, `%` and `#`: up to a third, two thirds, less
  /// than all, all busy.
  bool unicode = true;
  /// Ranks beyond these are counted in a last line, "... n more ranks".
  int max_ranks = 32;
  std::optional<Span> range = {};
  std::string title = {};
};

/// Lines ending in '\n': title if any, one per rank, time axis, legend. No line is wider than the width.
/// Columns are a whole number per unit of time where that fits, so that equal ops look equal.
/// Throws InputError for an empty range.
[[nodiscard]] std::string terminal_chart(const Timeline& timeline, const TerminalOptions& options);

}  // namespace pipeloom::draw
