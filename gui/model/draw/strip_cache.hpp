#pragma once

// Pixels of rows that stay when the view pans. Columns of a row are numbered from time 0: column k is [k, k + 1) times ticks_per_pixel,
// so that a view that moved by a few pixels needs these few only.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "gui/model/run/view_state.hpp"

namespace pipeloom::gui {

/// Values per column, row by row.
template <class Value>
class StripCache {
 public:
  /// Run, rank, lane.
  using Row = std::tuple<std::uint64_t, int, int>;

  /// `look` stands for everything else that values depend on. REQUIRES: columns >= 1.
  void begin_frame(std::uint64_t look, double ticks_per_pixel, std::int64_t first, int columns) {
    // Sums of floating point: the same scale may differ in its last digits.
    const bool same_scale = std::abs(ticks_per_pixel - scale_) <= 1e-12 * scale_;
    if (look != look_ || !same_scale || columns != columns_) rows_.clear();
    if (rows_.empty()) scale_ = ticks_per_pixel;
    look_ = look;
    first_ = first;
    columns_ = columns;
    ++frame_;
  }
  /// Rows that this frame did not ask for are forgotten.
  void end_frame() {
    std::erase_if(rows_, [this](const auto& row) { return row.second.frame != frame_; });
  }

  /// The values of columns [first, first + columns). `fill(range, bins, out)` writes those of `bins` equal parts of `range`.
  template <class Fill>
  [[nodiscard]] const std::vector<Value>& of(const Row& row, Fill&& fill) {
    Kept& kept = rows_[row];
    const std::int64_t moved = first_ - kept.first;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      const TimeRange range{static_cast<double>(first_ + begin) * scale_,
                            static_cast<double>(first_ + end) * scale_};
      fill(range, static_cast<int>(end - begin), kept.values.data() + begin);
    };
    if (kept.values.empty() || moved >= columns_ || moved <= -columns_) {
      kept.values.assign(static_cast<std::size_t>(columns_), Value{});
      part(0, columns_);
    } else if (moved > 0) {
      std::copy(kept.values.begin() + moved, kept.values.end(), kept.values.begin());
      part(columns_ - moved, columns_);
    } else if (moved < 0) {
      std::copy_backward(kept.values.begin(), kept.values.end() + moved, kept.values.end());
      part(0, -moved);
    }
    kept.first = first_;
    kept.frame = frame_;
    return kept.values;
  }

 private:
  struct Kept {
    std::int64_t first = 0;
    std::uint64_t frame = 0;
    std::vector<Value> values;
  };
  std::map<Row, Kept> rows_;
  std::uint64_t look_ = 0;
  double scale_ = 0;
  std::int64_t first_ = 0;
  int columns_ = 0;
  std::uint64_t frame_ = 0;
};

}  // namespace pipeloom::gui
