#include "gui/model/chart/rank_drop.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace pipeloom::gui {

std::optional<RankDrop> drop_of(const ViewState& view, const ChartLayout& layout, const Hit& held, double y) {
  if (!held.rank || !held.block || *held.block >= layout.blocks.size()) return std::nullopt;
  const ChartBlock& block = layout.blocks[*held.block];
  const ChartRow* const own = layout.row_of(block.run->id, *held.rank);
  if (own == nullptr || own->pinned) return std::nullopt;
  const std::span<const ChartRow> rows{layout.rows.data() + block.first_row,
                                       block.last_row - block.first_row};
  // On the middle of a row the rank takes that row's place, whether it comes from below or from above.
  const auto below = std::partition_point(rows.begin(), rows.end(), [&](const ChartRow& row) {
    const double middle = row.all.y + row.all.height / 2;
    return &row < own ? middle < y : middle <= y;
  });
  const auto at = below - rows.begin();
  const auto from = own - rows.data();
  if (at == from || at == from + 1) return std::nullopt;
  RankDrop out{.rank = held.rank->value(), .ranks = block.run->ranks()};
  std::vector<int> others = view.order.of(out.ranks);
  std::erase(others, out.rank);
  const bool last = below == rows.end();
  const int beside = (last ? rows.back() : *below).rank.value();
  out.place = static_cast<int>(std::ranges::find(others, beside) - others.begin()) + (last ? 1 : 0);
  out.y = std::clamp(last ? rows.back().all.bottom() : below->all.y, layout.body.y, layout.plot.y1);
  return out;
}

}  // namespace pipeloom::gui
