#include <fmt/format.h>

#include <algorithm>

#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/plots/gantt_drawer.hpp"

namespace pipeloom::study::page {
namespace {

using tracks::BusyByKind;
using tracks::Mark;

}  // namespace

void GanttDrawer::draw_bars(const RowPlace& row, const std::vector<Mark>& marks) {
  BarOutlines outlines;
  for (const Mark& mark : marks)
    if (mark.merged) add_bar(outlines, row, {mark.start, mark.end}, mark.busy, mark.end - mark.start);
  flush_bars(row, outlines);
}

void GanttDrawer::add_bar(BarOutlines& outlines, const RowPlace& row, Span span, const BusyByKind& busy,
                          Ticks capacity) {
  const std::int64_t x = plot_x(range_, span.start);
  const std::int64_t end = plot_x(range_, span.end);
  const Ticks all = tracks::total(busy);
  if (end <= x || all == 0) return;
  // A short op stays visible in an idle bin, and a short gap in a busy one.
  const double share = static_cast<double>(all) / static_cast<double>(capacity);
  const double least = std::min(1.0, row.height / 3);
  const double height = share >= 1 ? row.height : std::clamp(share * row.height, least, row.height - least);
  const double ground = row.y + row.height;
  double top = ground;
  for (const OpKind kind : kAllOpKinds) {
    const double part = height * static_cast<double>(busy[index_of(kind)]) / static_cast<double>(all);
    if (part <= 0) continue;
    top -= part;
    outlines[index_of(kind)].add(ground, x, end, top);
  }
}

void GanttDrawer::flush_bars(const RowPlace& row, BarOutlines& outlines) {
  const std::string who = row.last == row.first + 1
                              ? fmt::format("rank {}", row.first.value())
                              : fmt::format("ranks {} to {}", row.first.value(), (row.last + -1).value());
  for (std::size_t i = kOpKinds; i-- > 0;) {
    outlines[i].close();
    if (!outlines[i].text().empty())
      plot_ += fmt::format("<path class=\"fill dense {}\" d=\"{}\"><title>{}: {}</title></path>\n",
                           op_class(kAllOpKinds[i], 0, 1), outlines[i].text(), who, words_of(kAllOpKinds[i]));
  }
}

void GanttDrawer::draw_shared_row(const RowPlace& row) {
  const int count = detail_ == Detail::Bins ? bins() : static_cast<int>(kPlotWidth / 2);
  const int ranks = (row.last - row.first.value()).value();
  const tracks::Bins bins{range_, count};
  std::vector<BusyByKind> busy(static_cast<std::size_t>(count));
  for (Rank rank = row.first; rank < row.last; ++rank) index_.add_busy(rank, bins, busy);
  BarOutlines outlines;
  for (int bin = 0; bin < count; ++bin) {
    const Span span = bins.span_of(bin);
    add_bar(outlines, row, span, busy[static_cast<std::size_t>(bin)], span.length() * ranks);
  }
  flush_bars(row, outlines);
}

}  // namespace pipeloom::study::page
