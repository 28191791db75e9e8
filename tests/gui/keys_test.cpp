#include "gui/model/session/keys.hpp"

#include "gui/model/session/command.hpp"
#include "support/catch.hpp"

namespace keys_test {

using namespace pipeloom::gui;

namespace {

InputEvent key(InputEvent::Type type, char letter) {
  InputEvent event;
  event.type = type;
  event.key = key_of(letter);
  return event;
}

InputEvent button(InputEvent::Type type) {
  InputEvent event;
  event.type = type;
  return event;
}

InputEvent move_to(float x) {
  InputEvent event;
  event.x = x;
  return event;
}

}  // namespace

TEST_CASE("chords read as they are shown") {
  for (const char* text :
       {"Ctrl+Shift+P", "F", ".", "Home", "Alt+Left", "?", "F12", "Ctrl++", "Shift+Enter"}) {
    CAPTURE(text);
    const auto chord = parse_chord(text);
    REQUIRE(chord);
    CHECK(to_text(*chord) == text);
  }
  CHECK_FALSE(parse_chord("hyper+x"));
  CHECK_FALSE(parse_chord("f13"));
  CHECK_FALSE(parse_chord(""));
}

TEST_CASE("no two commands share a key") {
  for (const Command& command : all_commands())
    for (const Chord& chord : command.keys) {
      CAPTURE(command.id, to_text(chord));
      CHECK(command_of(chord) == &command);
    }
}

TEST_CASE("a frame takes one transition of a key: a tap is seen down, then up") {
  InputQueue queue;
  for (int tap = 0; tap < 2; ++tap) {
    queue.push(key(InputEvent::Type::KeyDown, 'F'));
    queue.push(key(InputEvent::Type::KeyUp, 'F'));
  }
  for (const auto type : {InputEvent::Type::KeyDown, InputEvent::Type::KeyUp, InputEvent::Type::KeyDown,
                          InputEvent::Type::KeyUp}) {
    const auto frame = queue.take_frame();
    REQUIRE(frame.size() == 1);
    CHECK(frame[0].type == type);
  }
  CHECK(queue.take_frame().empty());
}

TEST_CASE("different keys go down in one frame") {
  InputQueue queue;
  queue.push(key(InputEvent::Type::KeyDown, 'A'));
  queue.push(key(InputEvent::Type::KeyDown, 'B'));
  CHECK(queue.take_frame().size() == 2);
}

TEST_CASE("a button's transition ends where the pointer goes on") {
  InputQueue queue;
  queue.push(move_to(1));
  queue.push(button(InputEvent::Type::ButtonDown));
  queue.push(move_to(2));
  queue.push(move_to(3));
  queue.push(button(InputEvent::Type::ButtonUp));
  CHECK(queue.take_frame().size() == 2);  // to 1, down
  CHECK(queue.take_frame().size() == 3);  // to 2, to 3, up
  CHECK(queue.empty());
}

}  // namespace keys_test
