// Quitting with an order that was edited by hand: save, discard, stay.

#include <imgui.h>

#include <string>

#include "gui/model/files/may_replace.hpp"
#include "gui/model/files/quit_question.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kQuitWidth = 460;

}  // namespace

void quit_dialog(Ui& ui) {
  auto& question = ui.session.part<QuitQuestion>();
  if (!question.asks()) return;
  begin_overlay(ui, "quit", kQuitWidth, 0.25F, ImGuiWindowFlags_NoTitleBar);
  wrapped_text("Save the edited order of " + question.title() + "?");
  if (question.more() > 0)
    muted_text(ui, question.more() == 1 ? "Another edited order is asked about next."
                                        : "Further edited orders are asked about next.");
  ImGui::SetNextItemWidth(-1);
  (void)live_text_field(ui, "quit/path", question.path, "order.json, or .csv for PyTorch");
  muted_text(ui, "in " + folder_of(question.path));
  if (!question.problem().empty()) problem_text(ui, question.problem());
  ImGui::Dummy(ImVec2(0, 4 * ui.skin.scale));
  if (button(ui, "quit/save", "Save", "Writes the file, and quits")) question.save(ui.session);
  ImGui::SameLine();
  if (button(ui, "quit/discard", "Discard", "Quits without any of the edits")) question.discard(ui.session);
  ImGui::SameLine();
  if (button(ui, "quit/stay", "Stay", "Esc")) question.stay();
  const bool escaped = escape_pressed(ui);
  ImGui::End();
  if (escaped) question.stay();
}

}  // namespace pipeloom::gui::views
