#include "gui/script_runner.hpp"

#include <stb_image_write.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/chart/glide.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/session/command.hpp"
#include "gui/script_parts.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// Frames without news after which the picture is at rest: Dear ImGui settles sizes and hovers in fewer.
constexpr int kRestFrames = 3;
/// Two clicks further apart than this are no double click (0.3 s of 1/60 s each).
constexpr int kFramesBetweenClicks = 20;
constexpr double kPatience = 60;  // seconds that a command may work before the script gives up
constexpr int kDragSteps = 4;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Point {
  float x = 0;
  float y = 0;
};

class Runner {
 public:
  explicit Runner(const ScriptHost& host) : host_(host) {}
  ScriptResult run(const Script& script);

 private:
  void run_one(const ScriptCommand& command);
  void run_pointer(const ScriptCommand& command);
  void frame();
  void settle();
  void rest(const ScriptCommand& command, double seconds);
  void wait(double seconds);
  void send(InputEvent event) { host_.queue.push(std::move(event)); }
  void hold(const Chord& chord, bool down);
  void press_key(const ScriptCommand& command);
  void type(const std::string& text);
  void move_to(Point point);
  void click(Point point, MouseButton button);
  void drag(const ScriptCommand& command, Point from);
  void command(const ScriptCommand& command, const char* id, const std::string& argument);
  void write_output(const ScriptCommand& line);
  void judge(const ScriptCommand& line);
  [[nodiscard]] std::optional<ItemRect> find(const std::string& target) const;
  Point place_of(const ScriptCommand& command, const ScriptTarget& target);
  [[noreturn]] void refuse_target(const ScriptCommand& command, const std::string& target) const;
  [[nodiscard]] bool resting() const { return host_.queue.empty() && host_.session.idle(); }

  const ScriptHost& host_;
  ScriptResult result_;
  int frames_ = 0;
  /// An `expect-error` that waits for its command.
  const ScriptCommand* expected_error_ = nullptr;
  int last_click_ = -kFramesBetweenClicks;
  Point pointer_;
};

void Runner::frame() {
  host_.platform.collect(host_.queue, 0);
  host_.frame();
  ++frames_;
}

void Runner::settle() {
  do frame();
  while (!host_.queue.empty() || !host_.session.part<Glide>().idle());
}

/// Runs frames until nothing is under way and the picture is at rest.
void Runner::rest(const ScriptCommand& command, double seconds) {
  const auto start = Clock::now();
  for (int calm = 0; calm < kRestFrames;) {
    if (!host_.queue.empty() || host_.session.idle())
      frame();
    else {
      // A job works: its end wakes the platform.
      host_.platform.collect(host_.queue, 0.005);
      frame();
    }
    calm = resting() ? calm + 1 : 0;
    if (calm == 0 && seconds_since(start) > seconds)
      throw InputError(command.where,
                       "the program did not come to rest within " +
                           std::to_string(static_cast<int>(std::lround(seconds * 1000))) +
                           " ms; write `wait idle MS` with a longer time behind what takes so long");
  }
}

void Runner::wait(double seconds) {
  const int wanted = std::max(1, static_cast<int>(std::lround(seconds * 60)));
  for (int i = 0; i < wanted; ++i) frame();
}

void Runner::hold(const Chord& chord, bool down) {
  if (chord.ctrl) send(key_event(Key::Control, down));
  if (chord.shift) send(key_event(Key::Shift, down));
  if (chord.alt) send(key_event(Key::Alt, down));
  if (chord.ctrl || chord.shift || chord.alt) settle();
}

void Runner::press_key(const ScriptCommand& command) {
  hold(command.chord, true);
  send(key_event(command.chord.key, true));
  settle();
  for (int i = 1; i < static_cast<int>(command.number); ++i) frame();
  send(key_event(command.chord.key, false));
  settle();
  hold(command.chord, false);
}

void Runner::type(const std::string& text) {
  for (const std::uint32_t character : code_points(text)) send(character_event(character));
  settle();
}

void Runner::move_to(Point point) {
  pointer_ = point;
  send(move_event(point.x, point.y));
  settle();
  // A widget knows that it is hovered one frame later.
  frame();
}

void Runner::click(Point point, MouseButton button) {
  move_to(point);
  send(button_event(button, true));
  settle();
  send(button_event(button, false));
  settle();
  last_click_ = frames_;
}

void Runner::drag(const ScriptCommand& command, Point from) {
  const Point to = place_of(command, command.targets[1]);
  move_to(from);
  send(button_event(command.button, true));
  settle();
  for (int step = 1; step <= kDragSteps; ++step) {
    const float share = static_cast<float>(step) / kDragSteps;
    move_to({from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share});
  }
  send(button_event(command.button, false));
  settle();
}

std::optional<ItemRect> Runner::find(const std::string& target) const {
  constexpr std::string_view kItem = "item:";
  if (target.compare(0, kItem.size(), kItem) == 0) return host_.items.find(target.substr(kItem.size()));
  if (const auto item = host_.items.find(target)) return item;
  return host_.resolve ? host_.resolve(target) : std::nullopt;
}

void Runner::refuse_target(const ScriptCommand& command, const std::string& target) const {
  if (target.compare(0, 5, "item:") != 0)
    throw InputError(command.where, "found '" + shortened(target, 60) +
                                        "', which is not on screen; check rank and name, or open its panel");
  std::vector<std::string> names;
  for (const auto& [id, rect] : host_.items.all()) names.push_back(id);
  throw InputError::unknown_name(command.where, "item on screen", target.substr(5), names);
}

Point Runner::place_of(const ScriptCommand& command, const ScriptTarget& target) {
  if (target.is_point) return {target.x, target.y};
  const std::string name = expanded(command.where, target.text);
  constexpr std::string_view kItem = "item:";
  if (name.compare(0, kItem.size(), kItem) == 0) host_.items.want(name.substr(kItem.size()));
  // A thing that is scrolled into view is elsewhere afterwards.
  rest(command, kPatience);
  host_.items.want("");
  const auto rect = find(name);
  if (!rect) refuse_target(command, name);
  return {std::floor(rect->centre_x()), std::floor(rect->centre_y())};
}

void Runner::run_pointer(const ScriptCommand& command) {
  const Point at = place_of(command, command.targets[0]);
  hold(command.chord, true);
  const bool clicks = command.verb == ScriptVerb::Click || command.verb == ScriptVerb::Double ||
                      command.verb == ScriptVerb::Drag;
  while (clicks && frames_ < last_click_ + kFramesBetweenClicks) frame();
  switch (command.verb) {
    case ScriptVerb::Click:
      click(at, command.button);
      break;
    case ScriptVerb::Double:
      click(at, command.button);
      click(at, command.button);
      break;
    case ScriptVerb::Drag:
      drag(command, at);
      break;
    case ScriptVerb::Wheel:
      move_to(at);
      send(wheel_event(static_cast<float>(command.number)));
      settle();
      break;
    default:
      move_to(at);
      break;
  }
  hold(command.chord, false);
}

void Runner::command(const ScriptCommand& command, const char* id, const std::string& argument) {
  if (!run_command(host_.session, id, expanded(command.where, argument)))
    throw InputError(command.where, "this program has no command " + std::string(id));
  settle();
}

void Runner::write_output(const ScriptCommand& line) {
  const std::string words = expanded(line.where, line.word);
  std::string_view name = words;
  const io::Overwrite overwrite = take_force(name);
  const std::string path = output_path(std::string(name)).string();
  if (line.verb == ScriptVerb::Screenshot) return write_screenshot(host_.platform, path, overwrite);
  io::write_file(path, overwrite, [this](std::ostream& out) { out << host_.state(); });
}

/// Checks the outcome of an `open`, `set` or `do` against that of an `expect-error` before it.
void Runner::judge(const ScriptCommand& line) {
  const Message& said = host_.session.message;
  const bool failed = said.kind == MessageKind::Problem;
  std::string problem;
  if (expected_error_ == nullptr) {
    problem = failed ? said.text : "";
  } else {
    const std::string wanted = expanded(expected_error_->where, expected_error_->word);
    if (!failed) problem = "it did not fail; wanted is an error";
    if (failed && said.text.find(wanted) == std::string::npos)
      problem = said.text + "; wanted is an error that contains '" + shortened(wanted, 60) + "'";
  }
  expected_error_ = nullptr;
  if (!problem.empty()) result_.failure = Error(ExitCode::AnswerIsNo, line.where, problem).line();
}

void Runner::run_one(const ScriptCommand& line) {
  switch (line.verb) {
    case ScriptVerb::Open:
      return command(line, "open", line.word);
    case ScriptVerb::Set:
      return command(line, "set", line.word + " " + line.value);
    case ScriptVerb::Do:
      return command(line, line.word.c_str(), line.value);
    case ScriptVerb::Scale:
      return command(line, "scale", std::to_string(line.number));
    case ScriptVerb::Theme:
      return command(line, "theme", line.word);
    case ScriptVerb::Quit:
      return command(line, "quit", "");
    case ScriptVerb::Key:
      return press_key(line);
    case ScriptVerb::Type:
      return type(expanded(line.where, line.word));
    case ScriptVerb::WaitIdle:
      return rest(line, line.number / 1000);
    case ScriptVerb::WaitMs:
      return wait(line.number / 1000);
    case ScriptVerb::Size:
      host_.platform.resize({line.width, line.height});
      return settle();
    case ScriptVerb::State:
    case ScriptVerb::Screenshot:
      return write_output(line);
    case ScriptVerb::ExpectError:
      expected_error_ = &line;
      return;
    case ScriptVerb::Expect: {
      const std::string problem = check_expectation(line, host_.state());
      if (!problem.empty()) result_.failure = Error(ExitCode::AnswerIsNo, line.where, problem).line();
      return;
    }
    default:
      return run_pointer(line);
  }
}

ScriptResult Runner::run(const Script& script) {
  settle();
  rest(script.empty() ? ScriptCommand{} : script.front(), kPatience);
  for (const ScriptCommand& line : script) {
    const bool judged =
        line.verb == ScriptVerb::Open || line.verb == ScriptVerb::Set || line.verb == ScriptVerb::Do;
    if (judged) host_.session.message = {};
    try {
      run_one(line);
    } catch (const InputError& error) {
      if (error.where().line > 0) throw;
      throw InputError(line.where, error.what());
    } catch (const SystemError& error) {
      throw Error(error.exit_code(), line.where, error.what());
    }
    result_.quit = host_.session.quit || host_.platform.close_requested();
    if (result_.quit || !result_.failure.empty()) break;
    const bool looks = line.verb == ScriptVerb::Expect || line.verb == ScriptVerb::State ||
                       line.verb == ScriptVerb::Screenshot || line.verb == ScriptVerb::ExpectError;
    if (!looks && line.verb != ScriptVerb::WaitMs) rest(line, kPatience);
    if (judged) judge(line);
    if (!result_.failure.empty()) break;
  }
  if (expected_error_ != nullptr && result_.failure.empty())
    result_.failure =
        Error(ExitCode::AnswerIsNo, expected_error_->where, "no open, set or do stands behind it").line();
  return result_;
}

}  // namespace

ScriptResult run_script(const Script& script, const ScriptHost& host) {
  return Runner(host).run(script);
}

void write_screenshot(Platform& platform, const std::string& path, io::Overwrite overwrite) {
  const std::vector<std::uint8_t> pixels = platform.read_pixels();
  const PixelSize size = platform.size();
  if (pixels.empty())
    throw SystemError("no picture to write: the program runs without drawing; leave out --no-drawing");
  std::string png;
  const auto append = [](void* out, void* data, int bytes) {
    static_cast<std::string*>(out)->append(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
  };
  if (stbi_write_png_to_func(append, &png, size.width, size.height, 4, pixels.data(), size.width * 4) == 0)
    throw SystemError("the picture cannot be made a PNG: out of memory; make the window smaller");
  io::write_file(path, overwrite, [&png](std::ostream& out) { out << png; });
}

}  // namespace pipeloom::gui
