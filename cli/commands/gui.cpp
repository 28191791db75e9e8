// pipeloom gui: starts the window, which is a program of its own, so that this one runs where there is no display and no OpenGL.

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/sibling.hpp"

namespace pipeloom::cli::commands {
namespace {

[[noreturn]] void start(const std::vector<std::string>& arguments) {
  const auto window = find_sibling("pipeloom-gui", "gui");
  if (!window)
    throw SystemError(
        "pipeloom-gui is neither next to this program nor on PATH: it was built without the window; install "
        "libimgui-dev, "
        "libglfw3-dev and libegl-dev and build again, or draw with `pipeloom convert CONFIG FILE.svg`");
  become(*window, arguments);
}

}  // namespace

Run gui(OptionList& list) {
  list.set_footer("\nEverything behind `gui` goes to pipeloom-gui; `pipeloom-gui --help` lists its options.");
  auto words = std::make_shared<std::vector<std::string>>();
  list.pass_on(*words);
  return [words]() -> ExitCode { start(*words); };
}

}  // namespace pipeloom::cli::commands
