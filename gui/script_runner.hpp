#pragma once

// Runs a script against the program, by the same input queue and the same commands that people use.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gui/items.hpp"
#include "gui/model/session/script.hpp"
#include "gui/model/session/session.hpp"
#include "gui/platform/platform.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

/// The objects that a script needs of the program. All of them outlive the run.
struct ScriptHost {
  Session& session;
  Items& items;
  Platform& platform;
  InputQueue& queue;
  /// One frame: takes from `queue`, updates the session, draws, presents. Each frame of a headless run takes 1/60 s.
  std::function<void()> frame;
  /// The state dump.
  std::function<std::string()> state;
  /// The places of `op:RANK/0F7`, `gap:RANK/N` and `legend:F` in the latest frame; nothing if they are not on screen. Items need no entry
  /// here. Throws InputError for an op, gap or kind that the run does not have. May be empty.
  std::function<std::optional<ItemRect>(std::string_view)> resolve;
};

class App;
/// The script's host in the program. Turns on the recording of items, and frames of 1/60 s.
[[nodiscard]] ScriptHost host_of(App& app);
/// The state dump of the program. Items are in it if Items::record() is on.
[[nodiscard]] std::string dump_state(App& app);

struct ScriptResult {
  /// "" if every command ran and every `expect` held; else the line to print: "walk.script:7:1: error: ...".
  std::string failure;
  /// The script said `quit`, or the window was closed.
  bool quit = false;
};

/// Relative names of `screenshot` and `state` are below the folder that the environment's PIPELOOM_OUT names; `${NAME}` in files and
/// arguments is any variable of the environment. Every command is followed by as many frames as its input needs, and by the end of the jobs
/// it started. Stops at the first `expect` that does not hold. Throws InputError where a target or file does not exist, or the program is not
/// at rest in time.
[[nodiscard]] ScriptResult run_script(const Script& script, const ScriptHost& host);

/// Writes the picture that the platform drew last. Throws InputError if the file is there and may not be replaced, SystemError if the platform draws
/// nothing (null platform) or the file cannot be written.
void write_screenshot(Platform& platform, const std::string& path, io::Overwrite overwrite);

}  // namespace pipeloom::gui
