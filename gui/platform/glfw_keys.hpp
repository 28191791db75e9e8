#pragma once

// GLFW's keys as ours.

#include "gui/model/session/keys.hpp"

namespace pipeloom::gui {

/// `glfw_key` and `scancode` as GLFW's key callback gives them. A letter is the one that the user's layout prints on the key, as
/// that is the one that menus name. Key::None for keys that the window has no use for. REQUIRES: glfwInit() was called.
[[nodiscard]] Key key_of_glfw(int glfw_key, int scancode);

}  // namespace pipeloom::gui
