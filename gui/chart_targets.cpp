#include "gui/chart_targets.hpp"

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

std::optional<ItemRect> rect_of(const std::optional<Box>& box) {
  if (!box) return std::nullopt;
  return ItemRect{static_cast<float>(box->x0), static_cast<float>(box->y0), static_cast<float>(box->x1),
                  static_cast<float>(box->y1)};
}

/// The rest of `text` behind `prefix`.
std::optional<std::string_view> behind(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

}  // namespace

std::optional<ItemRect> resolve_target(Ui& ui, std::string_view target) {
  const ChartLayout& layout = ui.session.part<ChartPart>().layout;
  if (const auto letter = behind("legend:", target)) {
    for (const LegendEntry& entry : layout.entries)
      if (letter->size() == 1 && letter->front() == letter_of(entry.kind)) return rect_of(entry.box);
    return std::nullopt;
  }
  const RunModel* const run = ui.session.active_run();
  if (run == nullptr) return std::nullopt;
  if (const auto op = behind("op:", target))
    return rect_of(layout.rect_of(OpRef{run->id, find_op(*run, *op)}));
  if (const auto gap = behind("gap:", target)) return rect_of(layout.rect_of(find_gap(*run, *gap)));
  return std::nullopt;
}

}  // namespace pipeloom::gui
