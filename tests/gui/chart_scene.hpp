#pragma once

// The chart of one run, drawn without a window.

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/draw/chart_list.hpp"
#include "support/window_scenes.hpp"

namespace pipeloom::test {

using namespace pipeloom::gui;

// As in chart_layout_test: 100 pixels a unit from x = 68, rows of 34 pixels from y = 66 on.
inline constexpr float kX = 68;
inline constexpr float kY = 66;
inline constexpr float kWork = 34;

/// Every letter is 7 pixels wide.
inline ChartFonts fonts() {
  ChartFonts fonts;
  fonts.small.height = 12;
  fonts.small.advance.fill(7);
  fonts.normal = fonts.small;
  fonts.strong = fonts.small;
  return fonts;
}

struct Chart {
  Session session;
  RunPtr run;
  ChartLayout layout;
  ChartList list;

  explicit Chart(RunPtr opened) : run(open_in(session, std::move(opened))) {}
  explicit Chart(const char* text) : Chart(run_of(text)) {}

  void draw(const Box& area = {0, 0, 968, 600}) {
    lay_out_chart(session, area, 1, layout);
    build_chart_list(session, layout, fonts(), list);
  }
  [[nodiscard]] const ChartColours& colours() { return session.part<ChartPart>().colours_of(session, *run); }
  [[nodiscard]] Rgba fill(OpKind kind) { return colours().kind_fill(kind); }
  /// The topmost of the ops' quads at a point; 0 for none.
  [[nodiscard]] Rgba colour_at(double x, double y) const {
    Rgba found = 0;
    for (const ChartQuad& quad : list.quads)
      if (x >= quad.x0 && x < quad.x1 && y >= quad.y0 && y < quad.y1) found = quad.colour;
    return found;
  }
  /// The topmost of the grounds at a point; 0 for none.
  [[nodiscard]] Rgba ground_at(double x, double y) const {
    Rgba found = 0;
    for (const ChartQuad& quad : list.ground)
      if (x >= quad.x0 && x < quad.x1 && y >= quad.y0 && y < quad.y1) found = quad.colour;
    return found;
  }
  /// The first of the labels that say this; null where none does.
  [[nodiscard]] const ChartLabel* label(std::string_view text) const {
    for (const ChartLabel& one : list.labels)
      if (list.text_of(one) == text) return &one;
    return nullptr;
  }
  [[nodiscard]] std::size_t labels(std::string_view text) const {
    return static_cast<std::size_t>(
        std::count_if(list.labels.begin(), list.labels.end(),
                      [&](const auto& label) { return list.text_of(label) == text; }));
  }
  /// Texels of the one strip of a row.
  [[nodiscard]] std::vector<Rgba> strip(std::size_t row) const {
    const auto begin = list.rows.texels.begin() + static_cast<std::ptrdiff_t>(row) * list.rows.width;
    return {begin, begin + list.rows.width};
  }
};

}  // namespace pipeloom::test
