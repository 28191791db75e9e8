#pragma once

// Keys, chords and input events, independent of any window system. Scripts, fuzzers and GLFW's callbacks all speak this.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::gui {

/// The keys that the window knows. Letters and digits are their upper-case ASCII code, punctuation its own.
enum class Key : std::uint16_t {
  None = 0,
  Space = ' ',
  // 33 .. 96: ASCII punctuation, digits, 'A' .. 'Z'
  Escape = 256,
  Enter,
  Tab,
  Backspace,
  Insert,
  Delete,
  Right,
  Left,
  Down,
  Up,
  PageUp,
  PageDown,
  Home,
  End,
  F1,
  F2,
  F3,
  F4,
  F5,
  F6,
  F7,
  F8,
  F9,
  F10,
  F11,
  F12,
  Shift,
  Control,
  Alt,
  Super,
};
[[nodiscard]] constexpr Key key_of(char ascii) {
  return static_cast<Key>(static_cast<unsigned char>(ascii));
}
inline constexpr int kKeys = static_cast<int>(Key::Super) + 1;

/// A key and the modifiers that are held with it.
struct Chord {
  Key key = Key::None;
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
  friend bool operator==(const Chord&, const Chord&) = default;
};
/// "ctrl+shift+p", "f", ".", "escape", "?" (which is shift+/ on the usual layouts: '?' and '/' with shift are the same chord). No
/// value for a text that names no key.
[[nodiscard]] std::optional<Chord> parse_chord(std::string_view text);
/// The text that people read: "Ctrl+Shift+P", "F", ".", "Home".
[[nodiscard]] std::string to_text(const Chord& chord);

enum class MouseButton : std::uint8_t { Left, Right, Middle };
inline constexpr int kMouseButtons = 3;

struct InputEvent {
  enum class Type : std::uint8_t {
    KeyDown,
    KeyUp,
    Character,
    MouseMove,
    ButtonDown,
    ButtonUp,
    Wheel,
    Focus,
    Drop
  };
  Type type = Type::MouseMove;
  Key key = Key::None;
  MouseButton button = MouseButton::Left;
  std::uint32_t character = 0;  ///< Unicode code point
  float x = 0;                  ///< pointer in pixels, or wheel steps to the right
  float y = 0;                  ///< pointer in pixels, or wheel steps up
  bool focused = true;
  std::vector<std::string> paths = {};  ///< Drop
};

/// Events that no frame has taken yet. A frame takes as many as it can tell apart: at most one transition of every
/// key and every button, so that a tap that went down and up between two frames is seen by both, and no pointer motion across a
/// button's transition. A character and a key that edits text (Backspace, Ctrl) are never in one frame, as their order would be
/// lost.
class InputQueue {
 public:
  void push(InputEvent event) { events_.push_back(std::move(event)); }
  /// The events of the next frame, in order; they leave the queue.
  [[nodiscard]] std::vector<InputEvent> take_frame();
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  std::deque<InputEvent> events_;
};

}  // namespace pipeloom::gui
