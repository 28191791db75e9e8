#include "study/plots/time_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/draw/axis.hpp"
#include "sim/draw/scene.hpp"
#include "sim/draw/words.hpp"
#include "study/document/html.hpp"

namespace pipeloom::study::page {
namespace {

constexpr double kAxisHeight = 36;
constexpr double kAxisText = 11;
constexpr double kTickGap = 34;

struct Axis {
  std::string marks;
  std::string grid;
  TimeUnit unit;
};

Axis axis_of(const TimeChart& chart) {
  const draw::TimeAxis ticks =
      draw::fitted_time_axis(chart.range, chart.unit, kPlotWidth, kTickGap,
                             [](const std::string& label) { return draw::text_width(label, kAxisText); });
  const double bottom = kPlotY + chart.plot_height;
  Axis out;
  out.unit = ticks.unit;
  out.marks = fmt::format(R"(<path class="axis-line" d="M{} {}h{}"/>)", coordinate(kPlotX),
                          coordinate(bottom + 2), coordinate(kPlotWidth));
  for (const draw::AxisTick& tick : ticks.ticks) {
    const std::string x = coordinate(kPlotX + pixels(plot_x(chart.range, tick.time)));
    out.grid += fmt::format(R"(<path class="grid-line" d="M{} {}v{}"/>)", x, coordinate(kPlotY),
                            coordinate(chart.plot_height));
    out.marks += fmt::format(
        R"(<path class="axis-line" d="M{} {}v4"/><text class="ink middle" x="{}" y="{}" font-size="11">{}</text>)",
        x, coordinate(bottom + 2), x, coordinate(bottom + 17), tick.label);
  }
  return out;
}

std::string labels_of(const TimeChart& chart) {
  std::string out;
  for (const RowLabel& label : chart.labels)
    out += fmt::format(R"(<text class="{} end" x="{}" y="{}" font-size="{}">{}</text>)",
                       label.muted ? "muted-ink" : "ink", coordinate(kPlotX - 8),
                       coordinate(kPlotY + label.y), coordinate(label.size), escaped(label.text));
  return out;
}

}  // namespace

std::int64_t plot_x(Span range, Ticks time) {
  const Ticks inside = std::clamp(time, range.start, range.end) - range.start;
  return multiply_divide(inside, kPlotUnits, std::max<Ticks>(1, range.length()));
}

std::string to_svg(const TimeChart& chart) {
  const Axis axis = axis_of(chart);
  const double height = kPlotY + chart.plot_height + kAxisHeight;
  const std::string plot_height = coordinate(chart.plot_height);
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="zoom" id="{}" role="img" viewBox="0 0 {} {}" aria-label="{}")",
      chart.id, coordinate(kChartWidth), coordinate(height), escaped(chart.title + ". " + chart.description));
  out += fmt::format(
      R"( data-link="{}" data-x="{}" data-width="{}" data-y="{}" data-height="{}" data-from="{}" data-to="{}" data-unit="{}">)",
      chart.link, coordinate(kPlotX), coordinate(kPlotWidth), coordinate(kPlotY), plot_height,
      to_double(chart.range.start, axis.unit), to_double(chart.range.end, axis.unit),
      draw::unit_words(axis.unit));
  out += fmt::format("\n<g class=\"grid\">{}</g>\n", axis.grid);
  out += fmt::format("<g class=\"labels\">{}</g>\n", labels_of(chart));
  out += fmt::format(
      R"(<svg class="plot" x="{}" y="{}" width="{}" height="{}" viewBox="0 0 {} {}" preserveAspectRatio="none">)",
      coordinate(kPlotX), coordinate(kPlotY), coordinate(kPlotWidth), plot_height, kPlotUnits, plot_height);
  out += '\n' + chart.plot + "</svg>\n";
  out += fmt::format("<g class=\"numbers\">{}</g>\n", chart.numbers);
  out += fmt::format("<g class=\"axis\">{}</g>", axis.marks);
  out +=
      fmt::format(R"(<text class="ink middle" x="{}" y="{}" font-size="11">{}</text>)",
                  coordinate(kPlotX + kPlotWidth / 2), coordinate(height - 3), draw::axis_title(axis.unit));
  return out + "\n</svg>";
}

}  // namespace pipeloom::study::page
