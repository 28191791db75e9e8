#pragma once

// A sweep's points as a picture: one metric against another, the Pareto front on top.

#include <string>
#include <string_view>
#include <vector>

#include "study/answers/answers.hpp"

namespace pipeloom::study::page {

struct ScatterQuestion {
  std::string x;  ///< metrics
  std::string y;
  std::string series;  ///< the key that colour and shape tell, "" for none
  std::string id;      ///< prefix of the picture's ids
};

/// A Pareto front as it is shown: of a long one, points evenly spread over it.
struct Front {
  std::size_t all = 0;                    ///< how many points it has
  std::vector<sweep::FrontPoint> points;  ///< those that are drawn, kMaxDrawn at most
  std::vector<sweep::FrontPoint> named;   ///< those with a number, kMaxNamed at most
  static constexpr std::size_t kMaxDrawn = 800;
  static constexpr std::size_t kMaxNamed = 40;
};

struct Scatter {
  std::string svg;      ///< a whole <svg>
  bool merged = false;  ///< some marks are several points
};
/// Every point in the colour and shape of its series, which a legend in the picture names. Points of one series that lie on top of each other
/// are one larger mark; of many points those that lie close too, so that the picture's size has a bound whatever the sweep's. Point i of
/// front.named is numbered i + 1, and named where there is room. REQUIRES: both metrics are numbers; the front is that of (y, x).
[[nodiscard]] Scatter scatter(const sweep::ResultTable& table, const std::vector<sweep::Row>& rows,
                              const Front& front, const ScatterQuestion& question);

/// Width of a text of this size in the page's font, nearly.
[[nodiscard]] double text_width(std::string_view text, double size);

/// Rules for the picture, on top of the page's.
[[nodiscard]] std::string_view scatter_style();

}  // namespace pipeloom::study::page
