// Every registered schedule at the shape and costs under edit; a click takes it, a tick stacks it for comparison.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/commands/context_menu.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "schedules/generator.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui::views {
namespace {

using Column = ScheduleTable::Column;

// Pixels at scale 1.
constexpr float kRowHeight = 26;
constexpr float kCellPad = 6;  // of a cell, on each side
constexpr float kDotColumn = 18;
constexpr float kLeastName = 100;
constexpr float kShortestBar = 30;
constexpr float kLongestBar = 84;
constexpr float kThinBar = 4;

/// Names of runs in heads are as long at most.
constexpr std::size_t kLongestHead = 24;

struct Head {
  Column column;
  const char* id;
  bool right;  ///< numbers end at the right of their column
  const char* help;
};

constexpr std::array kHeads = {
    Head{Column::Name, "schedule", false,
         "At the ranks, microbatches and costs of the parameters; its own chunks where it does not take the "
         "given ones. A click takes it."},
    Head{Column::Chunks, "chunks", true, "Chunks: stages on a rank, v"},
    Head{Column::Step, "step", true,
         "Time of a step, or of one update of a run without flushes. Every schedule runs the same model: "
         "costs "
         "per stage are turned into costs per rank, which schedules of several chunks divide among them."},
    Head{Column::Change, "change", true, "The step against that of the baseline run on the chart"},
    Head{Column::Bubble, "bubble", true, "Share of the step in which ranks are idle"},
    Head{Column::Peak, "peak", true,
         "What the fullest rank holds at most; where no bytes are given, activations of a stage of the "
         "parameters"},
    Head{Column::Room, "room", false, "What the limit leaves on the rank that has least left"},
    Head{Column::Gap, "bound", true, "Makespan over its lower bound, less one"}};

std::string head_text(const ScheduleTable& table, Column column) {
  switch (column) {
    case Column::Name:
      return "schedule";
    case Column::Chunks:
      return "v";
    case Column::Step:
      return table.heads().step;
    case Column::Change:
      return table.heads().change;
    case Column::Bubble:
      return "bubble";
    case Column::Peak:
      return table.heads().peak;
    case Column::Room:
      return "limit";
    case Column::Gap:
      return "from optimal";
  }
  return "";
}

/// The text in a column of a line, "" where bars and names are drawn otherwise.
std::string plain_cell(const ScheduleRow& row, const ScheduleLine& line, Column column) {
  switch (column) {
    case Column::Name:
      return row.name;
    case Column::Chunks:
      return row.refusal.empty() ? std::to_string(row.chunks) : "";
    case Column::Step:
      return line.step;
    case Column::Change:
      return line.change;
    case Column::Bubble:
      return line.bubble;
    case Column::Peak:
      return line.peak;
    case Column::Room:
      return line.room;
    case Column::Gap:
      return line.gap;
  }
  return "";
}

std::string cell_text(const ScheduleRow& row, const ScheduleLine& line, Column column) {
  return with_thin_spaces(plain_cell(row, line, column));
}

bool has_bar(Column column) {
  return column == Column::Bubble || column == Column::Peak;
}

float width_of(ImFont* font, std::string_view text) {
  return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

/// The name that the registry has for it.
std::string registered(const std::string& schedule) {
  try {
    const schedules::Generator* generator = schedules::find(schedule).generator;
    return generator == nullptr ? schedule : generator->name;
  } catch (const Error&) {
    return schedule;
  }
}

const std::vector<std::string>& registered_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const schedules::Generator& generator : schedules::all()) all.push_back(generator.name);
    return all;
  }();
  return names;
}

/// The widths of columns: sized once when all rows of a set of parameters are there, so that no column moves while rows arrive.
class ColumnWidths final : public Part {
 public:
  using Widths = std::array<float, kHeads.size()>;
  explicit ColumnWidths(Session&) {}

  /// True if columns of this `key` have their widths already.
  [[nodiscard]] bool has(const std::string& key) const { return key == key_; }
  [[nodiscard]] const Widths& widths() const { return kept_; }
  void keep(const std::string& key, const Widths& widths) {
    key_ = key;
    kept_ = widths;
  }

 private:
  std::string key_;
  Widths kept_ = {};
};

/// The table of one frame: columns as wide as their content, bars as long as there is room for.
class Table {
 public:
  Table(Ui& ui, ScheduleTable& table)
      : ui_(ui),
        table_(table),
        scale_(ui.skin.scale),
        current_(registered(ui.session.part<ConfigModel>().value("schedule"))),
        common_refusal_(table.common_refusal()) {}

  void draw() {
    measure();
    ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(kCellPad * scale_, 0));
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_BordersInnerH |
                                       ImGuiTableFlags_NoBordersInBody | ImGuiTableFlags_NoSavedSettings |
                                       ImGuiTableFlags_PadOuterX;
    if (ImGui::BeginTable("table", static_cast<int>(kHeads.size()) + 2, kFlags)) {
      draw_heads();
      draw_rows();
      ImGui::EndTable();
    }
    ImGui::PopStyleVar();
  }

 private:
  [[nodiscard]] bool hidden(Column column) const { return column == Column::Room && !table_.heads().limited; }
  [[nodiscard]] static std::size_t index(Column column) { return static_cast<std::size_t>(column); }

  void measure() {
    auto& kept = ui_.session.part<ColumnWidths>();
    const std::string key = key_of_rows();
    if (!kept.has(key)) kept.keep(key, measured());
    widths_ = kept.widths();
    share_room();
  }

  /// As wide as heads and cells want; what cells of a step, a share and a size usually want at least, as rows may still be on their way.
  [[nodiscard]] ColumnWidths::Widths measured() const {
    ColumnWidths::Widths widths = {};
    const std::array usual = {std::pair(Column::Step, "8\u2009888\u2009888 ?"),
                              std::pair(Column::Change, "-88.8 %"), std::pair(Column::Bubble, "88.8 %"),
                              std::pair(Column::Gap, "888.8 %"), std::pair(Column::Peak, "88.88 GB")};
    for (const auto& [column, text] : usual) widths[index(column)] = width_of(ui_.skin.font, text);
    for (const Head& head : kHeads) {
      float& width = widths[index(head.column)];
      // The sign of the sorting has room in every head.
      width = std::max(width, width_of(ui_.skin.small, head_text(table_, head.column)) + 12 * scale_);
      for (const ScheduleLine& line : table_.lines())
        width =
            std::max(width, width_of(ui_.skin.font, cell_text(table_.rows()[line.row], line, head.column) +
                                                        doubt(table_.rows()[line.row], head.column)));
    }
    for (const std::string& name : registered_names())
      widths[index(Column::Name)] = std::max(widths[index(Column::Name)], width_of(ui_.skin.font, name));
    return widths;
  }

  /// Columns are sized when the heads change, and once when all rows of these heads are there.
  [[nodiscard]] std::string key_of_rows() const {
    std::string text = fmt::format("{} {}", scale_, table_.pending() ? "begun" : "whole");
    for (const Head& head : kHeads) text += '\n' + head_text(table_, head.column);
    return text;
  }

  /// Gives room that is left over to the bars, and takes missing room from the names.
  void share_room() {
    // The dots have a column too, and so has the rest of the room where no words grow.
    const float others = hidden(Column::Room) ? 2 : 1;
    float taken = kDotColumn * scale_ + others * 2 * kCellPad * scale_ + ImGui::GetStyle().ScrollbarSize;
    for (const Head& head : kHeads)
      if (!hidden(head.column)) taken += widths_[index(head.column)] + 2 * kCellPad * scale_;
    const float left = ImGui::GetContentRegionAvail().x - taken;
    // Names that are cut are shown whole when the pointer rests on them: bars have room first.
    float& name = widths_[index(Column::Name)];
    const float least = std::min(kLeastName * scale_, name);
    bar_ = std::clamp(left / 2 - kCellPad * scale_, kShortestBar * scale_, kLongestBar * scale_);
    const float bars = 2 * (bar_ + kCellPad * scale_);
    if (name - least + left < bars) bar_ = 0;
    for (const Column column : {Column::Bubble, Column::Peak})
      if (bar_ > 0) widths_[index(column)] += bar_ + kCellPad * scale_;
    name = std::max(name + std::min(left - (bar_ > 0 ? bars : 0), 0.0F), least);
  }

  // The heads ------------------------------------------------------------------------------------------------------------------

  void draw_heads() {
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr ImGuiTableColumnFlags kFixed =
        ImGuiTableColumnFlags_WidthFixed | ImGuiTableColumnFlags_NoResize;
    ImGui::TableSetupColumn("on", kFixed, kDotColumn * scale_);
    for (const Head& head : kHeads) {
      // The words of the last but one take the room left over; without them it stays empty at the end, so that no number is far from its name.
      const bool grows = head.column == Column::Room;
      ImGui::TableSetupColumn(head.id,
                              (grows ? ImGuiTableColumnFlags_WidthStretch : kFixed) |
                                  (hidden(head.column) ? ImGuiTableColumnFlags_Disabled : 0),
                              grows ? 1 : widths_[index(head.column)]);
    }
    ImGui::TableSetupColumn("rest", ImGuiTableColumnFlags_WidthStretch |
                                        (hidden(Column::Room) ? 0 : ImGuiTableColumnFlags_Disabled));
    ImGui::TableNextRow(ImGuiTableRowFlags_None, kRowHeight * scale_);
    ImGui::TableNextColumn();
    for (const Head& head : kHeads)
      if (ImGui::TableNextColumn()) draw_head(head);
  }

  void draw_head(const Head& head) {
    const std::string text = head_text(table_, head.column);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x;
    ImGui::PushID(head.id);
    if (ImGui::InvisibleButton("head", ImVec2(std::max(room, 1.0F), kRowHeight * scale_)))
      table_.sort_by(head.column);
    ImGui::PopID();
    note_item(ui_, std::string("schedules/head/") + head.id);
    const bool hovered = ImGui::IsItemHovered();
    explain(std::string(head.help) + "\nClick: sort by it; again: the other way.");
    const bool sorted = table_.sorted_by() == head.column;
    const float mark = sorted ? 10 * scale_ : 0;
    const float x = head.right ? at.x + room - width_of(ui_.skin.small, text) - mark : at.x;
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    const Rgba colour = sorted || hovered ? ui_.skin.text : ui_.skin.muted;
    put_text(draw, ui_.skin.small, ImVec2(x, at.y + (kRowHeight * scale_ - ui_.skin.small->FontSize) / 2),
             colour, text);
    if (sorted)
      draw_icon(table_.descending() ? Icon::Down : Icon::Up,
                ImVec2(x + width_of(ui_.skin.small, text) + 7 * scale_, at.y + kRowHeight * scale_ / 2),
                ui_.skin.text);
  }

  // The rows -------------------------------------------------------------------------------------------------------------------

  void draw_rows() {
    // A tick or a click may change the lines of the next frame, not of this one.
    const std::vector<ScheduleLine> lines = table_.lines();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(lines.size()), kRowHeight * scale_);
    // A script reaches rows that are not in view.
    if (ui_.items.wanted().starts_with("schedules/"))
      clipper.ForceDisplayRangeByIndices(0, static_cast<int>(lines.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const ScheduleLine& line = lines[static_cast<std::size_t>(i)];
        const ScheduleRow row = table_.rows()[line.row];
        draw_row(row, line);
      }
  }

  [[nodiscard]] Rgba ink(const ScheduleRow& row) const {
    return !row.refusal.empty() || row.stale || !row.fits() ? ui_.skin.muted : ui_.skin.text;
  }

  void draw_row(const ScheduleRow& row, const ScheduleLine& line) {
    ImGui::TableNextRow(ImGuiTableRowFlags_None, kRowHeight * scale_);
    if (row.name == current_) ImGui::TableSetBgColor(ImGuiTableBgTarget_RowBg0, ui_.skin.raised);
    ImGui::TableNextColumn();
    draw_dot(row);
    ImGui::TableNextColumn();
    draw_name(row);
    if (!row.refusal.empty() && row.refusal == common_refusal_) return;
    if (!row.refusal.empty()) return draw_refusal(row);
    for (const Head& head : kHeads)
      if (head.column != Column::Name && ImGui::TableNextColumn()) draw_cell(row, line, head);
  }

  /// Full for runs on the chart, in the chart's colour; a ring for those that may be put there.
  void draw_dot(const ScheduleRow& row) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 size(kDotColumn * scale_, kRowHeight * scale_);
    const bool ticked = table_.ticked(row.name);
    const bool current = row.name == current_;
    ImGui::BeginDisabled(current || (!row.refusal.empty() && !ticked));
    if (ImGui::InvisibleButton(("tick/" + row.name).c_str(), size))
      table_.tick(ui_.session, row.name, !ticked);
    const bool hovered = ImGui::IsItemHovered();
    ImGui::EndDisabled();
    note_item(ui_, "schedules/tick/" + row.name);
    explain(current  ? "On the chart: the run under edit"
            : ticked ? "On the chart; click: take it away"
                     : "Stack it below the run for comparison");
    const ImVec2 middle(at.x + 8 * scale_, at.y + size.y / 2);
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    if (current || ticked)
      draw.AddCircleFilled(middle, 4 * scale_, colour_on_chart(current, table_.run_of(row.name)), 16);
    else if (row.refusal.empty())
      draw.AddCircle(middle, 4 * scale_, hovered ? ui_.skin.accent : ui_.skin.line, 16, scale_);
  }

  [[nodiscard]] Rgba colour_on_chart(bool current, std::uint64_t id) const {
    const std::vector<OpenRun>& runs = ui_.session.runs;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (current ? runs[i].live : runs[i].run->id == id) return to_rgba(run_colour(ui_.session, i));
    return ui_.skin.muted;  // it is being simulated
  }

  void draw_name(const ScheduleRow& row) {
    const std::string label = fitted(row.name, ImGui::GetContentRegionAvail().x);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::PushID(row.name.c_str());
    if (ImGui::Selectable("##row", false,
                          ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap,
                          ImVec2(0, kRowHeight * scale_)))
      run_command(ui_.session, "take-schedule", row.name);
    ImGui::PopID();
    note_item(ui_, "schedules/row/" + row.name);
    if (ImGui::IsItemClicked(ImGuiMouseButton_Right)) ui_.session.part<ContextMenu>().open_schedule(row.name);
    explain(help_of(row, label));
    put_text(*ImGui::GetWindowDrawList(), ImVec2(at.x, text_top(at.y)), ink(row), label);
  }

  /// Says why it is grey, and its full name where that is cut.
  [[nodiscard]] static std::string help_of(const ScheduleRow& row, const std::string& label) {
    std::string text = label == row.name ? "" : row.name + "\n";
    if (row.stale)
      return text + (row.found ? "Of the parameters before; search again for those of now"
                               : "Of the parameters before; this row is being computed");
    if (!row.refusal.empty()) return text + row.refusal;
    if (!row.synchronous)
      text += "Without flushes: gradients are of older weights than those that they change\n";
    if (row.peak_note.empty()) return text + row.held_text + " at most, in all";
    return text + row.peak_note + " at most; " + row.held_text + " in all";
  }

  /// Draws the reason in words over the columns of numbers.
  void draw_refusal(const ScheduleRow& row) {
    ImGui::TableNextColumn();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float right = ImGui::GetWindowPos().x + ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize;
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    draw.PushClipRect(ImVec2(at.x, at.y), ImVec2(right, at.y + kRowHeight * scale_), false);
    const std::string words = fitted(row.refusal, right - at.x - kCellPad * scale_);
    put_text(draw, ImVec2(at.x, text_top(at.y)), ui_.skin.muted, words);
    draw.PopClipRect();
  }

  [[nodiscard]] float text_top(float top) const {
    return top + (kRowHeight * scale_ - ui_.skin.font->FontSize) / 2;
  }

  [[nodiscard]] static const char* doubt(const ScheduleRow& row, Column column) {
    return row.stale && column == Column::Step ? " ?" : "";
  }

  /// Grey and in doubt where it is of the configuration before, grey where it does not fit.
  void draw_cell(const ScheduleRow& row, const ScheduleLine& line, const Head& head) {
    const std::string text = cell_text(row, line, head.column) + doubt(row, head.column);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x;
    if (bar_ > 0 && has_bar(head.column)) draw_bar(row, line, head.column, at);
    const bool missing = head.column == Column::Room && !row.fits() && !row.stale;
    const float x = head.right ? at.x + room - width_of(ui_.skin.font, text) : at.x;
    put_text(*ImGui::GetWindowDrawList(), ImVec2(x, text_top(at.y)), missing ? ui_.skin.problem : ink(row),
             text);
  }

  /// A thin one, of the peak in red where it does not fit.
  void draw_bar(const ScheduleRow& row, const ScheduleLine& line, Column column, ImVec2 at) {
    const bool peak = column == Column::Peak;
    const double share = std::clamp(peak ? line.peak_share : row.bubble_ratio, 0.0, 1.0);
    Rgba colour = peak ? ui_.skin.good : ui_.skin.accent;
    if (row.stale) colour = ui_.skin.faint;
    if (peak && !row.fits() && !row.stale) colour = ui_.skin.problem;
    const float y = at.y + (kRowHeight - kThinBar) / 2 * scale_;
    const auto box = [&](float length, Rgba fill) {
      ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, y), ImVec2(at.x + length, y + kThinBar * scale_),
                                                fill, kThinBar / 2 * scale_);
    };
    box(bar_, ui_.skin.line);
    if (share > 0) box(std::max(bar_ * static_cast<float>(share), kThinBar * scale_), colour);
  }

  Ui& ui_;
  ScheduleTable& table_;
  float scale_;
  std::string current_;
  std::string common_refusal_;  // said once, above all rows
  std::array<float, kHeads.size()> widths_ = {};
  float bar_ = 0;
};

// Above the table --------------------------------------------------------------------------------------------------------------

std::string summary(const ScheduleTable& table) {
  const auto refused = static_cast<std::size_t>(std::count_if(
      table.rows().begin(), table.rows().end(), [](const ScheduleRow& row) { return !row.refusal.empty(); }));
  std::string text = study::count_text(table.rows().size(), "schedule");
  if (table.lines().size() < table.rows().size()) text = fmt::format("{} of {}", table.lines().size(), text);
  if (refused > 0 && !table.filter().fits && table.common_refusal().empty())
    text += fmt::format(", {} cannot run", refused);
  if (table.pending()) text += " \xc2\xb7 computing";
  return text;
}

void draw_filters(Ui& ui, ScheduleTable& table) {
  ScheduleFilter filter = table.filter();
  if (chip(ui, "schedules/filter/fits", "fits", filter.fits,
           "Only schedules that can run and fit the memory limit")) {
    filter.fits = !filter.fits;
    table.show_only(filter);
  }
  ImGui::SameLine();
  if (chip(ui, "schedules/filter/synchronous", "no stale weights", filter.synchronous,
           "Only schedules that train what a run without a pipeline does. Those without flushes, such as "
           "pipedream-2bw, apply gradients of older weights: they are left out.")) {
    filter.synchronous = !filter.synchronous;
    table.show_only(filter);
  }
  ImGui::SameLine();
  if (chip(ui, "schedules/find", "Search orders ..", false,
           "Search chunks, placements, recomputation and orders of their own under the memory limit"))
    ui.session.show_panel("find");
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + 2 * ui.skin.scale);
  muted_text(ui, summary(table));
}

/// Says once why the table has no numbers.
void draw_common_refusal(Ui& ui, const ScheduleTable& table) {
  const std::string refusal = table.common_refusal();
  if (refusal.empty()) return;
  wrapped_text(fmt::format("No row has numbers: {}. A click on a name simulates that schedule.", refusal));
  note_item(ui, "schedules/refusal");
}

}  // namespace

void schedules(Ui& ui) {
  auto& table = ui.session.part<ScheduleTable>();
  const bool live = std::ranges::any_of(ui.session.runs, &OpenRun::live);
  if (!live && table.rows().empty())
    return muted_text(
        ui, "All schedules are compared for the run under edit. Change a number on the left to have one.");
  draw_filters(ui, table);
  draw_common_refusal(ui, table);
  Table(ui, table).draw();
}

}  // namespace pipeloom::gui::views
