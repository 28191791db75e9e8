// Every registered schedule at the shape and costs under edit; a click takes it, a tick stacks it for comparison.

#include <fmt/format.h>
#include <imgui.h>

#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

using Column = ScheduleTable::Column;

struct Head {
  const char* label;
  float share;
  const char* help;
};

constexpr Head kHeads[] = {
    {"Schedule", 3.4F,
     "At the ranks, microbatches and costs of the parameters; its own chunks where it does not take the "
     "given "
     "ones.\n"
     "A click takes it."},
    {"Makespan", 2.2F,
     "Time of a step, or of one update of a run without flushes. Every schedule runs the same model: costs "
     "per stage are turned into costs per rank, "
     "which "
     "schedules of several chunks divide among them."},
    {"Bubble", 1.8F, "Share of the step in which ranks are idle"},
    {"Peak", 1.6F,
     "Most activation bytes of any rank, as if each rank held the same layers whatever its chunks; where no "
     "bytes are given, activations of a stage of the parameters"},
    {"Gap", 1.6F, "Makespan over its lower bound, less one"}};

void draw_heads(Ui& ui) {
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("+", ImGuiTableColumnFlags_NoSort | ImGuiTableColumnFlags_WidthFixed,
                          ImGui::GetFrameHeight());
  for (const Head& head : kHeads)
    ImGui::TableSetupColumn(
        head.label,
        ImGuiTableColumnFlags_WidthStretch | (&head == kHeads ? ImGuiTableColumnFlags_DefaultSort : 0),
        head.share);
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  ImGui::TableSetColumnIndex(0);
  ImGui::TableHeader("+");
  for (const Head& head : kHeads) {
    ImGui::TableNextColumn();
    ImGui::TableHeader(head.label);
    note_item(ui, std::string("schedules/head/") + head.label);
    explain(head.help);
  }
}

void take_sorting(ScheduleTable& table) {
  ImGuiTableSortSpecs* specs = ImGui::TableGetSortSpecs();
  if (specs == nullptr || !specs->SpecsDirty || specs->SpecsCount == 0) return;
  const auto column = static_cast<Column>(std::max(static_cast<int>(specs->Specs[0].ColumnIndex) - 1, 0));
  table.sort_by(column, specs->Specs[0].SortDirection == ImGuiSortDirection_Descending);
  specs->SpecsDirty = false;
}

/// Grey and in doubt where they are of the configuration before.
void draw_numbers(const ScheduleRow& row) {
  const auto draw = [&row](const std::string& number) {
    ImGui::TableNextColumn();
    if (row.stale)
      ImGui::TextDisabled("%s ?", number.c_str());
    else
      ImGui::TextUnformatted(number.c_str());
  };
  draw(fmt::format("{:.4g}", to_double(row.makespan, row.unit) / row.updates));
  draw(fmt::format("{:.1f}%", 100 * row.bubble_ratio));
  draw(row.peak_text);
  explain(row.peak_note);
  draw(fmt::format("{:.1f}%", 100 * row.gap));
}

void draw_row(Ui& ui, ScheduleTable& table, const ScheduleRow& row, const std::string& current) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  bool ticked = table.ticked(row.name);
  ImGui::BeginDisabled(!row.refusal.empty() && !ticked);
  if (checkbox(ui, "schedules/tick/" + row.name, "", ticked, "Stack it below the run for comparison"))
    table.tick(ui.session, row.name, ticked);
  ImGui::EndDisabled();
  ImGui::TableNextColumn();
  const bool grey = !row.refusal.empty() || row.stale;
  if (grey) ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyleColorVec4(ImGuiCol_TextDisabled));
  const std::string label = row.chunks == 1 ? row.name : fmt::format("{} v={}", row.name, row.chunks);
  if (selectable(ui, "schedules/row/" + row.name, label.c_str(), row.name == current, false))
    run_command(ui.session, "take-schedule", row.name);
  if (grey) ImGui::PopStyleColor();
  explain(row.stale ? "Of the parameters before; this row is being computed" : row.refusal);
  if (row.refusal.empty()) draw_numbers(row);
}

}  // namespace

void schedules(Ui& ui) {
  auto& table = ui.session.part<ScheduleTable>();
  const std::string current = ui.session.part<ConfigModel>().value("schedule");
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_NoSavedSettings;
  if (!ImGui::BeginTable("table", 6, kFlags)) return;
  draw_heads(ui);
  take_sorting(table);
  // A tick or a click may change the rows of the next frame, not of this one.
  const std::vector<ScheduleRow>& rows = table.rows();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_row(ui, table, rows[static_cast<std::size_t>(i)], current);
  ImGui::EndTable();
}

}  // namespace pipeloom::gui::views
