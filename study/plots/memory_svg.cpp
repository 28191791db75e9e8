#include "study/plots/memory_svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "sim/draw/words.hpp"
#include "sim/memory.hpp"
#include "study/document/html.hpp"
#include "study/plots/gantt_svg.hpp"
#include "study/plots/time_chart.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::int64_t kColumn = kPlotUnits / 1600;

/// A curve as points (x in plot units, bytes): of each column its first, lowest, highest and last value.
struct CurvePoint {
  std::int64_t x = 0;
  Bytes bytes = 0;
};

std::vector<CurvePoint> thinned(const std::vector<MemoryStep>& curve, Span range) {
  std::vector<CurvePoint> out;
  std::size_t in_column = 0;
  for (const MemoryStep& step : curve) {
    const std::int64_t x = plot_x(range, step.time);
    const bool same = !out.empty() && x / kColumn == out.back().x / kColumn;
    in_column = same ? in_column + 1 : 1;
    if (in_column <= 3) {
      out.push_back({x, step.bytes});
      continue;
    }
    // Highest, lowest, last: their order within a third of a pixel is not visible.
    CurvePoint& high = out[out.size() - 3];
    CurvePoint& low = out[out.size() - 2];
    CurvePoint& last = out.back();
    if (high.bytes < low.bytes) std::swap(high.bytes, low.bytes);
    high.bytes = std::max(high.bytes, last.bytes);
    low.bytes = std::min(low.bytes, last.bytes);
    last.bytes = step.bytes;
  }
  return out;
}

struct Strip {
  double top = 0;
  double height = 0;
  double bytes_per_pixel = 1;
  [[nodiscard]] double y_of(Bytes bytes) const {
    return top + height - static_cast<double>(bytes) / bytes_per_pixel;
  }
};

std::string strip_markup(const Strip& strip, const std::vector<CurvePoint>& points,
                         const std::string& title) {
  if (points.empty()) return {};
  const std::string base = coordinate(strip.top + strip.height);
  std::string line = fmt::format("M{} {}", points.front().x, coordinate(strip.y_of(points.front().bytes)));
  for (std::size_t i = 1; i < points.size(); ++i)
    line += fmt::format("H{}V{}", points[i].x, coordinate(strip.y_of(points[i].bytes)));
  line += fmt::format("H{}", kPlotUnits);
  return fmt::format("<path class=\"memory-area dense\" d=\"{}V{}H{}z\"><title>{}</title></path>\n", line,
                     base, points.front().x, escaped(title));
}

std::vector<std::vector<MemoryStep>> curves_of(const MemoryInput& input) {
  std::vector<std::vector<MemoryStep>> curves(input.ranks.size());
  each_memory_curve(*input.timeline, *input.model, [&](Rank rank, const std::vector<MemoryStep>& curve) {
    for (std::size_t i = 0; i < input.ranks.size(); ++i)
      if (input.ranks[i] == rank) curves[i] = curve;
  });
  return curves;
}

Bytes peak_of(const std::vector<MemoryStep>& curve) {
  Bytes peak = 0;
  for (const MemoryStep& step : curve) peak = std::max(peak, step.bytes);
  return peak;
}

}  // namespace

Figure draw_memory(const MemoryInput& input) {
  const MemoryModel& model = *input.model;
  const auto curves = curves_of(input);
  Bytes top = 1;
  for (const Bytes limit : model.limit) top = std::max(top, limit);
  for (const auto& curve : curves) top = std::max(top, peak_of(curve));
  const double pitch =
      std::clamp(360.0 / static_cast<double>(std::max<std::size_t>(1, curves.size())), 30.0, 62.0);
  const double height = pitch - 8;
  TimeChart chart;
  chart.id = input.id;
  chart.link = input.link;
  chart.range = whole_span(*input.timeline);
  if (chart.range.length() <= 0) chart.range.end = chart.range.start + 1;
  chart.unit = input.timeline->unit;
  chart.plot_height = pitch * static_cast<double>(curves.size()) - 8;
  chart.title =
      counts_activations(model) ? "Activations of each rank over time" : "Memory of each rank over time";
  chart.description = fmt::format("The scale ends at {}.", memory_text(model, top));
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Strip strip{static_cast<double>(i) * pitch, height, static_cast<double>(top) / (height - 2)};
    const std::string peak = memory_cell(model, peak_of(curves[i]));
    chart.plot += fmt::format("<rect class=\"row-ground\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                              coordinate(strip.top), kPlotUnits, coordinate(height));
    chart.plot += strip_markup(strip, thinned(curves[i], chart.range),
                               fmt::format("{}: peak {}", draw::rank_label(input.ranks[i]), peak));
    if (const auto limit = model.limit_of(input.ranks[i]))
      chart.plot += fmt::format("<path class=\"limit-line\" d=\"M0 {}h{}\"/>\n",
                                coordinate(strip.y_of(*limit)), kPlotUnits);
    chart.labels.push_back({strip.top + height / 2 - 1, draw::rank_label(input.ranks[i]), 12});
    chart.labels.push_back({strip.top + height / 2 + 12, peak, 11, true});
  }
  Figure figure;
  figure.markup = to_svg(chart);
  figure.zooms = true;
  return figure;
}

}  // namespace pipeloom::study::page
