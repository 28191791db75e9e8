// Whatever comes in, the program goes on, and no text is over another. The events are random, the seed is not: PIPELOOM_RANDOM_SEED and
// PIPELOOM_RANDOM_EVENTS take others.

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <string>

#include "gui/app.hpp"
#include "gui/model/session/command.hpp"
#include "gui/script_runner.hpp"
#include "gui/texts.hpp"
#include "sim/io/json/json_value.hpp"
#include "support/catch.hpp"

namespace pipeloom::gui::random_input_test {
namespace {

constexpr int kWidth = 1280;
constexpr int kHeight = 720;
constexpr int kEventsBetweenStarts = 1000;
constexpr int kLastEvents = 40;

/// What commands may be given, right or wrong.
constexpr const char* kArguments[] = {"",
                                      "0",
                                      "3",
                                      "-1",
                                      "1e9",
                                      "ranks 8",
                                      "microbatches 32",
                                      "schedule zb-h1",
                                      "schedule zbv",
                                      "costs.forward 1.7",
                                      "costs.forward -1",
                                      "chunks 2",
                                      "memory.limit_bytes 6",
                                      "0/0F1 2",
                                      "1/1B0 0",
                                      "0/0F0",
                                      "stage",
                                      "slack",
                                      "dark",
                                      "light",
                                      "type:B stage:3",
                                      "dur>1",
                                      "dur>",
                                      "zb-h1",
                                      "showcase",
                                      "rank:0-3",
                                      "details",
                                      "params/ranks",
                                      "find/limit",
                                      "hang.csv",
                                      "sweep.jsonl",
                                      "a.svg",
                                      "b.csv --force",
                                      "1 4",
                                      "colour-blind",
                                      "objective peak_memory",
                                      "budget 0.1",
                                      "seed/dualpipe",
                                      "snap",
                                      "snap=other"};
/// What people type.
constexpr const char* kWords[] = {"8",    "1.5ms", "80GB",         "1e3", "abc", "type:B",
                                  "zoom", "ranks", "colour stage", "0",   "-5",  "a.png"};
constexpr PixelSize kSizes[] = {{1280, 720}, {1920, 1080}, {1000, 640}, {3840, 2160}};

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
  template <class T, std::size_t N>
  const T& one_of(const T (&all)[N]) {
    return all[static_cast<std::size_t>(upto(static_cast<int>(N)))];
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

/// A program that was just started, the events that it got, and what was wrong with its pictures.
class Game {
 public:
  Game(Player& player, std::set<std::string>& wrong) : player_(player), wrong_(wrong) {
    app_.ui().items.record(true);
    app_.set_frame_step(1.0 / 60);
    // A ready configuration is shown at the start; playing begins when it is there.
    for (int patience = 0; patience < 200 && (app_.session().runs.empty() || !app_.session().idle());
         ++patience) {
      app_.platform().collect(app_.input(), 0.005);
      app_.frame();
    }
  }

  /// Plays `events` events; the share of frames that showed a run.
  double play(int events) {
    std::size_t with_run = 0;
    const std::size_t first = app_.frames();
    for (int done = 0; done < events;) {
      for (int more = 1 + player_.upto(12); more > 0 && done < events; --more, ++done) push();
      frame();
      if (player_.upto(8) == 0) look();
      if (!app_.session().runs.empty()) ++with_run;
    }
    while (!app_.input().empty()) frame();
    look();
    const std::string state = dump_state(app_);
    REQUIRE_NOTHROW(io::Document::parse(state, "state"));
    return static_cast<double>(with_run) / static_cast<double>(app_.frames() - first);
  }

  /// The last events, for whoever reads of a failure.
  [[nodiscard]] std::string last_events() const {
    std::string text;
    for (const std::string& event : last_) text += event + "\n";
    return text;
  }

 private:
  void note(std::string event) {
    last_.push_back(std::move(event));
    if (last_.size() > kLastEvents) last_.pop_front();
    // A crash leaves no other trace.
    if (const char* trace = std::getenv("PIPELOOM_RANDOM_TRACE"))
      std::ofstream(trace, std::ios::app) << last_.back() << std::endl;
  }

  void push() {
    const int what = player_.upto(300);
    if (what < 4) return run();
    if (what < 6) return type();
    if (what == 6 && player_.upto(4) == 0) return resize();
    const InputEvent event = player_.next();
    note("type " + std::to_string(static_cast<int>(event.type)) + " key " +
         std::to_string(static_cast<int>(event.key)) + " button " +
         std::to_string(static_cast<int>(event.button)) + " at " + std::to_string(event.x) + " " +
         std::to_string(event.y));
    app_.input().push(event);
  }

  void run() {
    const auto commands = all_commands();
    const Command& command =
        commands[static_cast<std::size_t>(player_.upto(static_cast<int>(commands.size())))];
    const char* argument = player_.one_of(kArguments);
    note("do " + command.id + " " + argument);
    run_command(app_.session(), command.id, argument);
    app_.session().quit = false;
  }

  void type() {
    const std::string word = player_.one_of(kWords);
    note("type " + word);
    for (const char c : word) {
      InputEvent event;
      event.type = InputEvent::Type::Character;
      event.character = static_cast<std::uint32_t>(c);
      app_.input().push(event);
    }
  }

  void resize() {
    const PixelSize size = player_.one_of(kSizes);
    note("size " + std::to_string(size.width) + " " + std::to_string(size.height));
    app_.platform().resize(size);
  }

  void frame() {
    app_.frame();
    // Ctrl+Q is among the keys.
    app_.session().quit = false;
  }

  /// Texts over each other in a picture at rest: sizes settle in three frames.
  void look() {
    if (overlapping_texts().empty()) return;
    for (int settling = 0; settling < 3 && app_.input().empty(); ++settling) frame();
    for (std::string pair : overlapping_texts()) {
      for (char& c : pair)
        if (c >= '0' && c <= '9') c = '#';
      if (wrong_.size() < 30 && wrong_.insert(pair).second)
        std::cerr << "texts over each other: " << pair << "\nafter\n" << last_events();
    }
  }

  Player& player_;
  std::set<std::string>& wrong_;
  const ImGuiScope scope_;
  App app_{open_null({kWidth, kHeight})};
  std::deque<std::string> last_;
};

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

std::uint64_t number_in(const char* variable, std::uint64_t usual) {
  const char* wanted = std::getenv(variable);
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}

TEST_CASE("random input never ends the program, and no text is over another") {
  const Folder folder;
  for (const char* name : {"hang.csv", "sweep.jsonl"})
    std::filesystem::copy_file(std::filesystem::path(PIPELOOM_SOURCE_DIR) / "tests/gui/fixtures" / name,
                               name);
  const std::uint64_t seed = number_in("PIPELOOM_RANDOM_SEED", 20261121);
  const auto events = static_cast<int>(number_in("PIPELOOM_RANDOM_EVENTS", 20000));
  CAPTURE(seed);
  Player player(seed);
  std::set<std::string> wrong;
  double with_run = 0;
  int starts = 0;
  // Who plays long enough has closed every panel and every run, and typed nonsense into every field: then it starts again.
  for (int left = events; left > 0; left -= kEventsBetweenStarts, ++starts)
    with_run += Game(player, wrong).play(std::min(left, kEventsBetweenStarts));
  CHECK(wrong == std::set<std::string>{});
  // Else nothing much was played with.
  CHECK(with_run / starts > 0.2);
}

}  // namespace
}  // namespace pipeloom::gui::random_input_test
