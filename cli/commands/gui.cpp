// pipeloom gui: starts the window, which is a program of its own, so that this one runs where there is no display and no OpenGL.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace pipeloom::cli::commands {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWindow = "pipeloom-gui";

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// Next to this program as it is installed, or where a build puts the two; then along PATH.
std::vector<fs::path> places() {
  std::vector<fs::path> found;
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (!here.empty()) {
    found.push_back(here / kWindow);
    found.push_back(here.parent_path() / "gui" / kWindow);
  }
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) found.push_back(fs::path(rest.substr(0, colon)) / kWindow);
    rest.erase(0, colon + 1);
  }
  return found;
}

fs::path find_window() {
  for (const fs::path& place : places())
    if (is_program(place)) return place;
  throw SystemError(
      "pipeloom-gui is neither next to this program nor on PATH: it was built without the window; install "
      "libimgui-dev, "
      "libglfw3-dev and libegl-dev and build again, or draw with `pipeloom convert CONFIG FILE.svg`");
}

[[noreturn]] void start(const std::vector<std::string>& arguments) {
  const fs::path window = find_window();
  std::vector<std::string> words = {window.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execv(window.c_str(), raw.data());
  throw SystemError(fmt::format("cannot start {}: {}", window.string(), std::strerror(errno)));
}

}  // namespace

Run gui(CLI::App& app) {
  app.footer("\nEverything behind `gui` goes to pipeloom-gui; `pipeloom-gui --help` lists its options.");
  app.prefix_command();
  return [&app]() -> ExitCode { start(app.remaining()); };
}

}  // namespace pipeloom::cli::commands
