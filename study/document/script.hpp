#pragma once

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

#include <string_view>

namespace pipeloom::study::page {

[[nodiscard]] std::string_view script();

}  // namespace pipeloom::study::page
