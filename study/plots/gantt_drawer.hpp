#pragma once

// The inside of draw_gantt(). Not for users; see gantt_svg.hpp.

#include <fmt/format.h>

#include <array>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/draw/op_colours.hpp"
#include "sim/draw/rows.hpp"
#include "sim/tracks/marks.hpp"
#include "study/document/html.hpp"
#include "study/plots/gantt_svg.hpp"
#include "study/plots/time_chart.hpp"

namespace pipeloom::study::page {

// Path data of charts over time, as short as it gets: x is in the plot's units (study/plots/time_chart.hpp), y in pixels.

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

/// Bars side by side as one outline from a common ground: no seams between them, and a word per change of height. Higher bars are
/// painted before lower ones, so that kinds are stacked.
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

using BarOutlines = std::array<BarOutline, kOpKinds>;

/// Draws one Gantt, row by row:
///   gantt_svg.cpp    rows, lanes, legend
///   gantt_ops.cpp    ops that have their own place: boxes, paths, hairlines
///   gantt_bars.cpp   ops too short for that: bars as high as a rank was busy
///   gantt_marks.cpp  idle time by cause, the critical path
class GanttDrawer {
 public:
  explicit GanttDrawer(const GanttInput& input);
  Gantt draw();

 private:
  void place_rows();
  std::vector<RowLabel> labels() const;
  void draw_row(const draw::Row& row);
  [[nodiscard]] int bins() const;
  [[nodiscard]] std::string class_of(Op op) const {
    return op_class(op.kind(), colours_.shade_of(op), colours_.shades());
  }
  [[nodiscard]] Op op_at(std::size_t at) const { return schedule_.ops()[at % schedule_.num_ops()]; }
  void draw_lane(const draw::Row& row, const tracks::TimelineIndex& lane);
  /// The ops of an entry from top to bottom, forwards above backwards.
  void draw_entry(const draw::Row& row, const tracks::DrawnEntry& entry);
  void draw_box(const draw::Row& row, std::size_t at, std::size_t part, std::size_t parts,
                std::pair<std::int64_t, std::int64_t> x);
  /// Width of the longest number of the run at size 1, so that boxes of one size have all their numbers or none.
  [[nodiscard]] double widest_number() const;
  [[nodiscard]] std::string box_text(Rank rank, std::size_t at) const;
  void flush_paths(const draw::Row& row);
  /// Merged marks: a bar as high as the rank was busy, its kinds one above the other.
  void draw_bars(const draw::Row& row, const std::vector<tracks::Mark>& marks);
  void add_bar(BarOutlines& outlines, const draw::Row& row, Span span, const tracks::BusyByKind& busy,
               Ticks capacity);
  void flush_bars(const draw::Row& row, BarOutlines& outlines);
  void draw_shared_row(const draw::Row& row);
  /// Draws ops and gaps that are thinner than a pixel where everything is shown, if isolated: an op among idle time, a gap among ops.
  void draw_hairs(const draw::Row& row, const tracks::TimelineIndex& lane,
                  const std::vector<tracks::Mark>& marks);
  void draw_idle(const draw::Row& row);
  /// A line below the ops of the critical path; neighbours closer than half a pixel join.
  void add_critical();
  [[nodiscard]] Legend legend() const;
  [[nodiscard]] std::string description() const;

  const GanttInput& input_;
  const Timeline& timeline_;
  const Schedule& schedule_;
  tracks::TimelineIndex index_;
  std::optional<tracks::TimelineIndex> copies_;
  draw::OpColours colours_;
  Span range_;
  Detail detail_ = Detail::Boxes;
  std::vector<draw::Row> rows_;  // pixels of the plot
  draw::RankRows rank_rows_;
  double pitch_ = 0;
  double height_ = 0;
  std::string plot_;
  std::string numbers_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, SpanPath> paths_;  // class, part, parts
  std::bitset<kIdleCauses> causes_;
  bool has_critical_ = false;
};

}  // namespace pipeloom::study::page
