#pragma once

// Input as a script makes it.

#include <cstdint>

#include "gui/model/session/keys.hpp"

namespace pipeloom::gui {

[[nodiscard]] InputEvent key_event(Key key, bool down);
[[nodiscard]] InputEvent button_event(MouseButton button, bool down);
/// Pixels of the window.
[[nodiscard]] InputEvent move_event(float x, float y);
/// Steps up.
[[nodiscard]] InputEvent wheel_event(float steps);
[[nodiscard]] InputEvent character_event(std::uint32_t character);

}  // namespace pipeloom::gui
