// All ops of the active run, or those that the search found: a virtual table. Only the rows in sight are read and drawn, and they are
// counted in whole rows.

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "gui/model/chart/select.hpp"
#include "gui/model/commands/context_menu.hpp"
#include "gui/model/panels/ops_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kBarWidth = 14;
constexpr double kRowsPerWheel = 3;
/// Tables of more rows are not searched for the selected op while they are sorted: that is no work for a frame.
constexpr std::size_t kMaxFollowed = 1'000'000;
/// Runs of no more ops show slack without being asked: it takes a few milliseconds of a job.
constexpr std::size_t kSlackUnasked = 20'000;

void draw_tools(Ui& ui, const OpsTable& table) {
  const std::size_t all = table.run()->timeline.start.size();
  std::string text = std::to_string(table.num_rows()) +
                     (table.num_rows() == all ? "" : " of " + std::to_string(all)) + " ops";
  if (table.sorting()) text += ", sorting";
  if (small_button(ui, "ops/copy", "Copy",
                   "Copies these rows as text with tabs; copy-ops csv in the palette takes commas"))
    run_command(ui.session, "copy-ops", "tsv");
  ImGui::SameLine();
  text_item(text);
}

void draw_head(Ui& ui, OpsTable& table, OpColumn column) {
  ImGui::TableNextColumn();
  const std::string name(column == OpColumn::Microbatch ? "mb" : name_of(column));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string id = "ops/head/" + std::string(name_of(column));
  if (selectable(ui, id, name.c_str(), false)) table.sort_by(column);
  if (table.sorted_by() != column) return;
  const float x = at.x + ImGui::CalcTextSize(name.c_str()).x + ImGui::GetStyle().ItemInnerSpacing.x;
  draw_icon(table.descending() ? Icon::Down : Icon::Up,
            ImVec2(x + icon_width() / 2, at.y + ImGui::GetTextLineHeight() / 2), ui.skin.text);
}

void cell(const char* text) {
  ImGui::TableNextColumn();
  text_item(text);
}

void time_cell(Ticks ticks, TimeUnit unit) {
  std::array<char, kMaxTicksText + 1> text{};
  write_ticks(text.data(), ticks, unit);
  cell(text.data());
}

void number_cell(int value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%d", value);
  cell(text.data());
}

void draw_row(Ui& ui, OpsTable& table, std::size_t i) {
  const OpRow row = table.row(i);
  const RunPtr& run = table.run();
  const TimeUnit unit = run->timeline.unit;
  const OpRef ref{run->id, row.position};
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  std::array<char, 32> rank{};
  if (run->timeline.steps > 1)
    std::snprintf(rank.data(), rank.size(), "%d, step %d", row.rank.value(), row.step);
  else
    std::snprintf(rank.data(), rank.size(), "%d", row.rank.value());
  std::array<char, 32> id{};
  std::snprintf(id.data(), id.size(), "ops/row/%zu", i);
  const bool selected = ui.session.selection.op == ref;
  if (selectable(ui, id.data(), rank.data(), selected, true)) {
    select_from_list(ui.session, ref);
    table.followed = ref;
  }
  if (ImGui::IsItemClicked(ImGuiMouseButton_Right)) {
    ui.session.part<ContextMenu>().open_op(ui.session, ref);
    table.followed = ref;
  }
  std::array<char, kMaxOpText + 1> op{};
  write_op(op.data(), row.op);
  cell(op.data());
  const std::array<char, 2> kind{letter_of(row.op.kind()), '\0'};
  cell(kind.data());
  number_cell(row.op.stage().value());
  number_cell(row.op.microbatch().value());
  time_cell(row.start, unit);
  time_cell(row.end - row.start, unit);
  ImGui::TableNextColumn();
  if (row.slack) text_item(format_ticks(*row.slack, unit));
}

/// Scrolls to the row of a selection that has moved, from anywhere.
void follow_selection(Ui& ui, OpsTable& table, std::size_t visible) {
  const auto& selected = ui.session.selection.op;
  if (selected == table.followed) return;
  table.followed = selected;
  if (!selected || selected->run != table.run()->id) return;
  if (table.sorted_by() && table.num_rows() > kMaxFollowed) return;
  const auto row = table.find_row(selected->op);
  if (row && (*row < table.top || *row >= table.top + visible))
    table.top = *row - std::min(*row, visible / 2);
}

/// A scroll bar whose handle is the rows in sight; draws nothing while all are.
void draw_bar(Ui& ui, OpsTable& table, std::size_t visible, float height) {
  const float width = kBarWidth * ui.skin.scale;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("bar", ImVec2(width, std::max(height, 1.0F)));
  note_item(ui, "ops/bar");
  const std::size_t rows = table.num_rows();
  if (rows <= visible) return;
  const double most = static_cast<double>(rows - visible);
  const double least = 16.0 * static_cast<double>(ui.skin.scale);
  const double h = static_cast<double>(height);
  const double handle =
      std::min(h, std::max(least, h * static_cast<double>(visible) / static_cast<double>(rows)));
  if (ImGui::IsItemActive() && h > handle) {
    const double y = static_cast<double>(ImGui::GetIO().MousePos.y - at.y) - handle / 2;
    table.top = static_cast<std::size_t>(std::llround(std::clamp(y / (h - handle), 0.0, 1.0) * most));
  }
  const auto y = static_cast<float>(static_cast<double>(table.top) / most * (h - handle));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, ImVec2(at.x + width, at.y + height), with_alpha(ui.skin.grid, 90));
  list->AddRectFilled(ImVec2(at.x + 2, at.y + y),
                      ImVec2(at.x + width - 2, at.y + y + static_cast<float>(handle)),
                      ImGui::IsItemHovered() || ImGui::IsItemActive() ? ui.skin.accent : ui.skin.muted, 4);
}

void take_wheel(OpsTable& table) {
  const float wheel = ImGui::GetIO().MouseWheel;
  if (wheel == 0 || !ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows)) return;
  const auto rows = static_cast<std::size_t>(std::ceil(std::abs(static_cast<double>(wheel)) * kRowsPerWheel));
  table.top = wheel > 0 ? table.top - std::min(table.top, rows) : table.top + rows;
}

void draw_table(Ui& ui, OpsTable& table, std::size_t visible) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable |
                                     ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_SizingStretchProp |
                                     ImGuiTableFlags_NoPadOuterX;
  const float width = std::max(ImGui::GetContentRegionAvail().x - (kBarWidth + 4) * ui.skin.scale, 1.0F);
  if (!ImGui::BeginTable("ops", static_cast<int>(std::size(kAllOpColumns)), kFlags, ImVec2(width, 0))) return;
  for (const OpColumn column : kAllOpColumns)
    ImGui::TableSetupColumn(std::string(name_of(column)).c_str(), ImGuiTableColumnFlags_WidthStretch,
                            column == OpColumn::Start || column == OpColumn::Duration ? 1.8F : 1.0F);
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (const OpColumn column : kAllOpColumns) draw_head(ui, table, column);
  for (std::size_t i = table.top; i < std::min(table.top + visible, table.num_rows()); ++i)
    draw_row(ui, table, i);
  ImGui::EndTable();
}

}  // namespace

void ops(Ui& ui) {
  auto& table = ui.session.part<OpsTable>();
  if (!table.run()) return muted_text(ui, "Nothing is open.");
  if (table.run()->timeline.start.size() <= kSlackUnasked) table.want_slack();
  draw_tools(ui, table);
  const float row_height = ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y;
  const float height = std::max(ImGui::GetContentRegionAvail().y, row_height);
  // One row is the heading's.
  const auto visible = static_cast<std::size_t>(std::max(height / row_height - 1.3F, 1.0F));
  take_wheel(table);
  follow_selection(ui, table, visible);
  table.top = std::min(table.top, table.num_rows() - std::min(table.num_rows(), visible));
  draw_table(ui, table, visible);
  ImGui::SameLine();
  draw_bar(ui, table, visible, std::max(height - ImGui::GetStyle().ItemSpacing.y, 1.0F));
}

}  // namespace pipeloom::gui::views
