#pragma once

// The frame that all charts over time share: rows with labels, a stretched plot, a time axis. The script zooms its content.

#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom::study::page {

/// Sizes in pixels of the picture, which scales to the width of the page.
inline constexpr double kChartWidth = 1160;
inline constexpr double kPlotX = 70;
inline constexpr double kPlotWidth = kChartWidth - kPlotX - 10;
/// Units of the plot's own x axis over the whole range: integers there are as fine as any screen can zoom.
inline constexpr std::int64_t kPlotUnits = 1'000'000;

/// x of a time in the plot's units, clamped to the range.
[[nodiscard]] std::int64_t plot_x(Span range, Ticks time);
/// Pixels of a length in the plot's units where everything is shown.
[[nodiscard]] inline double pixels(std::int64_t plot_units) {
  return static_cast<double>(plot_units) * kPlotWidth / static_cast<double>(kPlotUnits);
}

struct RowLabel {
  double y = 0;  ///< baseline, from the top of the plot
  std::string text;
  double size = 11;
  bool muted = false;
};

struct TimeChart {
  std::string id;           ///< of the svg, unique in the page
  std::string title;        ///< for readers who cannot see the picture
  std::string description;  ///< of its content, for them too
  std::string link;         ///< charts with the same link zoom together
  Span range;
  TimeUnit unit = TimeUnit::Unit;
  double plot_height = 0;
  std::vector<RowLabel> labels;
  /// Markup of the plot: x from 0 to kPlotUnits, y in pixels from 0 to plot_height.
  std::string plot;
  /// Markup of texts upon it, in the picture's pixels (see on_picture()), which the script moves when it zooms.
  std::string numbers;
};

/// Top of the plot in the picture.
inline constexpr double kPlotY = 6;

/// The <svg>.
[[nodiscard]] std::string to_svg(const TimeChart& chart);

}  // namespace pipeloom::study::page
