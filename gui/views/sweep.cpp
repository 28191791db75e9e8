// The result of a sweep: one metric against another with the Pareto front, or the map of winners. A click opens a point as a run.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/draw/sweep_map_draw.hpp"
#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/panels/sweep_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/base/text_tools.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr int kColours = 8;
constexpr std::size_t kLegendEntries = 16;
constexpr float kWhereShare = 0.42F;

/// A plot on screen; places are shares of it, from the left and from the bottom.
struct Plot {
  ImVec2 at;
  ImVec2 size;
  [[nodiscard]] ImVec2 point(double x, double y) const {
    return {at.x + static_cast<float>(x) * size.x, at.y + static_cast<float>(1 - y) * size.y};
  }
};

Rgba series_fill(const Ui& ui, std::size_t series, unsigned alpha = 255) {
  const auto theme = theme_of(ui.session.preferences);
  return rgba(draw::series_colour(theme, static_cast<int>(series % kColours), kColours), alpha);
}

/// Colour and shape together repeat after 24 series only.
void draw_mark(const Ui& ui, ImVec2 at, float r, std::size_t series, unsigned alpha) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rgba fill = series_fill(ui, series, alpha);
  switch ((series + series / kColours) % 3) {
    case 0:
      return list->AddCircleFilled(at, r, fill, 10);
    case 1:
      return list->AddRectFilled(ImVec2(at.x - r * 0.9F, at.y - r * 0.9F),
                                 ImVec2(at.x + r * 0.9F, at.y + r * 0.9F), fill);
    default:
      return list->AddTriangleFilled(ImVec2(at.x, at.y - r * 1.2F), ImVec2(at.x + r * 1.1F, at.y + r),
                                     ImVec2(at.x - r * 1.1F, at.y + r), fill);
  }
}

// The choices ------------------------------------------------------------------------------------------------------------------

/// A choice among names that runs a command with the one taken.
void draw_choice(Ui& ui, const char* id, const char* label, const std::vector<std::string>& names,
                 const std::string& now, const char* command) {
  ImGui::AlignTextToFramePadding();
  muted_text(ui, label);
  ImGui::SameLine();
  int chosen = static_cast<int>(std::find(names.begin(), names.end(), now) - names.begin());
  ImGui::SetNextItemWidth(choice_width(ui, names));
  if (choice(ui, id, names, chosen))
    run_command(ui.session, command, names[static_cast<std::size_t>(chosen)]);
  ImGui::SameLine();
}

std::vector<std::string> varying(const sweep::ResultTable& table) {
  std::vector<std::string> out = varying_keys(table);
  if (out.empty())
    for (const auto& key : table.keys()) out.push_back(key.name);
  return out;
}

void draw_controls(Ui& ui, SweepModel& model, const SweepScene& scene) {
  bool map = model.shows_map();
  if (scene.map() &&
      checkbox(ui, "sweep/map", "Best schedule by ..", map, "Who is best where, instead of all points"))
    run_command(ui.session, "toggle-sweep-map");
  if (scene.map()) ImGui::SameLine();
  const SweepQuestion& question = scene.question();
  const std::vector<std::string> keys = varying(scene.table());
  if (map && scene.map()) {
    draw_choice(ui, "sweep/map_x", "X axis", keys, question.map_x, "sweep-map-x");
    draw_choice(ui, "sweep/map_y", "Y axis", keys, question.map_y, "sweep-map-y");
    draw_choice(ui, "sweep/winner", "which", keys, question.winner, "sweep-winner");
  } else {
    const std::vector<std::string> names = axis_names(scene.table());
    draw_choice(ui, "sweep/y", "Y axis", names, question.y, "sweep-y");
    draw_choice(ui, "sweep/x", "X axis", names, question.x, "sweep-x");
    draw_choice(ui, "sweep/colour", "colour", keys, question.colour, "sweep-colour");
  }
  ImGui::NewLine();
  std::string where = question.where;
  ImGui::SetNextItemWidth(std::max(ImGui::GetContentRegionAvail().x * kWhereShare, 120 * ui.skin.scale));
  if (text_field(ui, "sweep/where", where, "where: ranks <= 8 && peak_bytes < 60e9",
                 "Only points for which this holds; keys and metrics, + - * / %, == < && || !"))
    run_command(ui.session, "sweep-where", where);
}

/// The winner in words, before all numbers.
void draw_winner(Ui& ui, const SweepScene& scene) {
  const std::string winner = scene.winner_text();
  if (winner.empty()) return;
  ImGui::PushFont(ui.skin.strong);
  wrapped_text("Best: " + winner);
  ImGui::PopFont();
  note_item(ui, "sweep/best");
}

void draw_headline(const SweepModel& model, const SweepScene& scene) {
  const sweep::ResultTable& table = scene.table();
  std::string text =
      fmt::format("{} of {} points", study::count_text(scene.shown()), study::count_text(table.rows()));
  const std::size_t refused = table.rows() - table.status_counts()[0];
  if (refused > 0) text += fmt::format(", {} without an answer", study::count_text(refused));
  if (scene.front_size() > 0)
    text += fmt::format(", {} on the Pareto front", study::count_text(scene.front_size()));
  ImGui::SameLine();
  text_item(text);
  explain(model.file());
}

// The scatter ------------------------------------------------------------------------------------------------------------------

void draw_legend(Ui& ui, const SweepScene& scene) {
  const float height = ImGui::GetTextLineHeight();
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  ImVec2 at = ImGui::GetCursorScreenPos();
  for (std::size_t i = 0; i < std::min(scene.series().size(), kLegendEntries); ++i) {
    const std::string name = shortened(scene.series()[i], 40);
    const float width = small_text_size(ui, name).x + 26 * ui.skin.scale;
    if (at.x + width > right) break;
    draw_mark(ui, ImVec2(at.x + 6 * ui.skin.scale, at.y + height / 2), 4 * ui.skin.scale, i, 255);
    draw_small_text(ui, ImVec2(at.x + 15 * ui.skin.scale, at.y), ui.skin.text, name);
    ui.items.add("sweep/legend/" + name, {at.x, at.y, at.x + width, at.y + height});
    at.x += width;
  }
  ImGui::Dummy(ImVec2(1, height));
}

void draw_axes(Ui& ui, const SweepScene& scene, const Plot& plot) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(plot.at, ImVec2(plot.at.x + plot.size.x, plot.at.y + plot.size.y), ui.skin.background);
  const auto across = static_cast<std::size_t>(std::max(plot.size.x / (110 * ui.skin.scale), 3.0F));
  for (const sweep::AxisMark& mark : scene.x_scale().marks(across)) {
    const ImVec2 at = plot.point(scene.x_scale().place(mark.value), 0);
    list->AddLine(ImVec2(at.x, plot.at.y), at, ui.skin.grid);
    draw_small_text(ui, ImVec2(at.x - small_text_size(ui, mark.text).x / 2, at.y + 2), ui.skin.muted,
                    mark.text);
  }
  const auto up = static_cast<std::size_t>(std::max(plot.size.y / (28 * ui.skin.scale), 3.0F));
  for (const sweep::AxisMark& mark : scene.y_scale().marks(up)) {
    const ImVec2 at = plot.point(0, scene.y_scale().place(mark.value));
    const ImVec2 size = small_text_size(ui, mark.text);
    list->AddLine(at, ImVec2(plot.at.x + plot.size.x, at.y), ui.skin.grid);
    draw_small_text(ui, ImVec2(at.x - size.x - 5, at.y - size.y / 2), ui.skin.muted, mark.text);
  }
}

void draw_cells(Ui& ui, const SweepScene& scene, const Plot& plot) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const SweepCell& cell : scene.cells()) {
    const ImVec2 low = plot.point(static_cast<double>(cell.column) / SweepScene::kColumns,
                                  static_cast<double>(cell.line) / SweepScene::kLines);
    const ImVec2 high = plot.point(static_cast<double>(cell.column + 1) / SweepScene::kColumns,
                                   static_cast<double>(cell.line + 1) / SweepScene::kLines);
    const Rgba fill = cell.series == SweepCell::kMixed ? with_alpha(ui.skin.muted, cell.shade)
                                                       : series_fill(ui, cell.series, cell.shade);
    list->AddRectFilled(ImVec2(low.x, high.y), ImVec2(high.x, low.y), fill);
  }
}

void draw_front(Ui& ui, const SweepScene& scene, const Plot& plot) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  ImVec2 before{};
  for (std::size_t i = 0; i < scene.front().size(); ++i) {
    const SweepDot& dot = scene.front()[i];
    const ImVec2 at = plot.point(static_cast<double>(dot.x), static_cast<double>(dot.y));
    if (i > 0) {
      list->AddLine(before, ImVec2(before.x, at.y), ui.skin.text);
      list->AddLine(ImVec2(before.x, at.y), at, ui.skin.text);
    }
    before = at;
  }
  const float r = 5 * ui.skin.scale;
  for (std::size_t i = 0; i < scene.front().size(); ++i) {
    const SweepDot& dot = scene.front()[i];
    const ImVec2 at = plot.point(static_cast<double>(dot.x), static_cast<double>(dot.y));
    draw_mark(ui, at, r, dot.series, 255);
    list->AddCircle(at, r + 2 * ui.skin.scale, ui.skin.text, 14);
    if (ui.items.recording())
      ui.items.add("sweep/front/" + std::to_string(i), {at.x - r, at.y - r, at.x + r, at.y + r});
  }
}

void draw_marked(Ui& ui, const SweepScene& scene, const Plot& plot, std::optional<sweep::Row> row) {
  if (!row) return;
  const SweepDot dot = scene.dot(*row);
  if (!std::isfinite(dot.x) || !std::isfinite(dot.y)) return;
  const ImVec2 at = plot.point(static_cast<double>(dot.x), static_cast<double>(dot.y));
  ImGui::GetWindowDrawList()->AddCircle(at, 9 * ui.skin.scale, ui.skin.accent, 18, 2 * ui.skin.scale);
}

/// Resting on a point shows its values, a click opens it.
void take_pointer(SweepModel& model, Ui& ui, const Plot& plot, std::optional<sweep::Row> row) {
  model.hover(row);
  if (!row) return;
  const SweepDot dot = model.scene()->dot(*row);
  const ImVec2 at = plot.point(static_cast<double>(dot.x), static_cast<double>(dot.y));
  const float r = 9 * ui.skin.scale;
  explain_place(ImVec2(at.x - r, at.y - r), ImVec2(at.x + r, at.y + r),
                model.scene()->point_text(*row) + "\nClick: open it as a run");
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Left)) model.open_row(ui.session, *row);
}

void draw_scatter(Ui& ui, SweepModel& model, const SweepScene& scene) {
  draw_legend(ui, scene);
  const float left = 74 * ui.skin.scale;
  const float below = 2 * ImGui::GetTextLineHeight() + 4;
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const Plot plot{{start.x + left, start.y + ImGui::GetTextLineHeight()},
                  {std::max(room.x - left - 8, 20.0F),
                   std::max(room.y - below - ImGui::GetTextLineHeight() - 4, 40 * ui.skin.scale)}};
  const std::string unit = scene.table().units().time;
  draw_small_text(ui, start, ui.skin.text, sweep::metric_title(scene.question().y, unit));
  ImGui::SetCursorScreenPos(plot.at);
  ImGui::InvisibleButton("plot", plot.size);
  note_item(ui, "sweep/plot");
  const bool hovered = ImGui::IsItemHovered();
  draw_axes(ui, scene, plot);
  for (const SweepDot& dot : scene.dots())
    draw_mark(ui, plot.point(static_cast<double>(dot.x), static_cast<double>(dot.y)), 3.5F * ui.skin.scale,
              dot.series, 150);
  draw_cells(ui, scene, plot);
  draw_front(ui, scene, plot);
  draw_marked(ui, scene, plot, model.opened());
  draw_marked(ui, scene, plot, model.hovered());
  const std::string x_title = sweep::metric_title(scene.question().x, unit);
  draw_small_text(ui,
                  ImVec2(plot.at.x + plot.size.x - small_text_size(ui, x_title).x,
                         plot.at.y + plot.size.y + ImGui::GetTextLineHeight()),
                  ui.skin.text, x_title);
  if (!hovered) return model.hover(std::nullopt);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const double reach = 9 * static_cast<double>(ui.skin.scale);
  take_pointer(model, ui, plot,
               scene.hit(static_cast<double>((mouse.x - plot.at.x) / plot.size.x),
                         static_cast<double>(1 - (mouse.y - plot.at.y) / plot.size.y),
                         reach / static_cast<double>(plot.size.x), reach / static_cast<double>(plot.size.y)));
}

}  // namespace

void sweep(Ui& ui) {
  auto& model = ui.session.part<SweepModel>();
  const SweepScene* scene = model.scene();
  if (scene == nullptr)
    return muted_text(ui, model.file().empty() ? "Open the result of `pipeloom sweep`." : "Reading.");
  draw_winner(ui, *scene);
  draw_controls(ui, model, *scene);
  draw_headline(model, *scene);
  if (model.shows_map() && scene->map())
    draw_winner_map(ui, model, *scene);
  else
    draw_scatter(ui, model, *scene);
}

}  // namespace pipeloom::gui::views
