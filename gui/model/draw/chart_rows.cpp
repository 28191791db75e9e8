// Rows: ops and messages that are wide enough to be boxes, gaps.

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "gui/model/run/waiting_ops.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui {
namespace {

/// On each side of the word of a gap that is neither selected nor under the pointer: only the wide ones have a word.
constexpr double kGapAir = 44;

}  // namespace

ChartListBuilder::RowLane ChartListBuilder::lane_of(const ChartRow& row, ChartLane which) const {
  const RunModel& run = *layout_.blocks[row.block].run;
  RowLane lane{.row = &row,
               .run = &run,
               .look = op_look(session_, part_, run, part_.colours_of(session_, run)),
               .strip = row.lane(which)};
  lane.clip = layout_.clipped(row, lane.strip);
  lane.labels = !row.collapsed && lane.strip.height + 2 * scale_ >= fonts_.small.height;
  const double room = static_cast<double>(lane.look.colours->shortest()) * pixels_per_tick_;
  lane.letters = room > fonts_.small.width("W" + std::to_string(run.schedule->microbatches())) + 12 * scale_;
  return lane;
}

void ChartListBuilder::add_row(const ChartRow& row) {
  for (std::size_t i = 0; i < kChartLanes; ++i) {
    const auto which = static_cast<ChartLane>(i);
    if (row.lane(which).height <= 0) continue;
    RowLane lane = lane_of(row, which);
    if (lane.clip.empty()) continue;
    if (which == ChartLane::Work) quad(list_.ground, lane.clip, ink_.row);
    if (which == ChartLane::Work) add_ops(lane, Lane::Work);
    if (which == ChartLane::Work && lane.run->hang) add_waiting(lane);
    if (which == ChartLane::Copies) add_ops(lane, Lane::Copies);
    if (which == ChartLane::Send) add_messages(lane, MessageLane::Send);
    if (which == ChartLane::Receive) add_messages(lane, MessageLane::Receive);
    if (which == ChartLane::Memory) add_memory(lane);
  }
}

/// Outlines of the ops that a rank did not reach, after the last op that ran.
void ChartListBuilder::add_waiting(const RowLane& lane) {
  const RunModel& run = *lane.run;
  each_waiting(run, lane.row->rank, standstill(run, lane.row->rank), [&](Op op, Ticks start, Ticks end) {
    const double x0 = std::round(layout_.x_of(static_cast<double>(start)));
    const double x1 = std::round(layout_.x_of(static_cast<double>(end)));
    const Box box{std::max(x0, lane.clip.x0), lane.clip.y0, std::min(x1 - 1, lane.clip.x1), lane.clip.y1};
    if (box.width() < 2) return;
    const bool selected = waiting_selection(session_.selection, run.id) == op;
    list_.outlines.push_back({static_cast<float>(box.x0), static_cast<float>(box.y0),
                              static_cast<float>(box.x1), static_cast<float>(box.y1),
                              selected ? ink_.accent : ink_.muted,
                              selected ? static_cast<float>(2 * scale_) : 1});
    if (lane.labels) add_op_label(lane, box, op, ink_.muted);
  });
}

bool ChartListBuilder::is_dense(const RowLane& lane, Lane which) const {
  const OpTrack& index = *lane.run->op_track;
  const std::size_t limit = 2 * static_cast<std::size_t>(columns_);
  const StepSlice steps = index.steps(lane.row->rank, from_, to_, which);
  if (steps.last - steps.first > columns_) return true;
  std::size_t count = 0;
  for (int step = steps.first; step < steps.last && count <= limit; ++step)
    count += index.visible(lane.row->rank, from_, to_, step, which).size();
  return count > limit;
}

void ChartListBuilder::add_ops(RowLane& lane, Lane which) {
  if (!lane.run->op_track) return;
  const std::size_t first_quad = list_.quads.size();
  const bool gaps = which == Lane::Work;
  if (is_dense(lane, which)) {
    const Rgba* const texels = add_dense(lane, which, first_quad);
    if (gaps) add_dense_gaps(lane, texels);
    return;
  }
  bool narrow = false;
  lane.run->op_track->for_each_visible(lane.row->rank, from_, to_, which,
                                       [&](std::size_t op) { narrow = !add_op(lane, op) || narrow; });
  if (narrow) add_dense(lane, which, first_quad);
  if (gaps) add_gaps(lane);
}

/// Draws a line between neighbours that touch; a gap too short for a pixel is a hole of one.
void ChartListBuilder::add_edge(RowLane& lane, Ticks start, float x) {
  if (lane.end < 0 || x > lane.x1) return;
  const Rgba colour = start > lane.end ? ink_.row : lane.edge;
  quad(list_.quads, {lane.x1 - 1.0, lane.clip.y0, lane.x1, lane.clip.y1}, colour);
}

bool ChartListBuilder::add_op(RowLane& lane, std::size_t op) {
  const Timeline& timeline = lane.run->timeline;
  const double x0 = layout_.plot.x0 + (static_cast<double>(timeline.start[op]) - from_) * pixels_per_tick_;
  const double x1 = layout_.plot.x0 + (static_cast<double>(timeline.end[op]) - from_) * pixels_per_tick_;
  if (x1 - x0 < kNarrow) return false;
  const auto ops = lane.run->schedule->ops();
  const Op drawn = ops[op % ops.size()];
  const tracks::DrawnGroup group = tracks::group_of(timeline, op);
  Box box{std::max(std::round(x0), lane.clip.x0), lane.clip.y0, std::min(std::round(x1), lane.clip.x1),
          lane.clip.y1};
  if (group.last - group.first > 1) {
    const Strip part = part_of(lane.strip, op - group.first, group.last - group.first);
    box.y0 = std::max(box.y0, part.y);
    box.y1 = std::min(box.y1, part.bottom());
  }
  const OpPaint& paint = lane.look.of(op);
  if (op == group.first) add_edge(lane, timeline.start[op], static_cast<float>(box.x0));
  if (box.empty()) return true;
  quad(list_.quads, box, paint.fill);
  lane.end = timeline.end[op];
  lane.x1 = static_cast<float>(box.x1);
  lane.edge = paint.edge;
  const ChartQuad drawn_quad = list_.quads.back();
  if (session_.preferences.hatching) add_hatching(drawn_quad, drawn.kind(), paint.text);
  if (lane.labels && &paint != &lane.look.colours->dimmed()) add_op_label(lane, box, drawn, paint.text);
  if (hovered_ && drawn.microbatch() == *hovered_)
    list_.outlines.push_back({drawn_quad.x0, drawn_quad.y0, drawn_quad.x1, drawn_quad.y1, ink_.text, 1});
  return true;
}

/// True if all ops of the kind have room for the longest number: a row has the labels of a kind, or none.
bool ChartListBuilder::has_room_for_numbers(const RowLane& lane, OpKind kind) const {
  const std::string longest = std::to_string(lane.run->schedule->microbatches() - 1);
  const double shortest = static_cast<double>(lane.look.colours->shortest(kind)) * pixels_per_tick_;
  return fonts_.small.width(longest) + 2 * scale_ <= shortest;
}

void ChartListBuilder::add_op_label(const RowLane& lane, const Box& box, Op op, Rgba colour) {
  char text[kMaxOpText];
  char* end = text;
  if (lane.letters) *end++ = letter_of(op.kind());
  end = write_op_number(end, op);
  if (!lane.letters && !has_room_for_numbers(lane, op.kind())) return;
  label_inside(box, {text, static_cast<std::size_t>(end - text)}, colour);
}

void ChartListBuilder::add_hatching(const ChartQuad& box, OpKind kind, Rgba text) {
  // As in exported pictures, with level lines for dots.
  const Pattern pattern = row_of(kind).pattern;
  const auto step = static_cast<float>(6 * scale_);
  const float height = box.y1 - box.y0;
  if (pattern == Pattern::None || height < 5 || box.x1 - box.x0 < 4) return;
  // Away from the label, so that its contrast only grows.
  const bool white = (text & 0xFFU) > 0x7FU;
  const Rgba colour = white ? rgba(0, 0, 0, 84) : rgba(255, 255, 255, 110);
  if (pattern == Pattern::Dotted) {
    for (float y = box.y0 + step / 2; y < box.y1; y += step / 2)
      list_.quads.push_back({box.x0, y, box.x1, y + 1, colour});
    return;
  }
  // Lines start at multiples of the step, so that those of neighbours meet; each is cut where it leaves the box.
  for (float at = std::floor((box.x0 - height) / step) * step; at < box.x1; at += step) {
    const float cut = std::max(0.0F, box.x0 - at);
    const float past = std::max(0.0F, at + height - box.x1);
    if (cut + past >= height) continue;
    const float x0 = at + cut;
    const float x1 = at + height - past;
    if (pattern == Pattern::Rising)
      list_.lines.push_back({x0, box.y1 - cut, x1, box.y0 + past, colour, 1});
    else
      list_.lines.push_back({x0, box.y0 + cut, x1, box.y1 - past, colour, 1});
  }
}

// Idle time is empty, or tinted by its cause; its word is written in it where it is looked at or wide.

void ChartListBuilder::add_gaps(const RowLane& lane) {
  for (const IdleSpan& gap : gaps_in(lane, from_, to_)) add_gap(lane, gap, from_, to_);
}

std::span<const IdleSpan> ChartListBuilder::gaps_in(const RowLane& lane, double from, double to) {
  const std::size_t rank = lane.row->rank.at();
  if (!lane.run->cause_track || rank >= lane.run->idle.size()) return {};
  const Slice seen = lane.run->cause_track->visible(rank, {from, to});
  return std::span(lane.run->idle[rank]).subspan(seen.first, seen.size());
}

bool ChartListBuilder::is_looked_at(const RowLane& lane, const IdleSpan& gap) const {
  const auto same = [&](const std::optional<GapRef>& ref) {
    return ref && ref->run == lane.run->id && ref->rank == lane.row->rank &&
           lane.run->idle[ref->rank.at()].data() + ref->span == &gap;
  };
  const std::optional<Hit>& hit = session_.part<PointerPart>().hit;
  return same(session_.selection.gap) || (hit && same(hit->gap));
}

void ChartListBuilder::add_gap(const RowLane& lane, const IdleSpan& gap, double from, double to) {
  // A run that hangs has no causes yet: its arrows say why it stops.
  if (lane.run->hang) return;
  const double x0 = std::round(layout_.x_of(std::max(static_cast<double>(gap.start), from)));
  const double x1 = std::round(layout_.x_of(std::min(static_cast<double>(gap.end), to)));
  if (x1 - x0 < 1) return;
  const Preferences& preferences = session_.preferences;
  const Box box{x0, lane.clip.y0, std::min(x1, lane.clip.x1), lane.clip.y1};
  if (session_.view.show_idle)
    quad(list_.ground, box, rgba(gap_colour(preferences.palette, theme_of(preferences), gap.cause)));
  if (!lane.labels) return;
  const std::string_view cause = name_of(gap.cause);
  const bool wide = box.width() >= fonts_.small.width(cause) + 2 * kGapAir * scale_;
  const Rgba ink = session_.view.show_idle ? ink_.muted : ink_.accent;
  if (is_looked_at(lane, gap) ? !label_inside(box, gap_words(*lane.run, gap), ink_.accent) : wide)
    (void)label_inside(box, cause, ink);
}

// Messages under way, in the rows of sender and receiver.

namespace {

Rgba colour_of(const Preferences& preferences, bool gradient) {
  return rgba(message_colour(preferences.palette, theme_of(preferences), gradient));
}

}  // namespace

void ChartListBuilder::add_messages(const RowLane& lane, MessageLane which) {
  if (!lane.run->message_track) return;
  const std::size_t row = tracks::MessageTrack::row_of(lane.row->rank, which);
  if (lane.run->message_track->bars(row).empty()) return;
  const Rgba colours[] = {colour_of(session_.preferences, false), colour_of(session_.preferences, true)};
  if (add_message_boxes(lane, row, colours)) return;
  const ChartLane strip = which == MessageLane::Send ? ChartLane::Send : ChartLane::Receive;
  const auto& texels =
      list_.kept_texels.of(key_of(lane, strip), [&](TimeRange range, int bins, HatchedTexel* out) {
        fill_from(*lane.run->message_track, row, colours, range, bins, out);
      });
  add_strip(lane, texels);
}

/// False if some, or all, are too narrow.
bool ChartListBuilder::add_message_boxes(const RowLane& lane, std::size_t row,
                                         std::span<const Rgba> colours) {
  const Slice seen = lane.run->message_track->visible(row, {from_, to_});
  if (seen.size() > 2 * static_cast<std::size_t>(columns_)) return false;
  const Box& clip = lane.clip;
  bool all = true;
  for (const std::uint32_t bar : lane.run->message_track->bars(row).subspan(seen.first, seen.size())) {
    const MessageBar& message = lane.run->message_bars[bar];
    const double x0 = std::max(layout_.x_of(static_cast<double>(message.start)), clip.x0);
    const double x1 = std::min(layout_.x_of(static_cast<double>(message.end)), clip.x1);
    if (x1 - x0 < kNarrow) {
      all = false;
      continue;
    }
    // A line at the start tells bars apart that follow each other without a break or overlap.
    quad(list_.quads, {x0, clip.y0, x1, clip.y1}, colours[message.gradient ? 1 : 0]);
    quad(list_.quads, {x0, clip.y0, x0 + 1, clip.y1}, ink_.background);
  }
  return all;
}

}  // namespace pipeloom::gui
