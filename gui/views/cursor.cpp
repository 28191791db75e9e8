// A moment of the run: what every rank has in flight and holds then; play, step, and the way there.

#include "gui/model/answer/cursor.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui::views {
namespace {

void draw_buttons(Ui& ui, const Cursor& cursor) {
  if (button(ui, "cursor/back", "<", "To the start of an op before (Alt+,)"))
    run_command(ui.session, "step-back");
  ImGui::SameLine();
  if (button(ui, "cursor/play", cursor.playing() ? "Pause" : "Play",
             "The measured range, else all of the run, over and over (space)"))
    run_command(ui.session, cursor.playing() ? "pause" : "play");
  ImGui::SameLine();
  if (button(ui, "cursor/forward", ">", "To the next start of an op (Alt+.)"))
    run_command(ui.session, "step-forward");
}

void draw_ranks(Ui& ui, const Cursor& cursor, const RunModel& run, Ticks now) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_BordersInnerH;
  if (!ImGui::BeginTable("ranks", 3, kFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  for (const char* head : {"rank", "in flight", "memory"}) ImGui::TableSetupColumn(head);
  ImGui::TableHeadersRow();
  ImGuiListClipper clipper;
  clipper.Begin(run.ranks());
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const Rank rank(i);
      ImGui::TableNextColumn();
      ImGui::Text("%d", i);
      ImGui::TableNextColumn();
      ImGui::Text("%d", cursor.in_flight()->at(rank, now));
      ImGui::TableNextColumn();
      const auto held = Cursor::held(run, rank, now);
      ImGui::TextUnformatted(held ? memory_cell(*run.memory, *held).c_str() : "-");
    }
  ImGui::EndTable();
  note_item(ui, "cursor/ranks");
}

}  // namespace

void cursor(Ui& ui) {
  const auto& at = ui.session.part<Cursor>();
  const RunModel* run = ui.session.active_run();
  draw_buttons(ui, at);
  const auto now = at.time(ui.session);
  if (run == nullptr || !now) {
    muted_text(ui,
               "U puts the time cursor where the pointer is: what every rank has in flight and holds then.");
    return;
  }
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted(duration_text(*now, run->timeline.unit).c_str());
  note_item(ui, "cursor/time");
  if (at.in_flight() != nullptr) draw_ranks(ui, at, *run, *now);
}

}  // namespace pipeloom::gui::views
