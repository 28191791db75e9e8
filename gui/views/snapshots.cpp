// Runs that were kept as they are: their numbers against the run under edit, and the way back to them.

#include "gui/model/answer/snapshots.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

void draw_snapshot(Ui& ui, Snapshots& snapshots, const Snapshot& snapshot) {
  const std::string id = "snapshots/" + snapshot.name;
  bool shown = snapshot.shown;
  if (checkbox(ui, id + "/shown", "", shown, "On the chart, below the run under edit"))
    snapshots.show(ui.session, snapshot.name, shown);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  text_item(snapshot.name);
  note_item(ui, id);
  muted_text(ui, badge_text(*snapshot.run, ui.session.active_run()));
}

/// True when the snapshots are others now.
bool draw_buttons(Ui& ui, const Snapshot& snapshot) {
  const std::string id = "snapshots/" + snapshot.name;
  // The command may change the list that holds `snapshot`.
  const std::string name = snapshot.name;
  if (button(ui, id + "/restore", "Restore",
             "Its configuration is under edit again; Ctrl+Z brings yours back"))
    run_command(ui.session, "restore", name);
  ImGui::SameLine();
  if (!icon_button(ui, id + "/remove", Icon::Cross, "Forget this snapshot")) return false;
  run_command(ui.session, "remove-snapshot", name);
  return true;
}

}  // namespace

void snapshots(Ui& ui) {
  auto& kept = ui.session.part<Snapshots>();
  if (button(ui, "snapshots/take", "Keep this run", "B")) run_command(ui.session, "snapshot");
  if (kept.all().empty())
    muted_text(ui, "B keeps the run as it is: what you change next is compared with it.");
  for (std::size_t i = 0; i < kept.all().size(); ++i) {
    ImGui::Separator();
    draw_snapshot(ui, kept, kept.all()[i]);
    if (draw_buttons(ui, kept.all()[i])) return;
  }
}

}  // namespace pipeloom::gui::views
