#include "gui/cause_rows.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/session/command.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "sim/base/number_text.hpp"

namespace pipeloom::gui {
namespace {

/// Under a line, for the thin bar of its share; pixels at scale 1.
constexpr float kBarRoom = 5;

}  // namespace

float cause_row_height(const Ui& ui) {
  return ImGui::GetTextLineHeight() + kBarRoom * ui.skin.scale;
}

void draw_cause_row(Ui& ui, std::string_view items, const RootLine& line, std::size_t n, double most,
                    TimeUnit unit) {
  const float scale = ui.skin.scale;
  const float width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string id = std::to_string(n);
  ImGui::PushID(static_cast<int>(n));
  const bool chosen =
      ImGui::Selectable("##root", false, 0, ImVec2(width, ImGui::GetTextLineHeight() + kBarRoom * scale));
  ImGui::PopID();
  note_item(ui, std::string(items) + id);
  explain(fmt::format("{}: {}.\nA click goes there", duration_text(line.amount, unit), line.what));
  const std::string numbers =
      with_thin_spaces(fmt::format("{}   {}", duration_text(line.amount, unit), percent_text(line.share)));
  const float room = ImGui::CalcTextSize(numbers.c_str()).x;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const std::string name = fitted(line.text, width - room - 3 * kBarRoom * scale);
  put_text(list, at, ui.skin.text, name);
  put_text(list, ImVec2(at.x + width - room, at.y), ui.skin.muted, numbers);
  const float top = at.y + ImGui::GetTextLineHeight() + scale;
  const float part = most > 0 ? static_cast<float>(line.share / most) : 0;
  list.AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + width * part, top + 2 * scale), ui.skin.accent);
  if (chosen) run_command(ui.session, "select-cause", id);
}

}  // namespace pipeloom::gui
