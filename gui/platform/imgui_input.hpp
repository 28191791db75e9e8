#pragma once

// Passes a frame's input to Dear ImGui. The one place that knows the form that its versions take: arrays before 1.87, events since.

#include <span>

#include "gui/model/session/keys.hpp"
#include "gui/platform/platform.hpp"

namespace pipeloom::gui {

/// Once, after the ImGui context is made and before its first frame: key table, clipboard of `platform`, keyboard navigation of
/// widgets, no file of ImGui's own. `platform` must outlive the context's last frame.
void set_up_input(Platform& platform);

/// Before ImGui::NewFrame: takes the events of InputQueue::take_frame(), in their order. Tab and its reverse walk every widget that takes the
/// keyboard; Space and Enter press it; arrows move among neighbours.
void feed_input(std::span<const InputEvent> events);
/// One of them. ImGuiIO's KeyCtrl, KeyShift, KeyAlt and KeySuper are right for it when it returns.
void feed_input(const InputEvent& event);

/// Right after ImGui::NewFrame: Alt that was held for a key or the mouse does not wake the menu bar when it is let go; Alt alone does.
void keep_menu_asleep();

/// After a frame: the pointer's shape that the widget under it asks for.
[[nodiscard]] PointerShape wanted_pointer();

}  // namespace pipeloom::gui
