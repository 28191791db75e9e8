#include "study/plots/gantt_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/draw/words.hpp"
#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/plots/gantt_drawer.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

using tracks::Mark;
using tracks::TimelineIndex;

constexpr double kAllRowsHeight = 560;
constexpr int kFinestBins = 250'000;
/// Bars of binned rows in one picture: some 12 bytes each.
constexpr int kMostBars = 200'000;

}  // namespace

GanttDrawer::GanttDrawer(const GanttInput& input)
    : input_(input),
      timeline_(*input.timeline),
      schedule_(*timeline_.schedule),
      index_(timeline_),
      colours_(schedule_, draw::Theme::Light, draw::ColourBy::Kind),
      range_(input.range.value_or(index_.span())) {
  if (range_.length() <= 0) range_.end = range_.start + 1;
  if (schedule_.has_copies()) copies_.emplace(timeline_, Lane::Copies);
  const std::size_t ops = schedule_.num_ops() * static_cast<std::size_t>(timeline_.steps);
  detail_ = ops <= kMostBoxes ? Detail::Boxes : ops <= kMostPathOps ? Detail::Paths : Detail::Bins;
}

Gantt GanttDrawer::draw() {
  place_rows();
  for (const draw::Row& row : rows_) draw_row(row);
  add_critical();
  Gantt out;
  out.detail = detail_;
  out.legend = legend();
  out.figure.zooms = true;
  TimeChart chart{input_.id,      input_.title, description(), input_.link,      range_,
                  timeline_.unit, height_,      labels(),      std::move(plot_), std::move(numbers_)};
  out.figure.markup = to_svg(chart);
  return out;
}

void GanttDrawer::place_rows() {
  rank_rows_ = draw::RankRows(Rank(0), Rank(schedule_.ranks()), kMostRows);
  const int rows = rank_rows_.count();
  const double largest = schedule_.has_groups() ? 36 : copies_ ? 32 : 27;
  pitch_ = std::clamp(kAllRowsHeight / rows, 4.0, largest);
  const double gap = pitch_ < 6 ? 0.6 : std::min(5.0, pitch_ * 0.16);
  for (int i = 0; i < rows; ++i) rows_.push_back(rank_rows_.row(i, i * pitch_, pitch_ - gap));
  height_ = rows * pitch_ - gap;
}

std::vector<RowLabel> GanttDrawer::labels() const {
  std::vector<RowLabel> out;
  const double size = std::clamp(pitch_ * 0.8, 11.0, 12.0);
  for (const draw::Row& row : rows_)
    if (rank_rows_.is_named(row, pitch_, size))
      out.push_back({row.y + row.height / 2 + 0.36 * size, draw::rank_label(row.first), size});
  return out;
}

void GanttDrawer::draw_row(const draw::Row& row) {
  plot_ += fmt::format("<rect class=\"row-ground\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                       coordinate(row.y), plot_x(range_, index_.span().end), coordinate(row.height));
  if (row.is_shared()) {
    draw_shared_row(row);
    return;
  }
  draw_idle(row);
  if (copies_) draw_lane(draw::lanes_of(row).copies, *copies_);
  draw_lane(copies_ ? draw::lanes_of(row).work : row, index_);
}

int GanttDrawer::bins() const {
  if (detail_ != Detail::Bins) return kFinestBins;
  const int per_row = kMostBars / (3 * static_cast<int>(rows_.size()));
  return std::clamp(per_row, 128, static_cast<int>(2 * kPlotWidth));
}

void GanttDrawer::draw_lane(const draw::Row& row, const TimelineIndex& lane) {
  const auto marks = lane.marks(row.first, range_, bins());
  paths_.clear();
  draw_bars(row, marks);
  for (const Mark& mark : marks)
    if (!mark.merged) draw_entry(row, lane.entry(row.first, mark.first));
  flush_paths(row);
  draw_hairs(row, lane, marks);
}

Legend GanttDrawer::legend() const {
  Legend out;
  const int shades = std::min(4, colours_.shades());
  for (const OpKind kind : kAllOpKinds) {
    if (!schedule_.contains(kind)) continue;
    std::vector<std::string> swatches;
    for (int shade = 0; shade < shades; ++shade) swatches.push_back(op_class(kind, shade, shades));
    out.entries.push_back({swatches, draw::kind_label(kind)});
  }
  if (shades > 1)
    out.entries.push_back({{},
                           schedule_.placement().replicas() > 1 ? "shades: chunks and directions"
                                                                : "shades: chunks, the first full"});
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    if (causes_.test(i))
      out.entries.push_back(
          {{idle_class(static_cast<IdleCause>(i))}, draw::idle_label(static_cast<IdleCause>(i))});
  if (has_critical_) out.entries.push_back({{"critical-swatch"}, draw::kCriticalPathLabel});
  return out;
}

std::string GanttDrawer::description() const {
  const char* const how = detail_ == Detail::Boxes   ? "Every op is a box."
                          : detail_ == Detail::Paths ? "Ops are drawn side by side."
                                                     : "Bars show how busy each rank was.";
  return fmt::format("{} from {} to {} {}. {}",
                     count_text(static_cast<std::size_t>(schedule_.ranks()), "rank"),
                     format_ticks(range_.start, timeline_.unit), format_ticks(range_.end, timeline_.unit),
                     draw::unit_words(timeline_.unit), how);
}

Gantt draw_gantt(const GanttInput& input) {
  return GanttDrawer(input).draw();
}

Span whole_span(const Timeline& timeline) {
  Span span = span_of(timeline);
  for (int step = 1; step < timeline.steps; ++step) {
    const Span one = span_of(timeline, step);
    span.start = std::min(span.start, one.start);
    span.end = std::max(span.end, one.end);
  }
  return span;
}

}  // namespace pipeloom::study::page
