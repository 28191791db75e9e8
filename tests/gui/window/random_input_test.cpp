// Whatever comes in, the program goes on. The events are random, the seed is not.

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "gui/app.hpp"
#include "gui/model/session/command.hpp"
#include "gui/script_runner.hpp"
#include "support/catch.hpp"

namespace pipeloom::gui::random_input_test {
namespace {

constexpr int kWidth = 1280;
constexpr int kHeight = 720;
constexpr int kEventsBetweenStarts = 1000;

/// Events in the proportions of somebody who plays with everything.
class Player {
 public:
  explicit Player(std::uint64_t seed) : random_(seed) {}

  InputEvent next() {
    InputEvent event;
    const int what = upto(100);
    if (what < 35) return moved();
    if (what < 55) return button();
    if (what < 80) return key();
    if (what < 88) return wheel();
    if (what < 97) {
      event.type = InputEvent::Type::Character;
      event.character = upto(20) == 0 ? static_cast<std::uint32_t>(upto(0x110000))
                                      : static_cast<std::uint32_t>(32 + upto(95));
      return event;
    }
    if (what < 99) {
      event.type = InputEvent::Type::Focus;
      event.focused = upto(2) == 0;
      return event;
    }
    event.type = InputEvent::Type::Drop;
    event.paths = {"no such file", "."};
    return event;
  }
  int upto(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }

 private:
  InputEvent moved() {
    InputEvent event;
    // Now and then far outside, as a captured pointer is.
    const int margin = upto(50) == 0 ? 5000 : 20;
    event.x = static_cast<float>(upto(kWidth + 2 * margin) - margin);
    event.y = static_cast<float>(upto(kHeight + 2 * margin) - margin);
    return event;
  }
  InputEvent button() {
    InputEvent event;
    event.button = upto(10) < 7 ? MouseButton::Left : static_cast<MouseButton>(upto(kMouseButtons));
    bool& down = buttons_[static_cast<std::size_t>(event.button)];
    down = !down;
    event.type = down ? InputEvent::Type::ButtonDown : InputEvent::Type::ButtonUp;
    return event;
  }
  InputEvent key() {
    InputEvent event;
    event.key =
        upto(3) == 0 ? static_cast<Key>(256 + upto(kKeys - 256)) : key_of(static_cast<char>(' ' + upto(64)));
    bool& down = keys_[static_cast<std::size_t>(event.key)];
    // A key is not held for long.
    down = !down && upto(4) != 0;
    event.type = down ? InputEvent::Type::KeyDown : InputEvent::Type::KeyUp;
    return event;
  }
  InputEvent wheel() {
    InputEvent event;
    event.type = InputEvent::Type::Wheel;
    event.x = static_cast<float>(upto(5) - 2);
    event.y = static_cast<float>(upto(11) - 5);
    return event;
  }

  std::mt19937_64 random_;
  bool buttons_[kMouseButtons] = {};
  bool keys_[kKeys] = {};
};

/// Plays `events` events with a program that was just started; the share of its frames that showed a run.
double play(Player& player, int events) {
  const ImGuiScope scope;
  App app(open_null({kWidth, kHeight}));
  app.ui().items.record(true);
  app.set_frame_step(1.0 / 60);
  // A ready configuration is shown at the start; playing begins when it is there.
  for (int patience = 0; patience < 200 && (app.session().runs.empty() || !app.session().idle());
       ++patience) {
    app.platform().collect(app.input(), 0.005);
    app.frame();
  }
  std::size_t with_run = 0;
  const std::size_t first = app.frames();
  for (int done = 0; done < events;) {
    for (int more = 1 + player.upto(12); more > 0 && done < events; --more, ++done)
      app.input().push(player.next());
    app.frame();
    // Ctrl+Q is among the keys.
    app.session().quit = false;
    if (!app.session().runs.empty()) ++with_run;
  }
  while (!app.input().empty()) app.frame();
  REQUIRE_FALSE(dump_state(app).empty());
  return static_cast<double>(with_run) / static_cast<double>(app.frames() - first);
}

/// A folder of its own to work in, for commands that save.
class Folder {
 public:
  Folder() : former_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "pipeloom-random-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    std::filesystem::current_path(path_);
    ::setenv("XDG_CONFIG_HOME", path_.c_str(), 1);
    ::setenv("XDG_STATE_HOME", path_.c_str(), 1);
    ::setenv("HOME", path_.c_str(), 1);
  }
  ~Folder() {
    std::filesystem::current_path(former_);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  std::filesystem::path former_;
  std::filesystem::path path_;
};

int number_of_events() {
  const char* wanted = std::getenv("PIPELOOM_RANDOM_EVENTS");
  return wanted == nullptr ? 50000 : std::atoi(wanted);
}

TEST_CASE("random input never ends the program") {
  const Folder folder;
  Player player(20261121);
  double with_run = 0;
  int starts = 0;
  // Who plays long enough has closed every panel and every run, and typed nonsense into every field: then it starts again.
  for (int left = number_of_events(); left > 0; left -= kEventsBetweenStarts, ++starts)
    with_run += play(player, std::min(left, kEventsBetweenStarts));
  // Else nothing much was played with.
  CHECK(with_run / starts > 0.2);
}

}  // namespace
}  // namespace pipeloom::gui::random_input_test
