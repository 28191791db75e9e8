#include "gui/platform/glfw_keys.hpp"

#include <GLFW/glfw3.h>

#include <cctype>

namespace pipeloom::gui {
namespace {

struct GlfwKey {
  int glfw;
  Key ours;
};

constexpr GlfwKey kGlfwKeys[] = {{GLFW_KEY_SPACE, Key::Space},
                                 {GLFW_KEY_ESCAPE, Key::Escape},
                                 {GLFW_KEY_ENTER, Key::Enter},
                                 {GLFW_KEY_KP_ENTER, Key::Enter},
                                 {GLFW_KEY_TAB, Key::Tab},
                                 {GLFW_KEY_BACKSPACE, Key::Backspace},
                                 {GLFW_KEY_INSERT, Key::Insert},
                                 {GLFW_KEY_DELETE, Key::Delete},
                                 {GLFW_KEY_RIGHT, Key::Right},
                                 {GLFW_KEY_LEFT, Key::Left},
                                 {GLFW_KEY_DOWN, Key::Down},
                                 {GLFW_KEY_UP, Key::Up},
                                 {GLFW_KEY_PAGE_UP, Key::PageUp},
                                 {GLFW_KEY_PAGE_DOWN, Key::PageDown},
                                 {GLFW_KEY_HOME, Key::Home},
                                 {GLFW_KEY_END, Key::End},
                                 {GLFW_KEY_LEFT_SHIFT, Key::Shift},
                                 {GLFW_KEY_RIGHT_SHIFT, Key::Shift},
                                 {GLFW_KEY_LEFT_CONTROL, Key::Control},
                                 {GLFW_KEY_RIGHT_CONTROL, Key::Control},
                                 {GLFW_KEY_LEFT_ALT, Key::Alt},
                                 {GLFW_KEY_RIGHT_ALT, Key::Alt},
                                 {GLFW_KEY_LEFT_SUPER, Key::Super},
                                 {GLFW_KEY_RIGHT_SUPER, Key::Super},
                                 {GLFW_KEY_KP_ADD, key_of('=')},
                                 {GLFW_KEY_KP_SUBTRACT, key_of('-')},
                                 {GLFW_KEY_KP_DECIMAL, key_of('.')},
                                 {GLFW_KEY_KP_DIVIDE, key_of('/')}};

/// The sign that the user's layout prints on the key; '\0' if it is none of ASCII's.
char printed_sign(int glfw_key, int scancode) {
  const char* name = glfwGetKeyName(glfw_key, scancode);
  if (name == nullptr || name[0] <= ' ' || name[0] >= 127 || name[1] != '\0') return '\0';
  return static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
}

}  // namespace

Key key_of_glfw(int glfw_key, int scancode) {
  for (const GlfwKey& pair : kGlfwKeys)
    if (pair.glfw == glfw_key) return pair.ours;
  if (glfw_key >= GLFW_KEY_F1 && glfw_key <= GLFW_KEY_F12)
    return static_cast<Key>(static_cast<int>(Key::F1) + (glfw_key - GLFW_KEY_F1));
  if (glfw_key >= GLFW_KEY_KP_0 && glfw_key <= GLFW_KEY_KP_9)
    return key_of(static_cast<char>('0' + (glfw_key - GLFW_KEY_KP_0)));
  if (glfw_key <= GLFW_KEY_SPACE || glfw_key > GLFW_KEY_GRAVE_ACCENT) return Key::None;
  // The digit row keeps its digits on layouts that print other signs first.
  const bool digit = glfw_key >= GLFW_KEY_0 && glfw_key <= GLFW_KEY_9;
  const char sign = digit ? '\0' : printed_sign(glfw_key, scancode);
  return key_of(sign != '\0' ? sign : static_cast<char>(glfw_key));
}

}  // namespace pipeloom::gui
