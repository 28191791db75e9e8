#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/schedule.hpp>
#include "sim/draw/scene.hpp"
#include "sim/draw/words.hpp"
#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/plots/gantt_drawer.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

using tracks::DrawnEntry;
using tracks::Mark;
using tracks::TimelineIndex;

constexpr double kHair = 1;  // pixels below which a lone thing is drawn by a hairline

}  // namespace

void GanttDrawer::draw_entry(const draw::Row& row, const DrawnEntry& entry) {
  const std::vector<std::size_t> parts = draw::stacked_ops(schedule_, entry);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t x = plot_x(range_, timeline_.start[parts[i]]);
    const std::int64_t end = plot_x(range_, timeline_.end[parts[i]]);
    if (end <= x) continue;
    if (detail_ == Detail::Boxes) {
      draw_box(row, parts[i], i, parts.size(), {x, end});
    } else {
      SpanPath& path = paths_[{class_of(op_at(parts[i])), i, parts.size()}];
      // A little is left out at its end, so that neighbours are told apart where there is room.
      path.add(x, end - std::min<std::int64_t>(kPlotUnits / 1200, (end - x) / 12));
      path.busy += timeline_.end[parts[i]] - timeline_.start[parts[i]];
    }
  }
}

void GanttDrawer::draw_box(const draw::Row& row, std::size_t at, std::size_t part, std::size_t parts,
                           std::pair<std::int64_t, std::int64_t> x) {
  const Op op = op_at(at);
  const std::string name = class_of(op);
  const double height = row.height / static_cast<double>(parts);
  const double y = row.y + height * static_cast<double>(part);
  const double width = pixels(x.second - x.first);
  const std::string number = draw::op_number(op);
  plot_ += fmt::format(
      R"(<rect class="{} fill{}" x="{}" y="{}" width="{}" height="{}" data-n="{}"><title>{}</title></rect>)"
      "\n",
      name, width >= 2.5 ? " edged" : "", x.first, coordinate(y), x.second - x.first, coordinate(height),
      number, box_text(row.first, at));
  const double tallest = std::min(11.0, height * 0.8);
  const double size = std::floor(2 * std::min(tallest, (width - 2) / widest_number())) / 2;
  if (size < 6) return;
  numbers_ += fmt::format(R"(<text class="num {}" x="{}" y="{}" font-size="{}">{}</text>)", name,
                          coordinate(kPlotX + pixels(x.first) + width / 2),
                          coordinate(kPlotY + y + height / 2 + 0.36 * size), coordinate(size), number);
}

double GanttDrawer::widest_number() const {
  return draw::text_width(draw::widest_op_number(schedule_), 1);
}

std::string GanttDrawer::box_text(Rank rank, std::size_t at) const {
  const Op op = op_at(at);
  const std::string_view unit = timeline_.unit == TimeUnit::Unit ? "" : name_of(timeline_.unit);
  const std::string step =
      timeline_.steps > 1 ? fmt::format(", step {}", at / schedule_.num_ops()) : std::string();
  return fmt::format("{}: {}, rank {}, stage {}, microbatch {}{}\n{} to {}{}{}, takes {}", to_text(op),
                     words_of(op.kind()), rank.value(), op.stage().value(), op.microbatch().value(), step,
                     format_ticks(timeline_.start[at], timeline_.unit),
                     format_ticks(timeline_.end[at], timeline_.unit), unit.empty() ? "" : " ", unit,
                     format_ticks(timeline_.end[at] - timeline_.start[at], timeline_.unit));
}

void GanttDrawer::flush_paths(const draw::Row& row) {
  for (const auto& [key, path] : paths_) {
    const auto& [name, part, parts] = key;
    const double height = row.height / static_cast<double>(parts);
    const double y = row.y + height * (static_cast<double>(part) + 0.5);
    const OpKind kind = *kind_of_letter(name.front());
    plot_ += fmt::format(
        "<path class=\"line dense {}\" stroke-width=\"{}\" d=\"{}\"><title>rank {}: {}, {}, busy "
        "{}</title></path>\n",
        name, coordinate(height), path.at_height(y), row.first.value(), words_of(kind),
        count_text(path.count(), "op"), format_ticks(path.busy, timeline_.unit));
  }
}

void GanttDrawer::draw_hairs(const draw::Row& row, const TimelineIndex& lane,
                             const std::vector<Mark>& marks) {
  const auto start_of = [&](std::size_t i) { return pixels(plot_x(range_, marks[i].start)); };
  const auto end_of = [&](std::size_t i) { return pixels(plot_x(range_, marks[i].end)); };
  const auto down = [&](std::size_t i) {
    return fmt::format("M{} {}v{}", plot_x(range_, marks[i].start), coordinate(row.y),
                       coordinate(row.height));
  };
  std::map<std::string, std::string> ops;
  std::string gaps;
  double last_gap = -4;
  double drawn_to = -kHair;  // pixel up to which something shows
  for (std::size_t first = 0, last = 0; first < marks.size(); first = last) {
    // Marks that touch, or nearly so, are seen together.
    for (last = first + 1; last < marks.size() && start_of(last) - end_of(last - 1) < kHair; ++last) {
      const bool is_gap = marks[last].start > marks[last - 1].end;
      const bool between_ops =
          end_of(last - 1) - start_of(last - 1) >= 1.5 && end_of(last) - start_of(last) >= 1.5;
      if (!is_gap || !between_ops || start_of(last) - last_gap < 4) continue;
      gaps += down(last);
      last_gap = start_of(last);
    }
    if (end_of(last - 1) - start_of(first) < kHair && start_of(first) - drawn_to >= kHair)
      ops[class_of(op_at(lane.entry(row.first, marks[first].first).op))] += down(first);
    drawn_to = end_of(last - 1);
  }
  for (const auto& [name, path] : ops)
    plot_ += fmt::format("<path class=\"hair {}\" d=\"{}\"/>\n", name, path);
  if (!gaps.empty()) plot_ += fmt::format("<path class=\"gap\" d=\"{}\"/>\n", gaps);
}

}  // namespace pipeloom::study::page
