#include "gui/model/chart/chart_layout.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/run/waiting_ops.hpp"
#include "sim/draw/scene.hpp"
#include "study/compare/compare.hpp"

namespace pipeloom::gui {
namespace {

// Pixels at scale 1.
constexpr double kLegendHeight = 24;
constexpr double kMinimapHeight = 22;
constexpr double kRulerHeight = 20;
constexpr double kStepsHeight = 16;
constexpr double kHeaderWidth = 68;
/// With the gap between it and the rows.
constexpr double kMemoryHeight = 46;
constexpr double kMemoryGap = 6;
/// If rows would have less height than this, they get all of it.
constexpr double kLeastRows = 120;
constexpr double kOverviewWidth = 44;
constexpr double kScrollBarWidth = 9;
constexpr double kTitleHeight = 20;
constexpr double kBlockGap = 8;
constexpr double kPinnedGap = 4;
constexpr double kCollapsedHeight = 4;
/// Folded ranks that follow each other have room for one name.
constexpr double kFoldedHeight = 14;
/// A row that is thinner does not look like one.
constexpr double kLeastWork = 4;
/// With other strips below it, which are a part of its height.
constexpr double kLeastWithStrips = 10;
constexpr double kMostWork = 34;
/// Height of a work strip where not all ranks fit.
constexpr double kScrolledWork = 20;
constexpr double kLegendText = 12;
/// Height of the other strips relative to the work strip, [ChartLane].
constexpr double kShareOfWork[kChartLanes] = {1, 0.4, 0.32, 0.32, 0.9};

bool has_lane(const ViewState& view, const RunModel& run, ChartLane lane) {
  switch (lane) {
    case ChartLane::Work:
      return true;
    case ChartLane::Copies:
      return view.show_copies && run.schedule->has_copies();
    case ChartLane::Send:
    case ChartLane::Receive:
      return view.show_messages && !run.message_bars.empty();
    case ChartLane::Memory:
      return view.show_memory && run.memory != nullptr;
  }
  return false;
}

/// Height of all strips of a row relative to its work strip.
double strips_of(const ViewState& view, const RunModel& run) {
  double sum = 0;
  for (std::size_t lane = 0; lane < kChartLanes; ++lane)
    if (has_lane(view, run, static_cast<ChartLane>(lane))) sum += kShareOfWork[lane];
  return sum;
}

double gap_below(double work, double scale) {
  return std::clamp(std::round(work * 0.16), 1.0, std::round(4 * scale));
}

class Builder {
 public:
  Builder(const Session& session, double scale, ChartLayout& out)
      : session_(session), view_(session.view), scale_(scale), out_(out) {}

  void build(const Box& area) {
    out_.all = {std::round(area.x0), std::round(area.y0), std::round(area.x1), std::round(area.y1)};
    out_.scale = scale_;
    out_.range = view_.range;
    if (!(out_.range.end > out_.range.start)) out_.range.end = out_.range.start + 1;
    find_span();
    place_frame();
    place_legend();
    choose_work_height();
    place_pinned();
    place_blocks();
    place_scrolling();
  }

 private:
  void find_span() {
    out_.span = {0, 1};
    bool first = true;
    for (const OpenRun& open : session_.runs) {
      const Span span = drawn_span(*open.run);
      const auto start = static_cast<double>(span.start);
      const auto end = static_cast<double>(span.end);
      out_.span.start = first ? start : std::min(out_.span.start, start);
      out_.span.end = first ? end : std::max(out_.span.end, end);
      first = false;
    }
    if (!(out_.span.end > out_.span.start)) out_.span.end = out_.span.start + 1;
  }

  /// Places everything that does not depend on the scrolling of rows.
  void place_frame() {
    const Box& all = out_.all;
    const double left = std::min(all.x0 + std::round(kHeaderWidth * scale_), all.x1);
    double y = all.y0;
    const auto band = [&](double x0, double height) {
      const double bottom = std::min(all.y1, y + std::round(height * scale_));
      const Box box{x0, y, all.x1, bottom};
      y = bottom;
      return box;
    };
    out_.legend = band(all.x0, kLegendHeight);
    out_.minimap = band(left, view_.show_minimap ? kMinimapHeight : 0);
    out_.ruler = band(left, kRulerHeight);
    out_.headers = {all.x0, y, left, all.y1};
    out_.plot = {left, y, std::max(all.x1, left + 1), all.y1};
    place_memory();
  }

  void place_memory() {
    out_.memory = {};
    const double height = std::round(kMemoryHeight * scale_);
    const bool known = std::any_of(session_.runs.begin(), session_.runs.end(),
                                   [](const OpenRun& open) { return open.run->memory_track != nullptr; });
    if (!view_.show_memory_track || !known || out_.plot.height() < height + kLeastRows * scale_) return;
    const double top = out_.plot.y1 - height;
    out_.memory = {out_.plot.x0, top + std::round(kMemoryGap * scale_), out_.plot.x1, out_.plot.y1};
    out_.plot.y1 = out_.headers.y1 = top;
  }

  void place_legend() {
    unsigned kinds = 0;
    for (const OpenRun& open : session_.runs)
      for (const OpKind kind : kAllOpKinds)
        if (open.run->schedule->contains(kind)) kinds |= 1U << index_of(kind);
    out_.entries.clear();
    double x = out_.legend.x0 + 6 * scale_;
    for (const OpKind kind : kAllOpKinds) {
      if ((kinds >> index_of(kind) & 1U) == 0) continue;
      const double width =
          draw::text_width(legend_text(kind), kLegendText * scale_) + (kLegendHeight + 4) * scale_;
      out_.entries.push_back({kind, {x, out_.legend.y0, x + width, out_.legend.y1}});
      x += width;
    }
  }

  [[nodiscard]] bool has_titles() const { return session_.runs.size() > 1; }
  [[nodiscard]] bool has_own_ruler(const RunModel& run) const {
    return !study::same_clock(session_.runs.front().run->timeline, run.timeline);
  }
  [[nodiscard]] bool hidden(int rank) const { return view_.hidden.contains(rank); }

  /// The height at which everything fits, if it is not too small for eyes.
  void choose_work_height() {
    if (view_.row_height > 0) {
      work_ = std::max(1.0, std::round(view_.row_height * scale_));
      return;
    }
    double fixed = 0;
    double rows = 0;
    double strips = 0;
    for (const OpenRun& open : session_.runs) {
      if (has_titles()) fixed += (kTitleHeight + kBlockGap) * scale_;
      if (has_own_ruler(*open.run)) fixed += kRulerHeight * scale_;
      if (!open.run->step_start.empty()) fixed += kStepsHeight * scale_;
      const double each = strips_of(view_, *open.run);
      bool after_folded = false;
      view_.order.for_each(open.run->ranks(), [&](int rank) {
        const bool folded = view_.collapsed.contains(rank);
        const bool first = !std::exchange(after_folded, folded);
        if (hidden(rank)) return;
        if (folded) {
          fixed += kCollapsedHeight * scale_ + 1 + (first ? kFoldedHeight * scale_ : 0);
        } else {
          ++rows;
          strips += each;
        }
      });
    }
    if (!view_.pinned.empty()) fixed += kPinnedGap * scale_;
    work_ = fitted(out_.plot.height() - fixed, rows, strips);
  }

  [[nodiscard]] double fitted(double room, double rows, double strips) const {
    if (rows == 0) return kMostWork * scale_;
    const double least = strips > rows ? kLeastWithStrips : kLeastWork;
    for (double work = std::round(kMostWork * scale_); work >= least * scale_; --work)
      if (needed(work, rows, strips) <= room) return work;
    return std::round(kScrolledWork * scale_);
  }
  /// Strips are rounded, so each may need half a pixel more.
  [[nodiscard]] double needed(double work, double rows, double strips) const {
    const double others = strips - rows;
    return rows * (work + gap_below(work, scale_)) + (others > 0 ? others * work + rows * 1.5 : 0);
  }

  /// Adds the row at `y`; returns where the next one begins.
  double add_row(std::size_t block, int rank, double y, bool pinned) {
    ChartRow row;
    row.block = block;
    row.rank = Rank(rank);
    row.pinned = pinned;
    row.collapsed = view_.collapsed.contains(rank);
    const double top = y;
    const double work = row.collapsed ? std::round(kCollapsedHeight * scale_) : work_;
    const RunModel& run = *out_.blocks[block].run;
    for (std::size_t lane = 0; lane < kChartLanes; ++lane) {
      if (!has_lane(view_, run, static_cast<ChartLane>(lane)) || (lane > 0 && row.collapsed)) continue;
      const double height = lane == 0 ? work : std::max(1.0, std::round(work * kShareOfWork[lane]));
      row.lanes[lane] = {y, height};
      y += height;
    }
    y += gap_below(work, scale_);
    row.all = {top, y - top};
    out_.rows.push_back(row);
    return y;
  }

  [[nodiscard]] std::vector<int> pinned_in_order() const {
    std::vector<int> out(view_.pinned.begin(), view_.pinned.end());
    if (out.empty() || view_.order.by_number()) return out;
    std::erase_if(out, [](int rank) { return rank < 0; });
    const std::vector<int> all = view_.order.of(out.empty() ? 0 : out.back() + 1);
    std::vector<int> sorted;
    std::copy_if(all.begin(), all.end(), std::back_inserter(sorted),
                 [&](int rank) { return view_.pinned.contains(rank); });
    return sorted;
  }

  void place_pinned() {
    out_.rows.clear();
    out_.blocks.clear();
    for (std::size_t i = 0; i < session_.runs.size(); ++i)
      out_.blocks.push_back({session_.runs[i].run, i, {}, {}, {}, 0, 0, {}});
    double y = out_.plot.y0;
    for (const int rank : pinned_in_order())
      for (std::size_t block = 0; block < out_.blocks.size(); ++block)
        if (rank >= 0 && rank < out_.blocks[block].run->ranks() && !hidden(rank))
          y = add_row(block, rank, y, true);
    out_.pinned_rows = out_.rows.size();
    if (out_.pinned_rows > 0) y += std::round(kPinnedGap * scale_);
    y = std::min(y, out_.plot.y1);
    out_.body = {y, out_.plot.y1 - y};
  }

  /// Makes the last of the folded ranks between `from` and `y` high enough for their name; returns the new end. Does nothing if there are none.
  double end_fold(const ChartBlock& block, double from, double y) {
    const double missing = std::round(kFoldedHeight * scale_) - (y - from);
    if (y <= from || missing <= 0 || out_.rows.size() == block.first_row) return y;
    out_.rows.back().all.height += missing;
    return y + missing;
  }

  void index_rows(ChartBlock& block) {
    block.row_by_rank.assign(static_cast<std::size_t>(block.run->ranks()), ChartBlock::kNoRow);
    for (std::size_t row = block.first_row; row < block.last_row; ++row)
      block.row_by_rank[out_.rows[row].rank.at()] = row;
  }

  /// Places the blocks as if not scrolled.
  void place_blocks() {
    double y = out_.body.y;
    for (std::size_t index = 0; index < out_.blocks.size(); ++index) {
      ChartBlock& block = out_.blocks[index];
      if (has_titles()) {
        if (index > 0) y += std::round(kBlockGap * scale_);
        block.title = {y, std::round(kTitleHeight * scale_)};
        y = block.title.bottom();
      }
      if (has_own_ruler(*block.run)) {
        block.ruler = {y, std::round(kRulerHeight * scale_)};
        y = block.ruler.bottom();
      }
      if (!block.run->step_start.empty()) {
        block.steps = {y, std::round(kStepsHeight * scale_)};
        y = block.steps.bottom();
      }
      block.first_row = out_.rows.size();
      double folded_from = y;
      view_.order.for_each(block.run->ranks(), [&](int rank) {
        if (hidden(rank) || view_.pinned.contains(rank)) return;
        const bool folded = view_.collapsed.contains(rank);
        if (!folded) y = end_fold(block, folded_from, y);
        y = add_row(index, rank, y, false);
        if (!folded) folded_from = y;
      });
      y = end_fold(block, folded_from, y);
      block.last_row = out_.rows.size();
      if (!view_.order.by_number()) index_rows(block);
    }
    out_.content_height = y - out_.body.y;
  }

  void place_scrolling() {
    out_.overview = {};
    out_.scroll_bar = {};
    // Half a pixel of rounding does not make a scroll bar.
    const bool scrolls = out_.content_height > out_.body.height + 0.5;
    out_.scroll = scrolls ? std::clamp(std::round(view_.scroll), 0.0, out_.max_scroll()) : 0;
    if (scrolls) place_side_strips();
    for (ChartBlock& block : out_.blocks) {
      block.title.y -= out_.scroll;
      block.ruler.y -= out_.scroll;
      block.steps.y -= out_.scroll;
    }
    for (std::size_t i = out_.pinned_rows; i < out_.rows.size(); ++i) {
      ChartRow& row = out_.rows[i];
      row.all.y -= out_.scroll;
      for (Strip& strip : row.lanes) strip.y -= out_.scroll;
    }
  }

  void place_side_strips() {
    double right = out_.plot.x1;
    const auto strip = [&](double width) {
      const double left = std::max(right - std::round(width * scale_), out_.plot.x0 + 1);
      const Box box{left, out_.body.y, right, out_.body.bottom()};
      right = left;
      return box;
    };
    out_.scroll_bar = strip(kScrollBarWidth);
    if (view_.show_overview) out_.overview = strip(kOverviewWidth);
    out_.plot.x1 = out_.minimap.x1 = out_.ruler.x1 = right;
    if (!out_.memory.empty()) out_.memory.x1 = right;
  }

  const Session& session_;
  const ViewState& view_;
  double scale_;
  ChartLayout& out_;
  double work_ = 0;
};

}  // namespace

void lay_out_chart(const Session& session, const Box& area, double scale, ChartLayout& out) {
  Builder(session, scale, out).build(area);
}

}  // namespace pipeloom::gui
