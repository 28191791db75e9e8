#pragma once

// Tab and Shift+Tab from widget to widget. Dear ImGui's own stops at text fields only, and within one window.

namespace pipeloom::gui {

/// Right after ImGui::NewFrame: moves the keyboard as asked.
void begin_tab_order();

/// After each widget that takes the keyboard: the widget drawn last is the next in the order.
void note_tab_stop();

/// Takes the keyboard from the field that has it, which keeps what it was given so far.
void release_keyboard();

/// Gives the keyboard to the widget drawn last from the next frame on.
void focus_last_item();

/// Gives the keyboard to the next widget (or the previous one) from the next frame on. Around the end it starts again. While a popup is open,
/// its widgets alone take part.
void move_tab_focus(bool backwards);

}  // namespace pipeloom::gui
