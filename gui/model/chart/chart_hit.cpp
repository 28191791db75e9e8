// The thing at a point of the chart, and the place of a thing of the chart.

#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/run/waiting_ops.hpp"
#include "sim/kinds.hpp"
#include "sim/tracks/cause_track.hpp"
#include "sim/tracks/op_track.hpp"

namespace pipeloom::gui {
namespace {

using tracks::DrawnGroup;
using tracks::MessageTrack;

/// Things that are this close to the pointer count as under it.
constexpr double kReach = 1.5;

Lane lane_of(ChartLane lane) {
  return lane == ChartLane::Copies ? Lane::Copies : Lane::Work;
}

/// Ticks between a time and a stretch of time; 0 inside.
double distance(double time, Ticks start, Ticks end) {
  return std::max({0.0, static_cast<double>(start) - time, time - static_cast<double>(end)});
}

/// The op under the pointer, or the nearest one within reach.
std::optional<std::size_t> op_near_pixel(const ChartLayout& layout, const RunModel& run, const ChartRow& row,
                                         ChartLane lane, double time) {
  const double reach = kReach * layout.ticks_per_pixel();
  std::optional<std::size_t> best;
  double least = reach;
  run.op_track->for_each_visible(row.rank, time - reach, time + reach, lane_of(lane), [&](std::size_t op) {
    // At the border of two ops it is the later one.
    const double away = distance(time, run.timeline.start[op], run.timeline.end[op]);
    if (away <= least) {
      least = away;
      best = op;
    }
  });
  return best;
}

/// The part of an overlapped group at this height.
std::size_t part_at(const RunModel& run, std::size_t op, const Strip& strip, double y) {
  const DrawnGroup group = tracks::group_of(run.timeline, op);
  const std::size_t count = group.last - group.first;
  const auto part = static_cast<std::size_t>((y - strip.y) / strip.height * static_cast<double>(count));
  return group.first + std::min(part, count - 1);
}

std::optional<std::size_t> gap_at(const RunModel& run, Rank rank, double time) {
  if (!run.cause_track || rank.at() >= run.idle.size()) return std::nullopt;
  const auto& spans = run.idle[rank.at()];
  const std::size_t found = run.cause_track->visible(rank.at(), {time, time}).first;
  if (found == spans.size() || static_cast<double>(spans[found].start) > time) return std::nullopt;
  return found;
}

/// The last one of the bars of a row that is under way at `time`.
std::optional<std::size_t> message_at(const RunModel& run, Rank rank, ChartLane lane, double time,
                                      double reach) {
  if (!run.message_track) return std::nullopt;
  std::optional<std::size_t> found;
  const std::size_t row = MessageTrack::row_of(
      rank, lane == ChartLane::Send ? tracks::MessageLane::Send : tracks::MessageLane::Receive);
  const auto bars = run.message_track->bars(row);
  const tracks::Slice seen = run.message_track->visible(row, {time - reach, time + reach});
  for (const std::uint32_t bar : bars.subspan(seen.first, seen.size())) {
    const MessageBar& message = run.message_bars[bar];
    if (distance(time, message.start, message.end) <= reach) found = bar;
  }
  return found;
}

/// The outlined op of a rank that stopped.
std::optional<Op> waiting_at(const RunModel& run, Rank rank, double time) {
  std::optional<Op> found;
  each_waiting(run, rank, standstill(run, rank), [&](Op op, Ticks start, Ticks end) {
    if (static_cast<double>(start) <= time && time < static_cast<double>(end)) found = op.with_joined(false);
  });
  return found;
}

void hit_lane(const ChartLayout& layout, const ChartRow& row, double y, Hit& hit) {
  const RunModel& run = *layout.blocks[row.block].run;
  const Strip& strip = row.lane(hit.lane);
  if (hit.lane == ChartLane::Send || hit.lane == ChartLane::Receive) {
    hit.message = message_at(run, row.rank, hit.lane, hit.time, kReach * layout.ticks_per_pixel());
    return;
  }
  if (hit.lane == ChartLane::Memory || !run.op_track) return;
  if (const auto op = op_near_pixel(layout, run, row, hit.lane, hit.time))
    hit.op = OpRef{run.id, hit.lane == ChartLane::Work ? part_at(run, *op, strip, y) : *op};
  if (hit.lane != ChartLane::Work || hit.op) return;
  if (run.hang) hit.waiting = waiting_at(run, row.rank, hit.time);
  if (hit.waiting) return;
  if (const auto gap = gap_at(run, row.rank, hit.time)) hit.gap = GapRef{run.id, row.rank, *gap};
}

HeaderButton button_at(const ChartLayout& layout, const ChartRow& row, double x) {
  const HeaderButtons buttons = layout.header_buttons(row);
  if (x >= buttons.pin.x0 && x < buttons.pin.x1) return HeaderButton::Pin;
  if (x >= buttons.collapse.x0 && x < buttons.collapse.x1) return HeaderButton::Collapse;
  return HeaderButton::None;
}

/// The first row of [first, last) that ends below y.
const ChartRow* row_at(const ChartRow* first, const ChartRow* last, double y) {
  const ChartRow* const found =
      std::partition_point(first, last, [&](const ChartRow& row) { return row.all.bottom() <= y; });
  return found != last && found->all.holds(y) ? found : nullptr;
}

void hit_rows(const ChartLayout& layout, double x, double y, Hit& hit) {
  const bool scrolling = layout.body.holds(y);
  const ChartRow* const rows = layout.rows.data();
  const ChartRow* const row = scrolling ? row_at(rows + layout.pinned_rows, rows + layout.rows.size(), y)
                                        : row_at(rows, rows + layout.pinned_rows, y);
  const bool header = layout.headers.contains(x, y);
  hit.area = ChartArea::RowSpace;
  if (row == nullptr) {
    for (std::size_t i = 0; i < layout.blocks.size(); ++i) {
      const ChartBlock& block = layout.blocks[i];
      const bool title = block.title.holds(y);
      if (!scrolling || !(title || (!header && block.ruler.holds(y)))) continue;
      hit.area = title ? ChartArea::Title : ChartArea::Ruler;
      hit.block = i;
    }
    return;
  }
  hit.block = row->block;
  hit.rank = row->rank;
  if (header) {
    hit.area = ChartArea::RowHeader;
    hit.button = button_at(layout, *row, x);
    return;
  }
  for (std::size_t lane = 0; lane < kChartLanes; ++lane) {
    if (!row->lanes[lane].holds(y)) continue;
    hit.area = ChartArea::Lane;
    hit.lane = static_cast<ChartLane>(lane);
    hit_lane(layout, *row, y, hit);
  }
}

void hit_legend(const ChartLayout& layout, double x, double y, Hit& hit) {
  hit.area = ChartArea::Legend;
  for (const LegendEntry& entry : layout.entries)
    if (entry.box.contains(x, y)) hit.kind = entry.kind;
}

}  // namespace

const ChartBlock* ChartLayout::block_of(std::uint64_t run) const {
  const auto found = std::find_if(blocks.begin(), blocks.end(),
                                  [&](const ChartBlock& block) { return block.run->id == run; });
  return found == blocks.end() ? nullptr : &*found;
}

const ChartRow* ChartLayout::row_of(std::uint64_t run, Rank rank) const {
  const ChartBlock* const block = block_of(run);
  if (block == nullptr) return nullptr;
  const auto at = static_cast<std::size_t>(block - blocks.data());
  for (std::size_t i = 0; i < pinned_rows; ++i)
    if (rows[i].block == at && rows[i].rank == rank) return &rows[i];
  if (!block->row_by_rank.empty()) {
    const std::size_t row =
        rank.at() < block->row_by_rank.size() ? block->row_by_rank[rank.at()] : ChartBlock::kNoRow;
    return row == ChartBlock::kNoRow ? nullptr : &rows[row];
  }
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(block->first_row);
  const auto last = rows.begin() + static_cast<std::ptrdiff_t>(block->last_row);
  const auto found =
      std::lower_bound(first, last, rank, [](const ChartRow& row, Rank wanted) { return row.rank < wanted; });
  return found != last && found->rank == rank ? &*found : nullptr;
}

bool ChartLayout::is_visible(const ChartRow& row) const {
  const double top = row.pinned ? plot.y0 : body.y;
  return row.all.bottom() > top && row.all.y < plot.y1;
}

Box ChartLayout::clipped(const ChartRow& row, const Strip& strip) const {
  const double top = row.pinned ? plot.y0 : body.y;
  return {plot.x0, std::max(strip.y, top), plot.x1, std::min(strip.bottom(), plot.y1)};
}

double ChartLayout::scroll_to(std::uint64_t run, Rank rank) const {
  const ChartRow* const row = row_of(run, rank);
  if (row == nullptr || row->pinned) return scroll;
  double wanted = scroll;
  if (row->all.y < body.y) wanted -= body.y - row->all.y;
  if (row->all.bottom() > body.bottom()) wanted += row->all.bottom() - body.bottom();
  return std::clamp(wanted, 0.0, max_scroll());
}

Strip part_of(const Strip& strip, std::size_t part, std::size_t count) {
  const double each = strip.height / static_cast<double>(count);
  return {strip.y + each * static_cast<double>(part), each};
}

Box ChartLayout::rows_of(std::uint64_t run) const {
  Box seen{plot.x0, plot.y1, plot.x1, plot.y0};
  for (const ChartRow& row : rows) {
    if (blocks[row.block].run->id != run || !is_visible(row)) continue;
    const Box box = clipped(row, row.all);
    seen.y0 = std::min(seen.y0, box.y0);
    seen.y1 = std::max(seen.y1, box.y1);
  }
  return seen;
}

HeaderButtons ChartLayout::header_buttons(const ChartRow& row) const {
  // Thin rows have no room for them.
  const double side = 15 * scale;
  if (row.all.height < 11 * scale) return {};
  const double y = row.lane(ChartLane::Work).y;
  const double bottom = y + std::min(row.lane(ChartLane::Work).height, side);
  const double right = headers.x1 - 4 * scale;
  return {{right - 2 * side, y, right - side, bottom}, {right - side, y, right, bottom}};
}

Hit ChartLayout::hit(double x, double y) const {
  Hit hit;
  hit.time = time_of(x);
  if (body.height > 0) hit.share = std::clamp((y - body.y) / body.height, 0.0, 1.0);
  if (!all.contains(x, y)) return hit;
  if (legend.contains(x, y)) {
    hit_legend(*this, x, y, hit);
  } else if (minimap.contains(x, y)) {
    hit.area = ChartArea::Minimap;
    hit.time = minimap_time_of(x);
  } else if (ruler.contains(x, y)) {
    hit.area = ChartArea::Ruler;
  } else if (memory.contains(x, y)) {
    hit.area = ChartArea::Memory;
  } else if (overview.contains(x, y)) {
    hit.area = ChartArea::Overview;
  } else if (scroll_bar.contains(x, y)) {
    hit.area = ChartArea::ScrollBar;
  } else if (plot.contains(x, y) || headers.contains(x, y)) {
    hit_rows(*this, x, y, hit);
  }
  return hit;
}

namespace {

/// [start, end) of a strip inside the plot, at least a pixel wide; no value if nothing of it is there.
std::optional<Box> visible_box(const ChartLayout& layout, const ChartRow& row, const Strip& strip,
                               Ticks start, Ticks end) {
  if (!layout.is_visible(row)) return std::nullopt;
  Box box = layout.clipped(row, strip);
  const double x0 = layout.x_of(static_cast<double>(start));
  const double x1 = std::max(layout.x_of(static_cast<double>(end)), x0 + 1);
  if (x1 <= box.x0 || x0 >= box.x1 || box.y1 <= box.y0) return std::nullopt;
  box.x0 = std::max(box.x0, x0);
  box.x1 = std::min(box.x1, x1);
  return box;
}

}  // namespace

std::optional<Box> ChartLayout::rect_of(const OpRef& ref) const {
  const ChartBlock* const block = block_of(ref.run);
  if (block == nullptr || ref.op >= block->run->timeline.start.size()) return std::nullopt;
  const Timeline& timeline = block->run->timeline;
  const std::size_t index = ref.op % timeline.schedule->num_ops();
  const ChartRow* const row = row_of(ref.run, timeline.schedule->rank_of_op(index));
  if (row == nullptr || timeline.end[ref.op] < 0) return std::nullopt;
  const bool copy = is_copy(timeline.schedule->ops()[index].kind());
  Strip strip = row->lane(copy ? ChartLane::Copies : ChartLane::Work);
  if (strip.height <= 0) return std::nullopt;
  if (!copy) {
    const DrawnGroup group = tracks::group_of(timeline, ref.op);
    strip = part_of(strip, ref.op - group.first, group.last - group.first);
  }
  return visible_box(*this, *row, strip, timeline.start[ref.op], timeline.end[ref.op]);
}

std::optional<Box> ChartLayout::rect_of(const GapRef& gap) const {
  const ChartBlock* const block = block_of(gap.run);
  const ChartRow* const row = row_of(gap.run, gap.rank);
  if (block == nullptr || row == nullptr || gap.rank.at() >= block->run->idle.size()) return std::nullopt;
  const auto& spans = block->run->idle[gap.rank.at()];
  if (gap.span >= spans.size()) return std::nullopt;
  return visible_box(*this, *row, row->lane(ChartLane::Work), spans[gap.span].start, spans[gap.span].end);
}

std::optional<Box> ChartLayout::rect_of_waiting(std::uint64_t run, Rank rank, Op op) const {
  const ChartBlock* const block = block_of(run);
  const ChartRow* const row = row_of(run, rank);
  if (block == nullptr || row == nullptr || !block->run->hang) return std::nullopt;
  std::optional<Box> found;
  each_waiting(*block->run, rank, standstill(*block->run, rank), [&](Op each, Ticks start, Ticks end) {
    if (each == op) found = visible_box(*this, *row, row->lane(ChartLane::Work), start, end);
  });
  return found;
}

}  // namespace pipeloom::gui
