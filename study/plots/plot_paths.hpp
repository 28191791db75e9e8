#pragma once

// Path data of charts over time, as short as it gets: x is in the plot's units (study/plots/time_chart.hpp), y in pixels.

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include <pipeloom/units.hpp>
#include "study/document/html.hpp"

namespace pipeloom::study::page {

/// Spans of one row, side by side, as one path: a thick line with relative moves.
class SpanPath {
 public:
  void add(std::int64_t from, std::int64_t to) {
    if (text_.empty())
      text_ = fmt::format("M{} @h{}", from, to - from);
    else
      text_ += fmt::format("m{} 0h{}", from - at_, to - from);
    at_ = to;
    ++count_;
  }
  [[nodiscard]] std::string at_height(double y) const {
    std::string out = text_;
    return out.replace(out.find('@'), 1, coordinate(y));
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  Ticks busy = 0;

 private:
  std::string text_;
  std::int64_t at_ = 0;
  std::size_t count_ = 0;
};

/// Bars side by side as one outline from a common ground: no seams between them, and a word per change of height. What is higher is
/// painted before what is lower, so that kinds stand one above the other.
class BarOutline {
 public:
  void add(double ground, std::int64_t x, std::int64_t end, double top) {
    const auto level = static_cast<std::int64_t>(std::llround(top * 10));
    if (!text_.empty() && x == end_ && level == level_) {
      end_ = end;
      return;
    }
    if (!text_.empty() && x == end_) {
      text_ += fmt::format("H{}V{}", end_, tenths(level));
    } else {
      close();
      ground_ = static_cast<std::int64_t>(std::llround(ground * 10));
      text_ += fmt::format("M{} {}V{}", x, tenths(ground_), tenths(level));
    }
    end_ = end;
    level_ = level;
  }
  void close() {
    if (!text_.empty()) text_ += fmt::format("H{}V{}z", end_, tenths(ground_));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static std::string tenths(std::int64_t value) { return coordinate(static_cast<double>(value) / 10, 1); }

  std::string text_;
  std::int64_t end_ = 0;
  std::int64_t level_ = 0;
  std::int64_t ground_ = 0;
};

}  // namespace pipeloom::study::page
