#include "gui/widgets.hpp"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <filesystem>

#include "gui/model/files/may_replace.hpp"
#include "gui/model/session/command.hpp"
#include "gui/platform/tab_order.hpp"
#include "gui/texts.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// Dear ImGui's identity of a widget: the part after "##" is not shown.
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

/// The search box leads to the item that was drawn last.
void take_focus(Ui& ui) {
  ui.session.focus_request.clear();
  focus_last_item();
  ImGui::SetScrollHereY();
}

/// Notes the place of a label at the left of the item that was drawn last.
void note_left(std::string_view label) {
  const ImVec2 from = ImGui::GetItemRectMin();
  note_text_at(from, ImGui::CalcTextSize(label.data(), label.data() + label.size(), true), label);
}

/// Scrolls the window so that the item drawn last, which covers a to b, is inside.
void scroll_to(ImVec2 a, ImVec2 b) {
  const float top = ImGui::GetWindowPos().y;
  if (a.y < top || b.y > top + ImGui::GetWindowHeight()) ImGui::SetScrollHereY();
}

}  // namespace

void note_item(Ui& ui, std::string_view id) {
  note_tab_stop();
  if (ui.session.focus_request == id) take_focus(ui);
  if (!ui.items.recording()) return;
  const ImVec2 a = ImGui::GetItemRectMin();
  const ImVec2 b = ImGui::GetItemRectMax();
  if (ui.items.take_wanted(id)) scroll_to(a, b);
  if (!ImGui::IsItemVisible()) return;
  ui.items.add(id, {a.x, a.y, b.x, b.y});
}

bool button(Ui& ui, std::string_view id, const char* label, std::string_view help) {
  const PushedId pushed(id);
  const bool pressed = ImGui::Button(label);
  note_label(label);
  finish(ui, id, help);
  return pressed;
}

bool primary_button(Ui& ui, std::string_view id, const char* label, std::string_view help) {
  ImGui::PushStyleColor(ImGuiCol_Button, ui.skin.accent);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, with_alpha(ui.skin.accent, 220));
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, with_alpha(ui.skin.accent, 180));
  ImGui::PushStyleColor(ImGuiCol_Text, legible(ui.skin.background, ui.skin.accent));
  const bool pressed = button(ui, id, label, help);
  ImGui::PopStyleColor(4);
  return pressed;
}

void begin_field_anew() {
  release_keyboard();
}

bool escape_pressed(const Ui& ui) {
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape)) && !ui.popup_was_open;
}

bool small_button(Ui& ui, std::string_view id, const char* label, std::string_view help) {
  const PushedId pushed(id);
  const bool pressed = ImGui::SmallButton(label);
  note_label(label);
  finish(ui, id, help);
  return pressed;
}

bool icon_button(Ui& ui, std::string_view id, Icon icon, std::string_view help) {
  const PushedId pushed(id);
  const float size = ImGui::GetFrameHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool pressed = ImGui::Button("##icon", ImVec2(size, size));
  draw_icon(icon, ImVec2(at.x + size / 2, at.y + size / 2), ui.skin.text);
  finish(ui, id, help);
  return pressed;
}

bool checkbox(Ui& ui, std::string_view id, const char* label, bool& value, std::string_view help) {
  const PushedId pushed(id);
  const bool changed = ImGui::Checkbox(label, &value);
  note_text(label);
  finish(ui, id, help);
  return changed;
}

std::optional<io::Overwrite> write_button(Ui& ui, const std::string& id, const char* label,
                                          const std::string& path, bool own, std::string_view help) {
  const bool there = is_there(path);
  const bool foreign = there && !own;
  ImGui::BeginDisabled(foreign || path.empty());
  const bool writes = primary_button(ui, id + "/write", label, help);
  ImGui::EndDisabled();
  if (writes) return there ? io::Overwrite::Yes : io::Overwrite::No;
  if (!foreign) return std::nullopt;
  const std::string name = std::filesystem::path(path).filename().string();
  ImGui::SameLine(0, 32 * ui.skin.scale);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.problem);
  const bool replaces = button(ui, id + "/replace", ("Replace " + fitted(name, 200 * ui.skin.scale)).c_str(),
                               "There is a file of this name: it would be lost");
  ImGui::PopStyleColor();
  return replaces ? std::optional(io::Overwrite::Yes) : std::nullopt;
}

bool chip(Ui& ui, std::string_view id, const char* word, bool on, std::string_view help) {
  const float scale = ui.skin.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, 10 * scale);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, scale);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(8 * scale, 2 * scale));
  ImGui::PushStyleColor(ImGuiCol_Button, colour_of(ui.skin.panel));
  ImGui::PushStyleColor(ImGuiCol_Border, colour_of(on ? ui.skin.accent : ui.skin.line));
  ImGui::PushStyleColor(ImGuiCol_Text, colour_of(on ? ui.skin.text : ui.skin.muted));
  const bool pressed = button(ui, id, word, help);
  ImGui::PopStyleColor(3);
  ImGui::PopStyleVar(3);
  return pressed;
}

bool link(Ui& ui, std::string_view id, const char* label, std::string_view help) {
  const PushedId pushed(id);
  ImGui::SameLine(0, 6 * ui.skin.scale);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.accent);
  const bool pressed = ImGui::Selectable(label, false, 0, ImGui::CalcTextSize(label));
  note_text(label);
  ImGui::PopStyleColor();
  finish(ui, id, help);
  return pressed;
}

bool menu_item(Ui& ui, std::string_view id, const char* label, const char* keys, bool on) {
  const bool chosen = ImGui::MenuItem(label, keys, on);
  note_left(label);
  note_item(ui, id);
  return chosen;
}

bool begin_menu(Ui& ui, std::string_view id, const char* title) {
  const bool open = ImGui::BeginMenu(title);
  note_item(ui, id);
  return open;
}

bool selectable(Ui& ui, std::string_view id, const char* label, bool selected, bool whole_row) {
  const PushedId pushed(id);
  const bool pressed = ImGui::Selectable(
      label, selected, whole_row ? ImGuiSelectableFlags_SpanAllColumns : ImGuiSelectableFlags_None);
  note_left(label);
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

/// The field whose text is being typed, and the text: the other fields show their values in their own way.
ImGuiID g_typed_field = 0;
std::string g_typed_text;

/// The frame of a field whose inside is several widgets, which draw none of their own.
class FieldFrame {
 public:
  FieldFrame(const Ui& ui, float width, bool refused) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ImVec2 end(at.x + width, at.y + ImGui::GetFrameHeight());
    const float round = ImGui::GetStyle().FrameRounding;
    const bool hovered = ImGui::IsMouseHoveringRect(at, end) && ImGui::IsWindowHovered();
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    draw.AddRectFilled(at, end, hovered ? ui.skin.raised : ui.skin.background, round);
    draw.AddRect(at, end, refused ? ui.skin.problem : ui.skin.line, round);
    ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
    for (const ImGuiCol colour : {ImGuiCol_FrameBg, ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive,
                                  ImGuiCol_Button, ImGuiCol_ButtonHovered, ImGuiCol_ButtonActive})
      ImGui::PushStyleColor(colour, 0);
  }
  ~FieldFrame() {
    ImGui::PopStyleColor(6);
    ImGui::PopStyleVar();
  }
  FieldFrame(const FieldFrame&) = delete;
  FieldFrame& operator=(const FieldFrame&) = delete;
};

/// A value at the right end of a box from `at`, `width` wide.
void draw_look(const Ui& ui, const FieldLook& look, ImVec2 at, float width) {
  const ImGuiStyle& style = ImGui::GetStyle();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float gap = look.unit.empty() ? 0 : style.ItemInnerSpacing.x;
  const float unit = ImGui::CalcTextSize(look.unit.c_str()).x;
  const float right = at.x + width - style.FramePadding.x;
  const float y = at.y + style.FramePadding.y;
  const std::string text = fitted(look.shown, width - 2 * style.FramePadding.x - unit - gap);
  put_text(draw, ImVec2(right - unit, y), ui.skin.muted, look.unit);
  put_text(draw, ImVec2(right - unit - gap - ImGui::CalcTextSize(text.c_str()).x, y),
           look.muted ? ui.skin.muted : ui.skin.text, text);
}

/// The ground of a field, with a bar from its left end.
void draw_bar_across(const Ui& ui, const FieldLook& look, ImVec2 at, float width) {
  constexpr unsigned kFaintBar = 70;
  const float round = ImGui::GetStyle().FrameRounding;
  const float foot = at.y + ImGui::GetFrameHeight();
  const float end = at.x + width * static_cast<float>(std::clamp(look.bar, 0.0, 1.0));
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, ImVec2(at.x + width, foot), ui.skin.background, round);
  draw.AddRectFilled(at, ImVec2(end, foot), with_alpha(ui.skin.accent, kFaintBar), round);
}

/// Dear ImGui's own field under `label`, its text hidden unless it is being typed. Returns true when it is finished; `text` is then what was typed.
bool typed_field(const Ui& ui, const char* label, std::string& text, const FieldLook& look, ImVec2 at,
                 float width) {
  const ImGuiID me = ImGui::GetID(label);
  const bool typed = g_typed_field == me;
  std::string edited = typed ? g_typed_text : text;
  if (!typed) ImGui::PushStyleColor(ImGuiCol_Text, 0);
  const bool entered = ImGui::InputText(
      label, &edited, ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (!typed) ImGui::PopStyleColor();
  const bool finished = ImGui::IsItemDeactivatedAfterEdit() || entered;
  if (ImGui::IsItemActive()) {
    g_typed_field = me;
    g_typed_text = edited;
  } else if (typed) {
    g_typed_field = 0;
  }
  if (!typed) draw_look(ui, look, at, width);
  if (finished) text = std::move(edited);
  return finished;
}

}  // namespace

bool value_field(Ui& ui, std::string_view id, std::string& text, const FieldLook& look,
                 std::string_view help) {
  const PushedId pushed(id);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::CalcItemWidth();
  if (look.bar > 0) draw_bar_across(ui, look, at, width);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, look.bar > 0 ? 0 : ui.skin.background);
  if (look.refused) ImGui::PushStyleColor(ImGuiCol_Border, ui.skin.problem);
  const bool finished = typed_field(ui, "##text", text, look, at, width);
  ImGui::PopStyleColor(look.refused ? 2 : 1);
  finish(ui, id, help);
  return finished;
}

bool sign_button(Ui& ui, std::string_view id, Icon icon, float width, bool shown, std::string_view help) {
  const PushedId pushed(id);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size(width, ImGui::GetFrameHeight());
  const bool pressed = ImGui::InvisibleButton("##sign", size);
  if (shown)
    draw_icon(icon, ImVec2(at.x + size.x / 2, at.y + size.y / 2),
              ImGui::IsItemHovered() ? ui.skin.text : ui.skin.muted);
  finish(ui, id, help);
  return pressed;
}

namespace {

/// Acts at once, where a typed number waits until it is finished.
bool step_button(Ui& ui, std::string_view id, Icon icon, const char* name, float width, bool possible) {
  ImGui::SameLine(0, 0);
  ImGui::BeginDisabled(!possible);
  ImGui::PushButtonRepeat(true);
  const bool pressed = sign_button(ui, std::string(id) + name, icon, width, possible);
  ImGui::PopButtonRepeat();
  ImGui::EndDisabled();
  return pressed;
}

}  // namespace

CountChange count_field(Ui& ui, std::string_view id, std::string& text, const FieldLook& look, bool less,
                        bool more, std::string_view help) {
  const PushedId pushed(id);
  const float whole = ImGui::CalcItemWidth();
  const FieldFrame frame(ui, whole, look.refused);
  const float step = std::min(18 * ui.skin.scale, whole / 4);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(whole - 2 * step - 2 * ui.skin.scale, 1.0F);
  ImGui::SetNextItemWidth(width);
  CountChange change = CountChange::None;
  if (typed_field(ui, "##text", text, look, at, width)) change = CountChange::Typed;
  finish(ui, id, help);
  if (step_button(ui, id, Icon::Minus, "-", step, less)) change = CountChange::Less;
  if (step_button(ui, id, Icon::Plus, "+", step, more)) change = CountChange::More;
  return change;
}

bool number_field(Ui& ui, std::string_view id, int& value, int least, int most, std::string_view help) {
  const int before = value;
  std::string text = std::to_string(value);
  const FieldLook look = {text, ""};
  const CountChange change = count_field(ui, id, text, look, value > least, value < most, help);
  if (change == CountChange::Typed)
    value = std::clamp(number_in<int>(trimmed(text)).value_or(value), least, most);
  if (change == CountChange::Less) --value;
  if (change == CountChange::More) ++value;
  return value != before;
}

bool knob(Ui& ui, std::string_view id, double& share, std::string_view help) {
  const PushedId pushed(id);
  const float radius = 5 * ui.skin.scale;
  const float width = std::max(ImGui::CalcItemWidth(), 4 * radius);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("##knob", ImVec2(width, 2 * radius + 2 * ui.skin.scale));
  const float left = at.x + radius;
  const float length = width - 2 * radius;
  bool changed = false;
  if (ImGui::IsItemActive()) {
    const double wanted = std::clamp((ImGui::GetIO().MousePos.x - left) / length, 0.0F, 1.0F);
    changed = wanted != share;
    share = wanted;
  }
  const float middle = at.y + radius + ui.skin.scale;
  const float x = left + length * static_cast<float>(std::clamp(share, 0.0, 1.0));
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(ImVec2(left, middle - ui.skin.scale), ImVec2(left + length, middle + ui.skin.scale),
                     ui.skin.line, ui.skin.scale);
  const bool lit = ImGui::IsItemHovered() || ImGui::IsItemActive();
  draw.AddCircleFilled(ImVec2(x, middle), lit ? radius : 0.8F * radius, ui.skin.accent);
  finish(ui, id, help);
  return changed;
}

bool slider(Ui& ui, std::string_view id, double& value, double least, double most, const char* format,
            std::string_view help) {
  const PushedId pushed(id);
  const bool changed = ImGui::SliderScalar("##slider", ImGuiDataType_Double, &value, &least, &most, format);
  finish(ui, id, help);
  return changed;
}

namespace {

/// The list of a combo that is open.
bool draw_entries(Ui& ui, std::string_view id, std::span<const std::string> entries, int& chosen) {
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

/// A small wedge, the sign of a list.
void draw_wedge(const Ui& ui, float right, float top) {
  draw_icon(
      Icon::Down,
      ImVec2(right - ImGui::GetStyle().FramePadding.x - icon_width() / 2, top + ImGui::GetFrameHeight() / 2),
      ui.skin.muted);
}

/// The wedge with a little air.
float wedge_width(const Ui& ui) {
  return icon_width() + 5 * ui.skin.scale;
}

/// The width of a combo in addition to its text: padding, and the wedge.
float around_choice(const Ui& ui) {
  return 2 * ImGui::GetStyle().FramePadding.x + wedge_width(ui);
}

}  // namespace

float choice_width(const Ui& ui, std::span<const std::string> entries) {
  float most = 0;
  for (const std::string& entry : entries) most = std::max(most, ImGui::CalcTextSize(entry.c_str()).x);
  return std::min(most + around_choice(ui) + ui.skin.scale, 260 * ui.skin.scale);
}

bool choice(Ui& ui, std::string_view id, std::span<const std::string> entries, int& chosen,
            std::string_view help) {
  const PushedId pushed(id);
  const bool known = chosen >= 0 && static_cast<std::size_t>(chosen) < entries.size();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::CalcItemWidth();
  const std::string name = known ? entries[static_cast<std::size_t>(chosen)] : "";
  const std::string shown = fitted(name, width - around_choice(ui));
  const bool open = ImGui::BeginCombo("##choice", shown.c_str(),
                                      ImGuiComboFlags_NoArrowButton | ImGuiComboFlags_HeightLarge);
  const std::string whole = shown == name ? "" : name + (help.empty() ? "" : "\n");
  finish(ui, id, open ? std::string() : whole + std::string(help));
  if (open) return draw_entries(ui, id, entries, chosen);
  draw_wedge(ui, at.x + width, at.y);
  return false;
}

bool value_choice(Ui& ui, std::string_view id, std::span<const std::string> entries, int& chosen,
                  const FieldLook& look, std::string_view help) {
  const PushedId pushed(id);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::CalcItemWidth();
  const bool open = ImGui::BeginCombo("##choice", "", ImGuiComboFlags_NoArrowButton);
  finish(ui, id, open ? std::string_view() : help);
  if (open) return draw_entries(ui, id, entries, chosen);
  draw_look(ui, look, at, width - wedge_width(ui));
  draw_wedge(ui, at.x + width, at.y);
  return false;
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
  text_item(text);
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
