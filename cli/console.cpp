#include "cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iostream>

#include "sim/io/file.hpp"

namespace pipeloom::cli {
namespace {

constexpr int kUnknownWidth = 100;
constexpr int kMaxWidth = 10'000;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

int width_from_environment() {
  const std::string_view text = environment("COLUMNS");
  int width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  return error == std::errc{} && end == text.data() + text.size() ? width : 0;
}

int width_of_terminal() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int width() {
  int columns = width_from_environment();
  if (columns <= 0) columns = width_of_terminal();
  return columns <= 0 ? kUnknownWidth : std::min(columns, kMaxWidth);
}

bool may_have_colour(ColourMode mode) {
  if (mode != ColourMode::Auto) return mode == ColourMode::Always;
  return stdout_is_terminal() && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

/// The first of the variables that is set decides, as in setlocale(3).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

Screen screen(ColourMode mode) {
  Screen out;
  out.width = width();
  out.unicode = locale_is_utf8();
  if (may_have_colour(mode)) {
    const std::string_view depth = environment("COLORTERM");
    const bool true_colour = depth == "truecolor" || depth == "24bit";
    out.colour = true_colour ? draw::TerminalColour::TrueColour : draw::TerminalColour::Ansi256;
  }
  return out;
}

void print(std::string_view text) {
  io::write_file("-", io::Overwrite::Yes, [text](std::ostream& out) { out << text; });
}

void print_warning(std::string_view text) {
  std::cerr << "warning: " << text << '\n';
}

}  // namespace pipeloom::cli
