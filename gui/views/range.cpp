// The measured range: the work of every rank in it. The marks: the times between them.

#include <fmt/format.h>
#include <imgui.h>

#include <string>
#include <vector>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/panels/notes.hpp"
#include "gui/model/panels/range_stats.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui::views {
namespace {

/// Exact: small differences are the reason to measure.
std::string time_text(const RunModel& run, Ticks ticks) {
  return fmt::format("{} {}", format_ticks(ticks, run.timeline.unit), unit_word(run.timeline.unit));
}

/// The columns: kinds that the schedule has, causes that occur in the range.
struct Columns {
  std::vector<OpKind> kinds;
  std::vector<IdleCause> causes;
};

Columns columns_of(const RunModel& run, const RangeTotal& total) {
  Columns out;
  for (const OpKind kind : kAllOpKinds)
    if (run.schedule->contains(kind)) out.kinds.push_back(kind);
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    if (total.idle_of.of(static_cast<IdleCause>(i)) > 0) out.causes.push_back(static_cast<IdleCause>(i));
  return out;
}

void cell(const RunModel& run, TickSum ticks) {
  ImGui::TableNextColumn();
  text_item(format_ticks(ticks, run.timeline.unit));
}

/// A rank's RankRange, or the RangeTotal.
template <class Range>
void draw_row(const RunModel& run, const Columns& columns, const Range& rank, const std::string& name) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  text_item(name);
  cell(run, rank.busy);
  for (const OpKind kind : columns.kinds) cell(run, rank.busy_of[index_of(kind)]);
  cell(run, rank.idle);
  for (const IdleCause cause : columns.causes) cell(run, rank.idle_of.of(cause));
  ImGui::TableNextColumn();
  text_item(std::to_string(rank.ops));
}

void draw_table(const RunModel& run, const std::vector<RankRange>& ranks, const RangeTotal& total) {
  const Columns columns = columns_of(run, total);
  const int count = static_cast<int>(4 + columns.kinds.size() + columns.causes.size());
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollX | ImGuiTableFlags_ScrollY |
                                     ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit |
                                     ImGuiTableFlags_BordersInnerV;
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const float height = line * static_cast<float>(std::min<std::size_t>(ranks.size() + 3, 14));
  if (!ImGui::BeginTable("range/ranks", count, kFlags, ImVec2(0, height))) return;
  ImGui::TableSetupScrollFreeze(1, 1);
  ImGui::TableSetupColumn("rank");
  ImGui::TableSetupColumn("busy");
  for (const OpKind kind : columns.kinds) ImGui::TableSetupColumn(std::string(1, letter_of(kind)).c_str());
  ImGui::TableSetupColumn("idle");
  for (const IdleCause cause : columns.causes) ImGui::TableSetupColumn(name_of(cause).data());
  ImGui::TableSetupColumn("ops");
  table_heads();
  draw_row(run, columns, total, "all");
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(ranks.size()), line);
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_row(run, columns, ranks[static_cast<std::size_t>(i)], std::to_string(i));
  ImGui::EndTable();
}

void draw_range(Ui& ui, const RunModel& run) {
  Session& session = ui.session;
  if (!session.range) {
    muted_text(ui, "Drag over the rows to measure, or press R for the selection.");
    return;
  }
  const MeasuredRange range = *session.range;
  const std::string text = fmt::format("{} from {} to {}", time_text(run, range.end - range.start),
                                       time_text(run, range.start), time_text(run, range.end));
  text_item(text);
  note_item(ui, "range/length");
  if (small_button(ui, "range/show", "Show", "Fit it (Z)")) run_command(session, "zoom-to-range");
  ImGui::SameLine();
  const bool copied = small_button(ui, "range/copy", "Copy", "Copy the table, columns apart by tabs");
  ImGui::SameLine();
  const bool cleared = small_button(ui, "range/clear", "Clear", "Esc");
  RangeStats& stats = session.part<RangeStats>();
  if (const std::vector<RankRange>* ranks = stats.of_range(session)) {
    draw_table(run, *ranks, stats.total());
    if (copied) session.clipboard = to_text(run, *ranks);
  } else {
    muted_text(ui, "adding up ...");
  }
  if (cleared) session.range.reset();
}

/// One mark: its time, how far it is from the one before, its note.
void draw_mark(Ui& ui, const RunModel& run, std::size_t i, std::optional<std::size_t>& removed) {
  Session& session = ui.session;
  Mark& mark = session.marks[i];
  const std::string id = fmt::format("range/mark/{}", i);
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::AlignTextToFramePadding();
  if (small_button(ui, id, time_text(run, mark.time).c_str(), "Move it to the middle")) {
    const double length = session.view.range.length();
    const double start = static_cast<double>(mark.time) - length / 2;
    show_range(session, {start, start + length});
  }
  ImGui::TableNextColumn();
  const std::string apart = i == 0 ? "" : "+" + time_text(run, mark.time - session.marks[i - 1].time);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  ImGui::AlignTextToFramePadding();
  text_item(apart);
  ImGui::PopStyleColor();
  ImGui::TableNextColumn();
  checkbox(ui, id + "/keep", "", mark.persistent, "Kept with the file");
  ImGui::TableNextColumn();
  ImGui::SetNextItemWidth(-1);
  std::string note = mark.note;
  if (text_field(ui, id + "/note", note, "note")) {
    mark.note = note;
    // A note is worth keeping.
    mark.persistent = mark.persistent || !note.empty();
  }
  ImGui::TableNextColumn();
  if (sign_button(ui, id + "/remove", Icon::Cross, ImGui::GetFrameHeight(), true, "Remove the mark"))
    removed = i;
}

void draw_marks(Ui& ui, const RunModel& run) {
  Session& session = ui.session;
  ImGui::Spacing();
  if (session.marks.empty()) {
    muted_text(ui, "M marks the time at the pointer, Shift+M keeps the mark.");
    return;
  }
  std::optional<std::size_t> removed;
  if (ImGui::BeginTable("range/marks", 5, ImGuiTableFlags_SizingFixedFit)) {
    ImGui::TableSetupColumn("time");
    ImGui::TableSetupColumn("difference");
    ImGui::TableSetupColumn("keep");
    ImGui::TableSetupColumn("note", ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("remove");
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(session.marks.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        draw_mark(ui, run, static_cast<std::size_t>(i), removed);
    ImGui::EndTable();
  }
  if (removed) session.marks.erase(session.marks.begin() + static_cast<std::ptrdiff_t>(*removed));
}

}  // namespace

void range(Ui& ui) {
  const RunModel* run = ui.session.active_run();
  if (run == nullptr) {
    muted_text(ui, "nothing is open");
    return;
  }
  draw_range(ui, *run);
  draw_marks(ui, *run);
}

}  // namespace pipeloom::gui::views
