#include "gui/draw/sweep_map_draw.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "sim/kinds.hpp"
#include "study/plots/sweep_map.hpp"

namespace pipeloom::gui {
namespace {

constexpr int kColours = 8;

struct MapPlot {
  ImVec2 at;
  float width;  ///< of a cell
  float height;
};

/// A cell without a winner: crossed where no point has an answer, a dash where the conditions leave all points out, a frame where there is
/// no point. As in the pages of sweeps.
void draw_empty_cell(const Ui& ui, sweep::CellKind kind, ImVec2 low, ImVec2 high) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = (low.y + high.y) / 2;
  const float quarter = (high.x - low.x) / 4;
  switch (kind) {
    case sweep::CellKind::NoAnswer:
      list->AddRectFilled(low, high, ui.skin.row);
      list->AddLine(low, high, ui.skin.grid);
      list->AddLine(ImVec2(low.x, high.y), ImVec2(high.x, low.y), ui.skin.grid);
      break;
    case sweep::CellKind::NotAsked:
      list->AddLine(ImVec2(low.x + quarter, middle), ImVec2(high.x - quarter, middle), ui.skin.grid);
      break;
    case sweep::CellKind::NoPoint:
      list->AddRect(low, high, ui.skin.grid);
      break;
    case sweep::CellKind::Won:
      break;
  }
}

void draw_map_cell(Ui& ui, const SweepScene& scene, const MapPlot& plot, std::size_t x, std::size_t y) {
  const sweep::WinnerMap& map = *scene.map();
  const sweep::MapCell& cell = map.at(x, y);
  const ImVec2 low{plot.at.x + static_cast<float>(x) * plot.width + 1,
                   plot.at.y + static_cast<float>(map.y.values.size() - 1 - y) * plot.height + 1};
  const ImVec2 high{low.x + plot.width - 2, low.y + plot.height - 2};
  if (ui.items.recording())
    ui.items.add(fmt::format("sweep/cell/{}/{}", x, y), {low.x, low.y, high.x, high.y});
  if (!cell.best) return draw_empty_cell(ui, kind_of(cell), low, high);
  const std::uint32_t first = cell.winners.front();
  const draw::Colour colour =
      draw::series_colour(theme_of(ui.session.preferences), static_cast<int>(first % kColours), kColours);
  ImGui::GetWindowDrawList()->AddRectFilled(low, high, rgba(colour));
  const Rgba ink = rgba(draw::text_on(colour));
  std::string name = map.contenders[first];
  if (cell.winners.size() > 1) name += fmt::format(" +{}", cell.winners.size() - 1);
  const ImVec2 size = small_text_size(ui, name);
  if (size.x <= plot.width - 4 && size.y <= plot.height - 2)
    draw_small_text(ui, ImVec2((low.x + high.x - size.x) / 2, (low.y + high.y - size.y) / 2), ink, name);
}

void draw_map_labels(Ui& ui, const sweep::WinnerMap& map, const MapPlot& plot, float left) {
  const float bottom = plot.at.y + static_cast<float>(map.y.values.size()) * plot.height;
  float free_from = 0;
  for (std::size_t x = 0; x < map.x.values.size(); ++x) {
    const float width = small_text_size(ui, map.x.values[x]).x;
    const float at = plot.at.x + (static_cast<float>(x) + 0.5F) * plot.width - width / 2;
    if (at < free_from) continue;
    draw_small_text(ui, ImVec2(at, bottom + 2), ui.skin.muted, map.x.values[x]);
    free_from = at + width + 8;
  }
  for (std::size_t y = 0; y < map.y.values.size(); ++y) {
    const ImVec2 size = small_text_size(ui, map.y.values[y]);
    const float at =
        plot.at.y + (static_cast<float>(map.y.values.size() - y) - 0.5F) * plot.height - size.y / 2;
    draw_small_text(ui, ImVec2(plot.at.x - size.x - 5, at), ui.skin.muted, map.y.values[y]);
  }
  draw_small_text(ui, ImVec2(plot.at.x - left, plot.at.y - ImGui::GetTextLineHeight() - 2), ui.skin.text,
                  map.y.key);
  draw_small_text(ui, ImVec2(plot.at.x, bottom + ImGui::GetTextLineHeight() + 2), ui.skin.text, map.x.key);
}

/// The text of a map's cell, for the pointer.
std::string cell_text(const SweepScene& scene, std::size_t x, std::size_t y) {
  const sweep::WinnerMap& map = *scene.map();
  const sweep::MapCell& cell = map.at(x, y);
  if (!cell.best) return study::page::words_of(map, kind_of(cell));
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(cell.winners.size(), 8); ++i)
    out += (i == 0 ? "" : ", ") + map.contenders[cell.winners[i]];
  return fmt::format("{}, best of {} points\n{}", out, cell.points, scene.point_text(*cell.best));
}

}  // namespace

void draw_small_text(const Ui& ui, ImVec2 at, Rgba colour, const std::string& text) {
  put_text(*ImGui::GetWindowDrawList(), ui.skin.small == nullptr ? ImGui::GetFont() : ui.skin.small, at,
           colour, text);
}

ImVec2 small_text_size(const Ui& ui, const std::string& text) {
  if (ui.skin.small == nullptr) return ImGui::CalcTextSize(text.c_str());
  return ui.skin.small->CalcTextSizeA(ui.skin.small->FontSize, 1e6F, 0, text.c_str());
}

void draw_winner_map(Ui& ui, SweepModel& model, const SweepScene& scene) {
  const sweep::WinnerMap& map = *scene.map();
  float left = 20 * ui.skin.scale;
  for (const std::string& value : map.y.values) left = std::max(left, small_text_size(ui, value).x + 8);
  const float line = ImGui::GetTextLineHeight();
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const MapPlot plot{{start.x + left, start.y + line + 2},
                     std::max((room.x - left - 4) / static_cast<float>(map.x.values.size()), 4.0F),
                     std::max((room.y - 3 * line - 12) / static_cast<float>(map.y.values.size()), 4.0F)};
  ImGui::SetCursorScreenPos(plot.at);
  ImGui::InvisibleButton("map", ImVec2(plot.width * static_cast<float>(map.x.values.size()),
                                       plot.height * static_cast<float>(map.y.values.size())));
  note_item(ui, "sweep/map_plot");
  const bool hovered = ImGui::IsItemHovered();
  for (std::size_t y = 0; y < map.y.values.size(); ++y)
    for (std::size_t x = 0; x < map.x.values.size(); ++x) draw_map_cell(ui, scene, plot, x, y);
  draw_map_labels(ui, map, plot, left);
  model.hover(std::nullopt);
  if (!hovered) return;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto x = std::min(static_cast<std::size_t>(std::max((mouse.x - plot.at.x) / plot.width, 0.0F)),
                          map.x.values.size() - 1);
  const auto from_top = std::min(
      static_cast<std::size_t>(std::max((mouse.y - plot.at.y) / plot.height, 0.0F)), map.y.values.size() - 1);
  const std::size_t y = map.y.values.size() - 1 - from_top;
  const auto best = scene.best_of_cell(x, y);
  model.hover(best);
  const ImVec2 cell(plot.at.x + static_cast<float>(x) * plot.width,
                    plot.at.y + static_cast<float>(from_top) * plot.height);
  explain_place(cell, ImVec2(cell.x + plot.width, cell.y + plot.height),
                cell_text(scene, x, y) + (best ? "\nClick: open it as a run" : ""));
  if (best && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) model.open_row(ui.session, *best);
}

}  // namespace pipeloom::gui
