// The selected op or gap: what, when, why, what it waited for and what waits for it.

#include "gui/model/panels/details.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <string>

#include "gui/model/chart/select.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

/// In one line, whatever the width.
void label(const Ui& ui, const std::string& text) {
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopStyleColor();
}

void draw_fact(Ui& ui, const DetailLine& fact, bool wrap) {
  ImGui::TableNextColumn();
  label(ui, fact.name);
  ImGui::TableNextColumn();
  if (wrap)
    wrapped_text(fact.value);
  else
    ImGui::TextUnformatted(fact.value.c_str());
}

bool is_short(const DetailLine& fact) {
  return fact.value.size() <= 7;
}

/// Two by two.
void draw_short_facts(Ui& ui, const std::vector<DetailLine>& facts) {
  if (!ImGui::BeginTable("short facts", 4, ImGuiTableFlags_SizingFixedFit)) return;
  for (const DetailLine& fact : facts)
    if (is_short(fact)) draw_fact(ui, fact, false);
  ImGui::EndTable();
}

void draw_long_facts(Ui& ui, const std::vector<DetailLine>& facts) {
  if (!ImGui::BeginTable("long facts", 2, ImGuiTableFlags_SizingFixedFit)) return;
  ImGui::TableSetupColumn("name");
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
  for (const DetailLine& fact : facts)
    if (!is_short(fact)) draw_fact(ui, fact, true);
  ImGui::EndTable();
}

/// Ops that a click leads to; the one that held the op up stands out.
void draw_ops(Ui& ui, const char* heading, const char* id, const std::vector<DetailLine>& lines,
              std::optional<OpRef>& chosen) {
  if (lines.empty()) return;
  ImGui::Spacing();
  muted_text(ui, heading);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const DetailLine& line = lines[i];
    if (line.strong) ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.accent);
    if (selectable(ui, fmt::format("{}/{}", id, i), line.name.c_str(), false)) chosen = line.op;
    if (line.strong) ImGui::PopStyleColor();
    explain(line.strong ? line.value + ". Nothing else came later." : line.value);
    const float width = ImGui::CalcTextSize(line.name.c_str()).x + 2 * ImGui::GetFontSize();
    ImGui::SameLine(width);
    label(ui, line.value);
  }
}

}  // namespace

void details(Ui& ui) {
  Session& session = ui.session;
  const Details* shown = session.part<DetailsPart>().current(session);
  if (shown == nullptr) {
    muted_text(ui, session.selection.op || session.selection.gap
                       ? "finding dependencies ..."
                       : "Click an op or a gap. G finds the longest gap.");
    return;
  }
  ImGui::TextUnformatted(shown->title.c_str());
  note_item(ui, "details/title");
  ImGui::SameLine();
  if (small_button(ui, "details/copy", "Copy", "Copy all of this as text"))
    session.clipboard = to_text(*shown);
  ImGui::SameLine();
  if (small_button(ui, "details/show", "Show", "Centre it; again: fit it (F)")) {
    run_command(session, "focus-selection");
  }
  if (!shown->sentence.empty()) {
    wrapped_text(shown->sentence);
    note_item(ui, "details/sentence");
  }
  draw_short_facts(ui, shown->facts);
  std::optional<OpRef> chosen;
  draw_ops(ui, session.selection.gap ? "waited for" : "waited for  ( [ )", "details/before",
           shown->predecessors, chosen);
  draw_ops(ui, session.selection.gap ? "then" : "waits for it  ( ] )", "details/after", shown->successors,
           chosen);
  ImGui::Spacing();
  draw_long_facts(ui, shown->facts);
  // Last: what is shown goes away with the selection.
  if (chosen) select_op(session, *chosen, Reveal::Yes);
}

}  // namespace pipeloom::gui::views
