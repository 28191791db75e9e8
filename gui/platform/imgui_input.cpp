#include "gui/platform/imgui_input.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <array>
#include <string>

#include "gui/platform/tab_order.hpp"

namespace pipeloom::gui {
namespace {

struct KeyPair {
  Key ours;
  ImGuiKey theirs;
};

#if IMGUI_VERSION_NUM < 18700
// Dear ImGui gets its keys as positions of our own table, and asks for no more than these.
constexpr std::array kKeyPairs = {
    KeyPair{Key::Tab, ImGuiKey_Tab},           KeyPair{Key::Left, ImGuiKey_LeftArrow},
    KeyPair{Key::Right, ImGuiKey_RightArrow},  KeyPair{Key::Up, ImGuiKey_UpArrow},
    KeyPair{Key::Down, ImGuiKey_DownArrow},    KeyPair{Key::PageUp, ImGuiKey_PageUp},
    KeyPair{Key::PageDown, ImGuiKey_PageDown}, KeyPair{Key::Home, ImGuiKey_Home},
    KeyPair{Key::End, ImGuiKey_End},           KeyPair{Key::Insert, ImGuiKey_Insert},
    KeyPair{Key::Delete, ImGuiKey_Delete},     KeyPair{Key::Backspace, ImGuiKey_Backspace},
    KeyPair{Key::Space, ImGuiKey_Space},       KeyPair{Key::Enter, ImGuiKey_Enter},
    KeyPair{Key::Escape, ImGuiKey_Escape},     KeyPair{key_of('A'), ImGuiKey_A},
    KeyPair{key_of('C'), ImGuiKey_C},          KeyPair{key_of('V'), ImGuiKey_V},
    KeyPair{key_of('X'), ImGuiKey_X},          KeyPair{key_of('Y'), ImGuiKey_Y},
    KeyPair{key_of('Z'), ImGuiKey_Z}};
static_assert(kKeys <= 512, "ImGuiIO::KeysDown has 512 places");

void map_keys(ImGuiIO& io) {
  for (const KeyPair& pair : kKeyPairs) io.KeyMap[pair.theirs] = static_cast<int>(pair.ours);
}

void feed_key(ImGuiIO& io, Key key, bool down) {
  io.KeysDown[static_cast<std::size_t>(key)] = down;
}

void feed_focus(ImGuiIO& io, bool focused) {
  io.AddFocusEvent(focused);
  if (focused) return;
  for (bool& down : io.KeysDown) down = false;
}

void feed_move(ImGuiIO& io, float x, float y) {
  io.MousePos = ImVec2(x, y);
}

void feed_button(ImGuiIO& io, MouseButton button, bool down) {
  io.MouseDown[static_cast<std::size_t>(button)] = down;
}

void feed_wheel(ImGuiIO& io, float x, float y) {
  io.MouseWheelH += x;
  io.MouseWheel += y;
}
#else
constexpr std::array kKeyPairs = {KeyPair{Key::Tab, ImGuiKey_Tab},
                                  KeyPair{Key::Left, ImGuiKey_LeftArrow},
                                  KeyPair{Key::Right, ImGuiKey_RightArrow},
                                  KeyPair{Key::Up, ImGuiKey_UpArrow},
                                  KeyPair{Key::Down, ImGuiKey_DownArrow},
                                  KeyPair{Key::PageUp, ImGuiKey_PageUp},
                                  KeyPair{Key::PageDown, ImGuiKey_PageDown},
                                  KeyPair{Key::Home, ImGuiKey_Home},
                                  KeyPair{Key::End, ImGuiKey_End},
                                  KeyPair{Key::Insert, ImGuiKey_Insert},
                                  KeyPair{Key::Delete, ImGuiKey_Delete},
                                  KeyPair{Key::Backspace, ImGuiKey_Backspace},
                                  KeyPair{Key::Space, ImGuiKey_Space},
                                  KeyPair{Key::Enter, ImGuiKey_Enter},
                                  KeyPair{Key::Escape, ImGuiKey_Escape},
                                  KeyPair{key_of('\''), ImGuiKey_Apostrophe},
                                  KeyPair{key_of(','), ImGuiKey_Comma},
                                  KeyPair{key_of('-'), ImGuiKey_Minus},
                                  KeyPair{key_of('.'), ImGuiKey_Period},
                                  KeyPair{key_of('/'), ImGuiKey_Slash},
                                  KeyPair{key_of(';'), ImGuiKey_Semicolon},
                                  KeyPair{key_of('='), ImGuiKey_Equal},
                                  KeyPair{key_of('['), ImGuiKey_LeftBracket},
                                  KeyPair{key_of('\\'), ImGuiKey_Backslash},
                                  KeyPair{key_of(']'), ImGuiKey_RightBracket},
                                  KeyPair{key_of('`'), ImGuiKey_GraveAccent},
                                  KeyPair{Key::Shift, ImGuiKey_LeftShift},
                                  KeyPair{Key::Control, ImGuiKey_LeftCtrl},
                                  KeyPair{Key::Alt, ImGuiKey_LeftAlt},
                                  KeyPair{Key::Super, ImGuiKey_LeftSuper}};
#if IMGUI_VERSION_NUM < 18900
constexpr ImGuiKey kModCtrl = ImGuiKey_ModCtrl;
constexpr ImGuiKey kModShift = ImGuiKey_ModShift;
constexpr ImGuiKey kModAlt = ImGuiKey_ModAlt;
constexpr ImGuiKey kModSuper = ImGuiKey_ModSuper;
#else
constexpr ImGuiKey kModCtrl = ImGuiMod_Ctrl;
constexpr ImGuiKey kModShift = ImGuiMod_Shift;
constexpr ImGuiKey kModAlt = ImGuiMod_Alt;
constexpr ImGuiKey kModSuper = ImGuiMod_Super;
#endif

ImGuiKey their_key(Key key) {
  const int code = static_cast<int>(key);
  if (code >= 'A' && code <= 'Z') return static_cast<ImGuiKey>(ImGuiKey_A + (code - 'A'));
  if (code >= '0' && code <= '9') return static_cast<ImGuiKey>(ImGuiKey_0 + (code - '0'));
  if (key >= Key::F1 && key <= Key::F12)
    return static_cast<ImGuiKey>(ImGuiKey_F1 + (code - static_cast<int>(Key::F1)));
  for (const KeyPair& pair : kKeyPairs)
    if (pair.ours == key) return pair.theirs;
  return ImGuiKey_None;
}

void map_keys(ImGuiIO& io) {
  // The input queue has already split events that no frame may get together.
  io.ConfigInputTrickleEventQueue = false;
}

void feed_key(ImGuiIO& io, Key key, bool down) {
  if (key == Key::Control) io.AddKeyEvent(kModCtrl, down);
  if (key == Key::Shift) io.AddKeyEvent(kModShift, down);
  if (key == Key::Alt) io.AddKeyEvent(kModAlt, down);
  if (key == Key::Super) io.AddKeyEvent(kModSuper, down);
  const ImGuiKey theirs = their_key(key);
  if (theirs != ImGuiKey_None) io.AddKeyEvent(theirs, down);
}

void feed_focus(ImGuiIO& io, bool focused) {
  io.AddFocusEvent(focused);
}

void feed_move(ImGuiIO& io, float x, float y) {
  io.AddMousePosEvent(x, y);
}

void feed_button(ImGuiIO& io, MouseButton button, bool down) {
  io.AddMouseButtonEvent(static_cast<int>(button), down);
}

void feed_wheel(ImGuiIO& io, float x, float y) {
  io.AddMouseWheelEvent(x, y);
}
#endif

/// Commands ask for the modifiers while a frame's events are still fed.
void note_modifiers(ImGuiIO& io, const InputEvent& event) {
  const bool down = event.type == InputEvent::Type::KeyDown;
  if (event.type == InputEvent::Type::Focus && !event.focused)
    io.KeyCtrl = io.KeyShift = io.KeyAlt = io.KeySuper = false;
  if (!down && event.type != InputEvent::Type::KeyUp) return;
  if (event.key == Key::Control) io.KeyCtrl = down;
  if (event.key == Key::Shift) io.KeyShift = down;
  if (event.key == Key::Alt) io.KeyAlt = down;
  if (event.key == Key::Super) io.KeySuper = down;
}

/// True if something else was pressed since Alt went down.
bool g_alt_in_chord = false;

void note_alt(const ImGuiIO& io, const InputEvent& event) {
  using Type = InputEvent::Type;
  if (event.type == Type::KeyDown && event.key == Key::Alt)
    g_alt_in_chord = false;
  else if (io.KeyAlt &&
           (event.type == Type::KeyDown || event.type == Type::ButtonDown || event.type == Type::Wheel))
    g_alt_in_chord = true;
}

/// Arrows with Alt are commands of ours, and move no keyboard focus.
bool is_hidden(const ImGuiIO& io, const InputEvent& event) {
  return event.type == InputEvent::Type::KeyDown && io.KeyAlt && event.key != Key::Alt &&
         event.key != Key::Control && event.key != Key::Shift && event.key != Key::Super;
}

/// Tab walks our own order of widgets; Dear ImGui never hears of it.
bool is_walk(const ImGuiIO& io, const InputEvent& event) {
  return event.key == Key::Tab && !io.KeyCtrl && !io.KeyAlt;
}

const char* clipboard_text(void* platform) {
  // Dear ImGui reads it before it asks again.
  static std::string text;
  text = static_cast<Platform*>(platform)->clipboard();
  return text.c_str();
}

void set_clipboard_text(void* platform, const char* text) {
  static_cast<Platform*>(platform)->set_clipboard(text);
}

}  // namespace

void set_up_input(Platform& platform) {
  ImGuiIO& io = ImGui::GetIO();
  map_keys(io);
  io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  io.BackendFlags |= ImGuiBackendFlags_HasMouseCursors;
  io.GetClipboardTextFn = clipboard_text;
  io.SetClipboardTextFn = set_clipboard_text;
  io.ClipboardUserData = &platform;
}

void feed_input(const InputEvent& event) {
  ImGuiIO& io = ImGui::GetIO();
  note_modifiers(io, event);
  note_alt(io, event);
  switch (event.type) {
    case InputEvent::Type::KeyDown:
    case InputEvent::Type::KeyUp:
      if (is_walk(io, event)) {
        if (event.type == InputEvent::Type::KeyDown) move_tab_focus(io.KeyShift);
        break;
      }
      if (is_hidden(io, event)) break;
      if (event.key != Key::None) feed_key(io, event.key, event.type == InputEvent::Type::KeyDown);
      break;
    case InputEvent::Type::Character:
      io.AddInputCharacter(event.character);
      break;
    case InputEvent::Type::MouseMove:
      feed_move(io, event.x, event.y);
      break;
    case InputEvent::Type::ButtonDown:
    case InputEvent::Type::ButtonUp:
      feed_button(io, event.button, event.type == InputEvent::Type::ButtonDown);
      break;
    case InputEvent::Type::Wheel:
      feed_wheel(io, event.x, event.y);
      break;
    case InputEvent::Type::Focus:
      feed_focus(io, event.focused);
      break;
    case InputEvent::Type::Drop:
      break;
  }
}

void feed_input(std::span<const InputEvent> events) {
  for (const InputEvent& event : events) feed_input(event);
}

void keep_menu_asleep() {
  // Dear ImGui has no switch for it: it toggles the menu layer on release of Alt unless a text came meanwhile.
  if (g_alt_in_chord) ImGui::GetCurrentContext()->NavWindowingToggleLayer = false;
}

PointerShape wanted_pointer() {
  switch (ImGui::GetMouseCursor()) {
    case ImGuiMouseCursor_TextInput:
      return PointerShape::Text;
    case ImGuiMouseCursor_ResizeEW:
      return PointerShape::ResizeHorizontal;
    case ImGuiMouseCursor_ResizeNS:
      return PointerShape::ResizeVertical;
    case ImGuiMouseCursor_Hand:
      return PointerShape::Hand;
    default:
      return PointerShape::Arrow;
  }
}

}  // namespace pipeloom::gui
