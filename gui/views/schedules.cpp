// Every registered schedule at the shape and costs under edit; a click takes it, a tick stacks it for comparison.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui::views {
namespace {

using Column = ScheduleTable::Column;

struct Head {
  const char* label;
  float share;
  const char* help;
};

constexpr Head kHeads[] = {
    {"Schedule", 3,
     "At the ranks, microbatches and costs of the parameters; its own chunks where it does not take the "
     "given ones.\nA click takes it."},
    {"Makespan", 2,
     "Time of a step, or of one update of a run without flushes. Every schedule runs the same model: costs "
     "per stage are turned into costs per rank, which schedules of several chunks divide among them."},
    {"Bubble", 2.4F, "Share of the step in which ranks are idle"},
    {"Peak", 2,
     "Most activation bytes of any rank, as if each rank held the same layers whatever its chunks; where no "
     "bytes are given, activations of a stage of the parameters"},
    {"Gap", 1.4F, "Makespan over its lower bound, less one"}};

void draw_heads(Ui& ui) {
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn("+", ImGuiTableColumnFlags_NoSort | ImGuiTableColumnFlags_WidthFixed,
                          ImGui::GetFrameHeight());
  for (const Head& head : kHeads)
    ImGui::TableSetupColumn(
        head.label,
        ImGuiTableColumnFlags_WidthStretch | (&head == kHeads + 1 ? ImGuiTableColumnFlags_DefaultSort : 0),
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

void draw_right(const std::string& text, bool grey) {
  const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(text.c_str()).x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(room, 0.0F));
  if (grey)
    ImGui::TextDisabled("%s", text.c_str());
  else
    ImGui::TextUnformatted(text.c_str());
}

/// A thin bar in the left half of the cell.
void draw_bar(const Ui& ui, double share, Rgba colour) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x * 0.5F;
  const float y = at.y + ImGui::GetFontSize() / 2 - 2 * ui.skin.scale;
  const auto box = [&](float length, Rgba fill) {
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, y), ImVec2(at.x + length, y + 4 * ui.skin.scale),
                                              fill, 2 * ui.skin.scale);
  };
  box(width, ui.skin.line);
  box(width * static_cast<float>(std::clamp(share, 0.0, 1.0)), colour);
}

/// Grey and in doubt where they are of the configuration before, grey where they do not fit.
void draw_numbers(const Ui& ui, const ScheduleRow& row) {
  const bool grey = row.stale || !row.fits();
  const char* const doubt = row.stale ? " ?" : "";
  const auto draw = [&](const std::string& number) {
    ImGui::TableNextColumn();
    draw_right(number + doubt, grey);
  };
  const auto update = static_cast<Ticks>(row.update_time());
  draw(study::time_text(update, row.unit) + (row.unit == TimeUnit::Unit ? " units" : ""));
  ImGui::TableNextColumn();
  draw_bar(ui, row.bubble_ratio, grey ? ui.skin.faint : ui.skin.accent);
  draw_right(fmt::format("{:.1f} %{}", 100 * row.bubble_ratio, doubt), grey);
  draw(row.peak_text);
  explain(row.fits() ? row.peak_note
                     : row.peak_note + "\nDoes not fit: over by " + row.headroom_text.substr(1));
  draw(fmt::format("{:.1f} %", 100 * row.gap));
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
  const bool grey = !row.refusal.empty() || row.stale || !row.fits();
  if (grey) ImGui::PushStyleColor(ImGuiCol_Text, ImGui::GetStyleColorVec4(ImGuiCol_TextDisabled));
  const std::string label = row.chunks == 1 ? row.name : fmt::format("{} v={}", row.name, row.chunks);
  if (selectable(ui, "schedules/row/" + row.name, label.c_str(), row.name == current, false))
    run_command(ui.session, "take-schedule", row.name);
  if (grey) ImGui::PopStyleColor();
  explain(row.stale ? "Of the parameters before; this row is being computed" : row.refusal);
  if (row.refusal.empty()) draw_numbers(ui, row);
}

void draw_table(Ui& ui, ScheduleTable& table, const std::string& current) {
  draw_heads(ui);
  take_sorting(table);
  // A tick or a click may change the rows of the next frame, not of this one.
  const std::vector<ScheduleRow>& rows = table.rows();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows.size()));
  // A script reaches rows that are not in view.
  if (ui.items.wanted().starts_with("schedules/"))
    clipper.ForceDisplayRangeByIndices(0, static_cast<int>(rows.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_row(ui, table, rows[static_cast<std::size_t>(i)], current);
}

}  // namespace

void schedules(Ui& ui) {
  auto& table = ui.session.part<ScheduleTable>();
  const std::string current = ui.session.part<ConfigModel>().value("schedule");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(4 * ui.skin.scale, ui.skin.scale));
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_Sortable | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_NoBordersInBody |
                                     ImGuiTableFlags_NoSavedSettings;
  const bool open = ImGui::BeginTable("table", 6, kFlags);
  if (open) {
    draw_table(ui, table, current);
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
}

}  // namespace pipeloom::gui::views
