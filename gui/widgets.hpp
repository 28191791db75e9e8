#pragma once

// Widgets that tell Items where they are. Each is Dear ImGui's own widget of that name, with an id ("params/ranks") instead of a label
// for identity, and a text that explains it on hover. Views use these wherever a script may want to reach the widget.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gui/draw/icon_draw.hpp"
#include "gui/explanation.hpp"
#include "gui/texts.hpp"
#include "gui/ui.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

/// Notes the rectangle of the widget that was drawn last.
void note_item(Ui& ui, std::string_view id);

bool button(Ui& ui, std::string_view id, const char* label, std::string_view help = {});
/// The button of a sheet that does what the sheet is for, in the accent colour.
bool primary_button(Ui& ui, std::string_view id, const char* label, std::string_view help = {});
bool small_button(Ui& ui, std::string_view id, const char* label, std::string_view help = {});
/// A square button with a sign; `help` names its action.
bool icon_button(Ui& ui, std::string_view id, Icon icon, std::string_view help);
bool checkbox(Ui& ui, std::string_view id, const char* label, bool& value, std::string_view help = {});
/// The button "ID/write" that writes the file `path`. Where one is there that the window did not write, it is dead, and another button, "ID/replace",
/// says the name of what it replaces. Returns how to write, once one is pressed.
std::optional<io::Overwrite> write_button(Ui& ui, const std::string& id, const char* label,
                                          const std::string& path, bool own, std::string_view help = {});
/// A word in a thin frame, in the accent colour while it is on.
bool chip(Ui& ui, std::string_view id, const char* word, bool on, std::string_view help = {});
/// A word that can be clicked, after the text before it.
bool link(Ui& ui, std::string_view id, const char* label, std::string_view help);
/// An entry of a menu, with the keys that do the same, and a check mark while it is on.
bool menu_item(Ui& ui, std::string_view id, const char* label, const char* keys, bool on = false);
/// A menu's title. Where it returns true, the entries follow, and then ImGui::EndMenu().
bool begin_menu(Ui& ui, std::string_view id, const char* title);
bool selectable(Ui& ui, std::string_view id, const char* label, bool selected, bool whole_row = false);
/// Takes the keyboard from the field that has it, so that it takes another text once it gets the keyboard again.
void begin_field_anew();
/// True if Esc was pressed and no list of a field was open that it closes.
[[nodiscard]] bool escape_pressed(const Ui& ui);
/// True when Enter was pressed or the field left with another text.
bool text_field(Ui& ui, std::string_view id, std::string& text, const char* hint = "",
                std::string_view help = {});
/// The same, true on every change.
bool live_text_field(Ui& ui, std::string_view id, std::string& text, const char* hint = "");
/// A value as it reads while it is not edited, at the right of its field, followed by its unit; muted where it is a default, in a frame of the
/// error colour where it is refused.
struct FieldLook {
  std::string shown;
  std::string unit;
  bool muted = false;
  bool refused = false;
  double bar = 0;  ///< the share of the field that a bar under the value fills
};
/// text_field() that shows `look` until it has the keyboard; text that is too long is cut in the middle. Returns true when Enter was pressed or the
/// field left, by Tab or a click, with another text; `text` is the value in use, then the one that was typed.
bool value_field(Ui& ui, std::string_view id, std::string& text, const FieldLook& look,
                 std::string_view help = {});
/// choice() with the chosen entry at the right, as value_field() has it.
bool value_choice(Ui& ui, std::string_view id, std::span<const std::string> entries, int& chosen,
                  const FieldLook& look, std::string_view help = {});
/// A change of a count: a text was typed, or one of the signs was pressed.
enum class CountChange : std::uint8_t { None, Typed, Less, More };
/// value_field() with quiet - and + inside, which are there where a step is possible.
CountChange count_field(Ui& ui, std::string_view id, std::string& text, const FieldLook& look, bool less,
                        bool more, std::string_view help = {});
/// count_field() of a number from `least` to `most`; true when the number changed. A text that is none leaves it as it is.
bool number_field(Ui& ui, std::string_view id, int& value, int least, int most, std::string_view help = {});
/// A quiet sign without a frame, for the inside of fields: it shows itself while `shown`, and is there for scripts always.
bool sign_button(Ui& ui, std::string_view id, Icon icon, float width, bool shown, std::string_view help = {});
/// A line with a knob, as wide as the next item would be, 0 at its left end and 1 at its right; true when the share changed.
bool knob(Ui& ui, std::string_view id, double& share, std::string_view help = {});
bool slider(Ui& ui, std::string_view id, double& value, double least, double most, const char* format,
            std::string_view help = {});
/// The width of a choice that shows the longest of its entries whole; less if that is very long.
[[nodiscard]] float choice_width(const Ui& ui, std::span<const std::string> entries);
/// True when another entry was chosen; `chosen` is its index. Entries are items too: "id:entry". A name that is too long for the width
/// loses its middle, and is whole in the help.
bool choice(Ui& ui, std::string_view id, std::span<const std::string> entries, int& chosen,
            std::string_view help = {});
/// A line of text in the skin's colours.
void muted_text(const Ui& ui, std::string_view text);
void problem_text(const Ui& ui, std::string_view text);
void wrapped_text(std::string_view text);

/// Begins a window over the others, in the middle, that people neither move nor resize: `width` pixels at scale 1 (or what there is
/// room for), its top at this share of the display's height. `flags` are further ImGuiWindowFlags. Ends with ImGui::End().
void begin_overlay(const Ui& ui, const char* title, float width, float top, int flags, bool* open = nullptr);

}  // namespace pipeloom::gui
