#include "gui/model/session/keys.hpp"

#include <array>
#include <bitset>
#include <cctype>

#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

struct NamedKey {
  std::string_view name;  // lower case
  std::string_view shown;
  Key key;
};

constexpr std::array kNamedKeys = {
    NamedKey{"space", "Space", Key::Space},
    NamedKey{"escape", "Esc", Key::Escape},
    NamedKey{"esc", "Esc", Key::Escape},
    NamedKey{"enter", "Enter", Key::Enter},
    NamedKey{"return", "Enter", Key::Enter},
    NamedKey{"tab", "Tab", Key::Tab},
    NamedKey{"backspace", "Backspace", Key::Backspace},
    NamedKey{"insert", "Insert", Key::Insert},
    NamedKey{"delete", "Del", Key::Delete},
    NamedKey{"right", "Right", Key::Right},
    NamedKey{"left", "Left", Key::Left},
    NamedKey{"down", "Down", Key::Down},
    NamedKey{"up", "Up", Key::Up},
    NamedKey{"pageup", "PageUp", Key::PageUp},
    NamedKey{"pagedown", "PageDown", Key::PageDown},
    NamedKey{"home", "Home", Key::Home},
    NamedKey{"end", "End", Key::End},
    NamedKey{"plus", "+", key_of('=')},
    NamedKey{"minus", "-", key_of('-')},
    NamedKey{"shift", "Shift", Key::Shift},
    NamedKey{"ctrl", "Ctrl", Key::Control},
    NamedKey{"alt", "Alt", Key::Alt},
    NamedKey{"super", "Super", Key::Super},
};

std::optional<Key> function_key(std::string_view name) {
  if (name.size() < 2 || name.size() > 3 || name[0] != 'f') return std::nullopt;
  int number = 0;
  for (const char c : name.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  if (number < 1 || number > 12) return std::nullopt;
  return static_cast<Key>(static_cast<int>(Key::F1) + number - 1);
}

std::optional<Chord> key_named(const std::string& name) {
  for (const NamedKey& key : kNamedKeys)
    if (key.name == name) return Chord{key.key};
  if (const auto key = function_key(name)) return Chord{*key};
  if (name == "?") return Chord{key_of('/'), false, true};
  if (name.size() == 1 && name[0] > ' ' && name[0] < 127)
    return Chord{key_of(static_cast<char>(std::toupper(static_cast<unsigned char>(name[0]))))};
  return std::nullopt;
}

}  // namespace

std::optional<Chord> parse_chord(std::string_view text) {
  Chord held;
  std::string rest = lower(text);
  while (true) {
    const std::size_t plus = rest.find('+');
    if (plus == std::string::npos || plus == 0 || plus + 1 == rest.size()) break;
    const std::string modifier = rest.substr(0, plus);
    if (modifier == "ctrl")
      held.ctrl = true;
    else if (modifier == "shift")
      held.shift = true;
    else if (modifier == "alt")
      held.alt = true;
    else
      return std::nullopt;
    rest.erase(0, plus + 1);
  }
  const auto chord = key_named(rest);
  if (!chord) return std::nullopt;
  return Chord{chord->key, held.ctrl, held.shift || chord->shift, held.alt};
}

std::string to_text(const Chord& chord) {
  if (chord == Chord{key_of('/'), false, true}) return "?";
  std::string out;
  if (chord.ctrl) out += "Ctrl+";
  if (chord.alt) out += "Alt+";
  if (chord.shift) out += "Shift+";
  const int code = static_cast<int>(chord.key);
  for (const NamedKey& key : kNamedKeys)
    if (key.key == chord.key) return out + std::string(key.shown);
  if (chord.key >= Key::F1 && chord.key <= Key::F12)
    return out + "F" + std::to_string(code - static_cast<int>(Key::F1) + 1);
  return out + static_cast<char>(code);
}

namespace {

/// A frame gets characters and keys separately, so their order would be lost.
enum class Typed : std::uint8_t { Nothing, Character, EditingKey };

/// A key that edits a text, or makes characters count for nothing.
bool edits(Key key) {
  return static_cast<int>(key) >= 256 && key != Key::Shift;
}

bool mixes(const InputEvent& event, Typed& typed) {
  if (event.type == InputEvent::Type::Character) {
    if (typed == Typed::EditingKey) return true;
    typed = Typed::Character;
  } else if (event.type == InputEvent::Type::KeyDown && edits(event.key)) {
    if (typed == Typed::Character) return true;
    typed = Typed::EditingKey;
  }
  return false;
}

}  // namespace

std::vector<InputEvent> InputQueue::take_frame() {
  std::vector<InputEvent> taken;
  Typed typed = Typed::Nothing;
  std::bitset<kKeys> keys;
  std::bitset<kMouseButtons> buttons;
  while (!events_.empty()) {
    const InputEvent& event = events_.front();
    if (mixes(event, typed)) return taken;
    switch (event.type) {
      case InputEvent::Type::KeyDown:
      case InputEvent::Type::KeyUp: {
        const auto key = static_cast<std::size_t>(event.key);
        if (keys.test(key)) return taken;
        keys.set(key);
        break;
      }
      case InputEvent::Type::ButtonDown:
      case InputEvent::Type::ButtonUp: {
        const auto button = static_cast<std::size_t>(event.button);
        if (buttons.test(button)) return taken;
        buttons.set(button);
        break;
      }
      case InputEvent::Type::MouseMove:
        // The pointer's place at the transition is part of it.
        if (buttons.any()) return taken;
        break;
      default:
        break;
    }
    taken.push_back(std::move(events_.front()));
    events_.pop_front();
  }
  return taken;
}

}  // namespace pipeloom::gui
