#include <fmt/format.h>

#include "sim/draw/words.hpp"
#include "sim/kinds.hpp"
#include "study/document/html.hpp"
#include "study/plots/gantt_drawer.hpp"

namespace pipeloom::study::page {
namespace {

using tracks::BusyByKind;
using tracks::Mark;

}  // namespace

void GanttDrawer::draw_bars(const draw::Row& row, const std::vector<Mark>& marks) {
  BarOutlines outlines;
  for (const Mark& mark : marks)
    if (mark.merged) add_bar(outlines, row, {mark.start, mark.end}, mark.busy, mark.end - mark.start);
  flush_bars(row, outlines);
}

void GanttDrawer::add_bar(BarOutlines& outlines, const draw::Row& row, Span span, const BusyByKind& busy,
                          Ticks capacity) {
  const std::int64_t x = plot_x(range_, span.start);
  const std::int64_t end = plot_x(range_, span.end);
  const Ticks all = tracks::total(busy);
  if (end <= x || all == 0) return;
  const double height =
      draw::bar_height(static_cast<double>(all) / static_cast<double>(capacity), row.height);
  const double ground = row.y + row.height;
  double top = ground;
  for (const OpKind kind : kAllOpKinds) {
    const double part = height * static_cast<double>(busy[index_of(kind)]) / static_cast<double>(all);
    if (part <= 0) continue;
    top -= part;
    outlines[index_of(kind)].add(ground, x, end, top);
  }
}

void GanttDrawer::flush_bars(const draw::Row& row, BarOutlines& outlines) {
  const std::string who = row.is_shared()
                              ? fmt::format("ranks {} to {}", row.first.value(), (row.last + -1).value())
                              : draw::rank_label(row.first);
  for (std::size_t i = kOpKinds; i-- > 0;) {
    outlines[i].close();
    if (!outlines[i].text().empty())
      plot_ += fmt::format("<path class=\"fill dense {}\" d=\"{}\"><title>{}: {}</title></path>\n",
                           op_class(kAllOpKinds[i], 0, 1), outlines[i].text(), who, words_of(kAllOpKinds[i]));
  }
}

void GanttDrawer::draw_shared_row(const draw::Row& row) {
  const int count = detail_ == Detail::Bins ? bins() : static_cast<int>(kPlotWidth / 2);
  const tracks::Bins bins{range_, count};
  const std::vector<BusyByKind> busy = draw::busy_of_row(index_, row, bins);
  BarOutlines outlines;
  for (int bin = 0; bin < count; ++bin) {
    const Span span = bins.span_of(bin);
    add_bar(outlines, row, span, busy[static_cast<std::size_t>(bin)], span.length() * row.ranks());
  }
  flush_bars(row, outlines);
}

}  // namespace pipeloom::study::page
