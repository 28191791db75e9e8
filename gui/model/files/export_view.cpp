#include "gui/model/files/export_view.hpp"

#include <algorithm>
#include <cmath>

#include "gui/model/chart/chart_part.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {

std::optional<Span> visible_span(const ViewState& view, Span all) {
  const double first = std::max(view.range.start, static_cast<double>(all.start));
  const double last = std::min(view.range.end, static_cast<double>(all.end));
  const Span span{static_cast<Ticks>(std::floor(first)), static_cast<Ticks>(std::ceil(last))};
  return span.start < span.end ? std::optional(span) : std::nullopt;
}

RankRange visible_ranks(Session& session, const RunModel& run) {
  RankRange out;
  out.shown.assign(static_cast<std::size_t>(run.ranks()), false);
  const ChartLayout& layout = session.part<ChartPart>().layout;
  const ChartBlock* block = layout.block_of(run.id);
  for (int rank = 0; rank < run.ranks(); ++rank) {
    const ChartRow* row = block == nullptr ? nullptr : layout.row_of(run.id, Rank(rank));
    out.shown[static_cast<std::size_t>(rank)] =
        block == nullptr ? !session.view.hidden.contains(rank) : row != nullptr && layout.is_visible(*row);
  }
  const auto first = std::find(out.shown.begin(), out.shown.end(), true);
  if (first == out.shown.end()) return out;
  out.first = static_cast<int>(first - out.shown.begin());
  out.last = static_cast<int>(out.shown.rend() - std::find(out.shown.rbegin(), out.shown.rend(), true));
  return out;
}

InputError nothing_in_view() {
  return {Where{"export"}, "nothing of the run is in view; press Home, or export all"};
}

const RunModel& run_to_export(const Session& session) {
  const RunModel* run = session.active_run();
  if (run == nullptr) throw InputError(Where{"export"}, "nothing is open; there is nothing to export");
  return *run;
}

}  // namespace pipeloom::gui
