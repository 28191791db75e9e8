#include "gui/script_input.hpp"

namespace pipeloom::gui {

InputEvent key_event(Key key, bool down) {
  InputEvent event;
  event.type = down ? InputEvent::Type::KeyDown : InputEvent::Type::KeyUp;
  event.key = key;
  return event;
}

InputEvent button_event(MouseButton button, bool down) {
  InputEvent event;
  event.type = down ? InputEvent::Type::ButtonDown : InputEvent::Type::ButtonUp;
  event.button = button;
  return event;
}

InputEvent move_event(float x, float y) {
  InputEvent event;
  event.type = InputEvent::Type::MouseMove;
  event.x = x;
  event.y = y;
  return event;
}

InputEvent wheel_event(float steps) {
  InputEvent event;
  event.type = InputEvent::Type::Wheel;
  event.y = steps;
  return event;
}

InputEvent character_event(std::uint32_t character) {
  InputEvent event;
  event.type = InputEvent::Type::Character;
  event.character = character;
  return event;
}

}  // namespace pipeloom::gui
