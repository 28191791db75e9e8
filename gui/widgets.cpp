#include "gui/widgets.hpp"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "gui/platform/tab_order.hpp"

namespace pipeloom::gui {
namespace {

/// Dear ImGui's identity of a widget: what stands behind "##" is not shown.
class PushedId {
 public:
  explicit PushedId(std::string_view id) { ImGui::PushID(id.data(), id.data() + id.size()); }
  ~PushedId() { ImGui::PopID(); }
  PushedId(const PushedId&) = delete;
  PushedId& operator=(const PushedId&) = delete;
};

ImVec4 colour_of(Rgba rgba) {
  return ImGui::ColorConvertU32ToFloat4(rgba);
}

void finish(Ui& ui, std::string_view id, std::string_view help) {
  note_item(ui, id);
  explain(help);
}

/// Scrolls the window so that the item drawn last, which covers a to b, is inside.
void scroll_to(ImVec2 a, ImVec2 b) {
  const float top = ImGui::GetWindowPos().y;
  if (a.y < top || b.y > top + ImGui::GetWindowHeight()) ImGui::SetScrollHereY();
}

}  // namespace

void note_item(Ui& ui, std::string_view id) {
  note_tab_stop();
  if (!ui.items.recording()) return;
  const ImVec2 a = ImGui::GetItemRectMin();
  const ImVec2 b = ImGui::GetItemRectMax();
  if (ui.items.take_wanted(id)) scroll_to(a, b);
  if (!ImGui::IsItemVisible()) return;
  ui.items.add(id, {a.x, a.y, b.x, b.y});
}

void explain(std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 28);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

bool button(Ui& ui, std::string_view id, const char* label, std::string_view help) {
  const PushedId pushed(id);
  const bool pressed = ImGui::Button(label);
  finish(ui, id, help);
  return pressed;
}

bool small_button(Ui& ui, std::string_view id, const char* label, std::string_view help) {
  const PushedId pushed(id);
  const bool pressed = ImGui::SmallButton(label);
  finish(ui, id, help);
  return pressed;
}

bool checkbox(Ui& ui, std::string_view id, const char* label, bool& value, std::string_view help) {
  const PushedId pushed(id);
  const bool changed = ImGui::Checkbox(label, &value);
  finish(ui, id, help);
  return changed;
}

bool selectable(Ui& ui, std::string_view id, const char* label, bool selected, bool whole_row) {
  const PushedId pushed(id);
  const bool pressed = ImGui::Selectable(
      label, selected, whole_row ? ImGuiSelectableFlags_SpanAllColumns : ImGuiSelectableFlags_None);
  note_item(ui, id);
  return pressed;
}

bool text_field(Ui& ui, std::string_view id, std::string& text, const char* hint, std::string_view help) {
  const PushedId pushed(id);
  bool changed = ImGui::InputTextWithHint("##text", hint, &text, ImGuiInputTextFlags_EnterReturnsTrue);
  changed = ImGui::IsItemDeactivatedAfterEdit() || changed;
  finish(ui, id, help);
  return changed;
}

bool live_text_field(Ui& ui, std::string_view id, std::string& text, const char* hint) {
  const PushedId pushed(id);
  const bool changed = ImGui::InputTextWithHint("##text", hint, &text);
  note_item(ui, id);
  return changed;
}

namespace {

/// The step buttons act at once, the typed number when it is finished.
bool step_button(Ui& ui, std::string_view id, const char* label, const char* name, bool possible) {
  ImGui::SameLine(0, ImGui::GetStyle().ItemInnerSpacing.x);
  ImGui::BeginDisabled(!possible);
  ImGui::PushButtonRepeat(true);
  const bool pressed = ImGui::Button(label, ImVec2(ImGui::GetFrameHeight(), ImGui::GetFrameHeight()));
  ImGui::PopButtonRepeat();
  ImGui::EndDisabled();
  note_item(ui, std::string(id) + name);
  return pressed;
}

}  // namespace

bool number_field(Ui& ui, std::string_view id, int& value, int least, int most, std::string_view help) {
  const PushedId pushed(id);
  const int before = value;
  const float buttons = 2 * (ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x);
  ImGui::SetNextItemWidth(std::max(ImGui::CalcItemWidth() - buttons, 1.0F));
  int typed = value;
  // Without the flag each digit would be a value of its own while a number is being typed.
  const bool entered = ImGui::InputScalar("##number", ImGuiDataType_S32, &typed, nullptr, nullptr, nullptr,
                                          ImGuiInputTextFlags_EnterReturnsTrue);
  if (entered) value = std::clamp(typed, least, most);
  finish(ui, id, help);
  if (step_button(ui, id, "-", "-", value > least)) --value;
  if (step_button(ui, id, "+", "+", value < most)) ++value;
  return value != before;
}

std::string fitted(std::string_view text, float width) {
  constexpr std::string_view kEllipsis = "\xe2\x80\xa6";
  const auto width_of = [](std::string_view part) {
    return ImGui::CalcTextSize(part.data(), part.data() + part.size()).x;
  };
  if (width_of(text) <= width) return std::string(text);
  const auto cut = [&](std::size_t kept) {
    std::size_t front = (kept + 1) / 2;
    std::size_t back = text.size() - kept / 2;
    // Between characters only.
    while (front > 0 && (static_cast<unsigned char>(text[front]) & 0xC0U) == 0x80) --front;
    while (back < text.size() && (static_cast<unsigned char>(text[back]) & 0xC0U) == 0x80) ++back;
    return std::string(text.substr(0, front)).append(kEllipsis).append(text.substr(back));
  };
  std::size_t least = 0;
  std::size_t most = std::min<std::size_t>(text.size() - 1, 512);
  while (least < most) {
    const std::size_t middle = (least + most + 1) / 2;
    if (width_of(cut(middle)) <= width)
      least = middle;
    else
      most = middle - 1;
  }
  return cut(least);
}

bool slider(Ui& ui, std::string_view id, double& value, double least, double most, const char* format,
            std::string_view help) {
  const PushedId pushed(id);
  const bool changed = ImGui::SliderScalar("##slider", ImGuiDataType_Double, &value, &least, &most, format);
  finish(ui, id, help);
  return changed;
}

bool choice(Ui& ui, std::string_view id, std::span<const std::string> entries, int& chosen,
            std::string_view help) {
  const PushedId pushed(id);
  const bool known = chosen >= 0 && static_cast<std::size_t>(chosen) < entries.size();
  const bool open =
      ImGui::BeginCombo("##choice", known ? entries[static_cast<std::size_t>(chosen)].c_str() : "");
  finish(ui, id, open ? std::string_view() : help);
  if (!open) return false;
  bool changed = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool is_chosen = static_cast<int>(i) == chosen;
    if (selectable(ui, std::string(id) + ":" + entries[i], entries[i].c_str(), is_chosen)) {
      changed = !is_chosen;
      chosen = static_cast<int>(i);
    }
    if (is_chosen) ImGui::SetItemDefaultFocus();
  }
  ImGui::EndCombo();
  return changed;
}

void muted_text(const Ui& ui, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour_of(ui.skin.muted));
  wrapped_text(text);
  ImGui::PopStyleColor();
}

void problem_text(const Ui& ui, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour_of(ui.skin.problem));
  wrapped_text(text);
  ImGui::PopStyleColor();
}

void wrapped_text(std::string_view text) {
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
}

void begin_overlay(const Ui& ui, const char* title, float width, float top, int flags, bool* open) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float fits = std::min(width * ui.skin.scale, display.x * 0.9F);
  ImGui::SetNextWindowPos(ImVec2((display.x - fits) / 2, display.y * top));
  ImGui::SetNextWindowSize(ImVec2(fits, 0));
  ImGui::SetNextWindowBgAlpha(1);
  constexpr ImGuiWindowFlags kFixed =
      ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoSavedSettings;
  ImGui::Begin(title, open, kFixed | flags);
}

}  // namespace pipeloom::gui
