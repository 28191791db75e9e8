#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "study/document/html.hpp"
#include "study/plots/gantt_drawer.hpp"

namespace pipeloom::study::page {
namespace {

/// Gaps with a cause in one picture.
constexpr std::size_t kMostIdleMarks = 24'000;

}  // namespace

void GanttDrawer::draw_idle(const draw::Row& row) {
  if (input_.idle == nullptr || input_.idle->empty()) return;
  const auto& spans = (*input_.idle)[row.first.at()];
  const std::size_t budget = kMostIdleMarks / rows_.size();
  const bool boxes = detail_ == Detail::Boxes && spans.size() <= budget;
  const std::int64_t least = spans.size() <= budget ? 1 : kPlotUnits / static_cast<std::int64_t>(budget);
  std::array<SpanPath, kIdleCauses> paths;
  for (const IdleSpan& span : spans) {
    const std::int64_t x = plot_x(range_, span.start);
    const std::int64_t end = plot_x(range_, span.end);
    if (end - x < least) continue;
    const auto cause = static_cast<std::size_t>(span.cause);
    causes_.set(cause);
    if (!boxes) {
      paths[cause].add(x, end);
      continue;
    }
    plot_ += fmt::format(
        "<rect class=\"fill {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>rank {} idle: {}\n{} "
        "to {}, "
        "{} long</title></rect>\n",
        idle_class(span.cause), x, coordinate(row.y), end - x, coordinate(row.height), row.first.value(),
        name_of(span.cause), format_ticks(span.start, timeline_.unit), format_ticks(span.end, timeline_.unit),
        format_ticks(span.end - span.start, timeline_.unit));
  }
  for (std::size_t i = 0; i < kIdleCauses; ++i) {
    if (paths[i].count() == 0) continue;
    const auto cause = static_cast<IdleCause>(i);
    plot_ += fmt::format(
        "<path class=\"line dense {}\" stroke-width=\"{}\" d=\"{}\"><title>rank {} idle: "
        "{}</title></path>\n",
        idle_class(cause), coordinate(row.height), paths[i].at_height(row.y + row.height / 2),
        row.first.value(), name_of(cause));
  }
}

void GanttDrawer::add_critical() {
  if (input_.critical == nullptr) return;
  std::map<std::size_t, SpanPath> paths;  // by row
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> open;
  for (const std::size_t op : *input_.critical) {
    const std::size_t row = rank_rows_.row_of(schedule_.rank_of_op(op));
    const std::int64_t x = plot_x(range_, timeline_.start_of(op));
    const std::int64_t end = plot_x(range_, timeline_.end_of(op));
    auto [at, fresh] = open.try_emplace(row, x, end);
    if (fresh) continue;
    if (pixels(x - at->second.second) < 0.5) {
      at->second.second = std::max(at->second.second, end);
    } else {
      paths[row].add(at->second.first, at->second.second);
      at->second = {x, end};
    }
  }
  for (const auto& [row, span] : open) paths[row].add(span.first, span.second);
  for (const auto& [row, path] : paths) {
    const draw::Row& place = rows_[row];
    const double thick = std::min(2.5, place.height / 3);
    plot_ += fmt::format("<path class=\"critical-path\" stroke-width=\"{}\" d=\"{}\"/>\n", coordinate(thick),
                         path.at_height(place.y + place.height - thick / 2));
    has_critical_ = true;
  }
}

}  // namespace pipeloom::study::page
