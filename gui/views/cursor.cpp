// A moment of the run: the microbatches in flight and the memory of every rank; play, step, and the way there.

#include "gui/model/answer/cursor.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <span>
#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/memory.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui::views {
namespace {

void draw_buttons(Ui& ui, const Cursor& cursor) {
  if (icon_button(ui, "cursor/back", Icon::StepBack, "To the start of an op before (Alt+,)"))
    run_command(ui.session, "step-back");
  ImGui::SameLine();
  if (icon_button(ui, "cursor/play", cursor.playing() ? Icon::Pause : Icon::Play,
                  cursor.playing() ? "Pause (space)"
                                   : "Play the measured range, else all of the run, over and over (space)"))
    run_command(ui.session, cursor.playing() ? "pause" : "play");
  ImGui::SameLine();
  if (icon_button(ui, "cursor/forward", Icon::StepForward, "To the next start of an op (Alt+.)"))
    run_command(ui.session, "step-forward");
  ImGui::SameLine();
  if (button(ui, "cursor/steady", "Steady", "Play one period of the steady state, over and over"))
    run_command(ui.session, "play-steady");
}

std::string words_of(std::span<const Op> ops) {
  std::string text;
  for (const Op op : ops) text += (text.empty() ? "" : " ") + to_text(op.with_joined(false));
  return text;
}

void draw_cell(const std::string& text) {
  ImGui::TableNextColumn();
  text_item(text);
  if (ImGui::CalcTextSize(text.c_str()).x > ImGui::GetContentRegionAvail().x) explain(text);
}

void draw_ranks(Ui& ui, const Cursor& cursor, const RunModel& run, Ticks now) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX |
                                     ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_SizingFixedFit;
  if (!ImGui::BeginTable("ranks", 6, kFlags)) return;
  ImGui::TableSetupScrollFreeze(1, 1);
  for (const char* head : {"rank", "in flight", "memory", "now", "next", "received, not begun"})
    ImGui::TableSetupColumn(head);
  table_heads();
  ImGuiListClipper clipper;
  clipper.Begin(run.ranks());
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const Rank rank(i);
      const QueueMoment queue = cursor.in_flight()->queue_at(rank, now);
      const auto held = Cursor::held(run, rank, now);
      draw_cell(std::to_string(i));
      draw_cell(std::to_string(cursor.in_flight()->at(rank, now)));
      draw_cell(held ? memory_cell(*run.memory, *held) : "-");
      draw_cell(queue.now.empty() ? "idle" : words_of(queue.now));
      draw_cell(words_of(queue.next));
      draw_cell(words_of(queue.received));
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
               "A click on the ruler, or U, puts the time cursor there: what every rank runs, holds and has "
               "before it.");
    return;
  }
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  text_item(duration_text(*now, run->timeline.unit));
  note_item(ui, "cursor/time");
  if (at.in_flight() != nullptr) draw_ranks(ui, at, *run, *now);
}

}  // namespace pipeloom::gui::views
