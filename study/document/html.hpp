#pragma once

// Text that goes into HTML and SVG. Pages are XHTML-compatible: an XML parser reads them too, which is how the tests check them.

#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/op.hpp>
#include "sim/draw/palette.hpp"

namespace pipeloom::study::page {

/// `text` as the content of an element or of an attribute in double quotes: & < > " ' are written as references; what no XML
/// text can hold (control characters, bytes that are not UTF-8, U+FFFE and U+FFFF) becomes U+FFFD; so do the marks that turn
/// the direction of writing, with which a file name could disguise itself. Line ends and tabs stay.
[[nodiscard]] std::string escaped(std::string_view text);

/// <name attributes>content</name>. `attributes` is markup such as R"(class="note")", or "".
[[nodiscard]] std::string element(std::string_view name, std::string_view attributes,
                                  std::string_view content);

/// A number of a picture: at most `digits` (0 to 3) digits after the point, no trailing zeros, "0" rather than "-0".
[[nodiscard]] std::string coordinate(double value, int digits = 2);

// The look of a page: one style sheet made from the palette of all our pictures, light and dark by what the reader's system prefers, light
// on paper.
//
// Classes for markup in figures:
//   F0-2 ..      an op of kind F (F B I W R O L), shade 0 of 2 (op_class()): sets `color`, and --on, the colour of text on it
//   idle-warmup  an idle cause (idle_class()): the same
//   s0 .. s7     series colours: schedules of a sweep, runs of a comparison: the same; on-s0 .. as their number or letter is drawn
//   fill, line   a shape filled with, or a stroke drawn in, the `color` that it has from the above
//   ink, muted-ink, axis-line, grid-line, row-ground, limit-line, good-ink, bad-ink: parts of charts
//   num          text upon a class that sets --on

/// Series colours s0, s1, ..; the ninth takes the first again.
inline constexpr int kSeriesColours = 8;

[[nodiscard]] std::string op_class(OpKind kind, int shade, int shades);
[[nodiscard]] std::string idle_class(IdleCause cause);
[[nodiscard]] std::string series_class(int index);

/// The whole style sheet, the same for every page.
[[nodiscard]] std::string style_sheet();

// The script of pages: hover texts, zoom and pan, sorted tables. Where scripts do not run, pages lack nothing else.
//
// The elements that it acts on:
//   svg.zoom     a chart over time, with data-from and data-to (its whole range in the unit of the axis), data-unit, data-x and
//                data-width (where the plot lies). In it svg.plot holds what is stretched, g.axis the marks of time, g.numbers
//                labels of ops. Charts with the same data-link show the same range. Keys when focused: left and right pan, up and
//                down or + and - zoom, 0 and Home show everything. Wheel with Ctrl zooms at the pointer, dragging pans.
//   title        of a shape in a chart: shown beside the pointer at once.
//   table.sort   headings become buttons.
// The root element has data-script="ready" once it ran, data-error if it failed.

[[nodiscard]] std::string_view script();

}  // namespace pipeloom::study::page
