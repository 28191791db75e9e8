#include "gui/program.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "gui/app.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/preferences.hpp"
#include "gui/model/session/script.hpp"
#include "gui/model/workspace/workspaces.hpp"
#include "gui/script_runner.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"
#include "version.hpp"

namespace pipeloom::gui {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string script;
  std::string state;
  std::string size = "1280x720";
  std::string theme;
  std::string palette;
  double scale = 0;
  bool headless = false;
  bool no_drawing = false;
  bool no_session = false;
  bool force = false;
};

constexpr std::size_t kMaxScriptBytes = std::size_t{1} << 20;

constexpr const char* kFooter =
    "\nKeys: ? shows all of them, Ctrl+Shift+P finds a command.\n"
    "Without a display: --headless with a script, or `pipeloom convert CONFIG FILE.svg`.\n"
    "Exit codes: 0 fine, 1 an `expect` or a command of the script failed, 2 wrong usage or input, 3 no "
    "display or no "
    "OpenGL 3.3.";

void add_options(CLI::App& app, Options& options) {
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", std::string(kVersion), "Print the version");
  app.add_option(
         "FILE", options.files,
         "Configurations, schedules, timelines, traces or a workspace to open, stacked from the top in this "
         "order; the first "
         "configuration is the one under edit")
      ->type_name("FILE");
  app.add_option("--script", options.script, "Run the commands of this file, - for standard input")
      ->type_name("FILE");
  app.add_flag("--headless", options.headless, "Draw without a display (EGL)");
  app.add_flag("--no-drawing", options.no_drawing, "Do not draw at all: for tests and measurements");
  app.add_option("--size", options.size, "Size of the window in pixels")->type_name("WxH");
  app.add_option("--scale", options.scale, "Scale of everything; default: the display's")
      ->type_name("FACTOR")
      ->check(CLI::Range(0.5, 4.0));
  app.add_option("--theme", options.theme, "dark or light")->type_name("dark|light");
  app.add_option("--palette", options.palette, "default, colour-blind or greyscale")
      ->type_name("default|colour-blind|greyscale");
  app.add_option("--state", options.state,
                 "Write the state as JSON to this file at the end, - for standard output; a window writes it "
                 "after SIGUSR1, too")
      ->type_name("FILE");
  app.add_flag("--force", options.force, "Let --state replace an existing file");
  app.add_flag("--no-session", options.no_session, "Neither read nor write saved settings");
  app.footer(kFooter);
}

PixelSize parse_size(const std::string& text) {
  PixelSize size;
  const char* const end = text.data() + text.size();
  const auto [x, bad_width] = std::from_chars(text.data(), end, size.width);
  const bool separated = bad_width == std::errc{} && x != end && *x == 'x';
  const auto [last, bad_height] = std::from_chars(separated ? x + 1 : end, end, size.height);
  if (!separated || bad_height != std::errc{} || last != end || size.width < 320 || size.height < 200 ||
      size.width > 16384 || size.height > 16384)
    throw InputError(Where{"--size"},
                     fmt::format("found '{}'; allowed is WIDTHxHEIGHT in pixels, from 320x200 to 16384x16384",
                                 shortened(text, 40)));
  return size;
}

std::unique_ptr<Platform> open_platform(const Options& options) {
  const PixelSize size = parse_size(options.size);
  if (options.no_drawing) return open_null(size);
  return options.headless ? open_offscreen(size) : open_window("Pipeloom", size);
}

/// Runs a command as if the user had typed it; here a refusal ends the program.
void require_command(Session& session, std::string_view id, const std::string& argument) {
  session.message = {};
  run_command(session, id, argument);
  if (session.message.kind == MessageKind::Problem) throw InputError(session.message.text);
}

void write_state(App& app, const Options& options) {
  io::write_file(options.state, options.force ? io::Overwrite::Yes : io::Overwrite::No,
                 [&app](std::ostream& out) { out << dump_state(app); });
}

/// The script, then the user where there is a window to use. Without either: one picture's worth of frames.
ExitCode run_app(App& app, const Options& options, const Script& script) {
  const bool alone = options.headless || options.no_drawing;
  ScriptResult result;
  if (alone || !options.script.empty()) result = run_script(script, host_of(app));
  if (!result.failure.empty()) std::cerr << printable_lines(result.failure) << '\n';
  if (result.failure.empty() && !result.quit && !alone) {
    app.set_frame_step(0);
    app.run([&] {
      if (!options.state.empty()) write_state(app, options);
    });
  }
  if (!options.state.empty()) write_state(app, options);
  return result.failure.empty() ? ExitCode::Ok : ExitCode::AnswerIsNo;
}

}  // namespace

ExitCode run_program(int argc, char** argv) {
  Options options;
  CLI::App arguments("Explores pipeline schedules: change a number and see the schedule move.",
                     "pipeloom-gui");
  add_options(arguments, options);
  try {
    arguments.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << arguments.help();
    return ExitCode::Ok;
  } catch (const CLI::CallForVersion&) {
    std::cout << "pipeloom-gui " << kVersion << '\n';
    return ExitCode::Ok;
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}; see `pipeloom-gui --help`", error.what()));
  }
  Script script;
  if (!options.script.empty())
    script = parse_script(io::read_file(options.script, kMaxScriptBytes), options.script);
  const ImGuiScope scope;
  App app(open_platform(options));
  // A script runs alike everywhere, whatever the user's settings are.
  auto& settings = app.session().part<PreferencesStore>();
  const bool keeps_settings =
      !options.no_session && options.script.empty() && !options.headless && !options.no_drawing;
  auto& workspaces = app.session().part<Workspaces>();
  if (keeps_settings) {
    settings.load(app.session());
    workspaces.keep_last(last_workspace_path());
  }
  if (options.scale > 0) app.session().preferences.scale = options.scale;
  if (!options.theme.empty()) require_command(app.session(), "theme", options.theme);
  if (!options.palette.empty()) require_command(app.session(), "colours", options.palette);
  app.session().part<FileOpener>().open_named(options.files);
  app.ui().items.record(!options.state.empty());
  const ExitCode code = run_app(app, options, script);
  settings.save(app.session());
  workspaces.flush(app.session());
  return code;
}

}  // namespace pipeloom::gui
