// Every registered schedule at the shape and costs under edit; a click takes it, a tick stacks it for comparison.

#include <fmt/format.h>
#include <imgui.h>

#include "gui/model/command.hpp"
#include "gui/model/schedule_table.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

using Column = ScheduleTable::Column;

void draw_heads() {
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("+", ImGuiTableColumnFlags_NoSort | ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("Schedule", ImGuiTableColumnFlags_DefaultSort | ImGuiTableColumnFlags_WidthStretch,
                          3.2F);
  ImGui::TableSetupColumn("Makespan", ImGuiTableColumnFlags_WidthStretch, 2.2F);
  ImGui::TableSetupColumn("Bubble", ImGuiTableColumnFlags_WidthStretch, 1.8F);
  ImGui::TableSetupColumn("Peak", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableSetupColumn("Gap", ImGuiTableColumnFlags_WidthStretch, 1.6F);
  ImGui::TableHeadersRow();
}

void take_sorting(ScheduleTable& table) {
  ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || !specs->SpecsDirty || specs->SpecsCount == 0) return;
  const auto column = static_cast<Column>(std::max(static_cast<int>(specs->Specs[0].ColumnIndex) - 1, 0));
  table.sort_by(column, specs->Specs[0].SortDirection == ImGuiSortDirection_Descending);
  specs->SpecsDirty = false;
}

void draw_numbers(const ScheduleRow& row, TimeUnit unit) {
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(fmt::format("{:.4g}", to_double(row.makespan, unit)).c_str());
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(fmt::format("{:.1f}%", 100 * row.bubble_ratio).c_str());
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(fmt::format("{:.3g}", row.peak_bytes).c_str());
  ImGui::TableNextColumn();
  ImGui::TextUnformatted(fmt::format("{:.1f}%", 100 * row.gap).c_str());
}

void draw_row(Ui& ui, ScheduleTable& table, const ScheduleRow& row, const std::string& current,
              TimeUnit unit) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  bool ticked = table.ticked(row.name);
  ImGui::BeginDisabled(!row.refusal.empty() && !ticked);
  if (checkbox(ui, "schedules/tick/" + row.name, "", ticked, "Stack it below the run for comparison"))
    table.tick(ui.session, row.name, ticked);
  ImGui::EndDisabled();
  ImGui::TableNextColumn();
  if (!row.refusal.empty())
    ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyleColorVec4(ImGuiCol_TextDisabled));
  if (selectable(ui, "schedules/row/" + row.name, row.name.c_str(), row.name == current, false))
    run_command(ui.session, "set", "schedule " + row.name);
  if (!row.refusal.empty()) ImGui::PopStyleColor();
  explain(row.refusal);
  if (row.refusal.empty()) draw_numbers(row, unit);
}

}  // namespace

void schedules(Ui& ui) {
  auto& table = ui.session.part<ScheduleTable>();
  const RunModel* run = ui.session.active_run();
  const TimeUnit unit = run == nullptr ? TimeUnit::Unit : run->timeline.unit;
  const std::string current = ui.session.part<ConfigModel>().value("schedule");
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_NoSavedSettings;
  if (!ImGui::BeginTable("table", 6, kFlags)) return;
  draw_heads();
  take_sorting(table);
  // A tick or a click may change the rows of the next frame, not of this one.
  const std::vector<ScheduleRow>& rows = table.rows();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_row(ui, table, rows[static_cast<std::size_t>(i)], current, unit);
  ImGui::EndTable();
}

}  // namespace pipeloom::gui::views
