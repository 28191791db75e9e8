#include "cli/console.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/file.hpp"

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
    const std::string value = lower(environment(name));
    if (value.empty()) continue;
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

/// Length of the colour or weight that `text` begins with, as the pages of this program set them: ESC [ 1 ; 2 m. Else 0.
std::size_t style_at(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Replaces characters that steer a terminal, except colours, by '?': the last check of names and texts of others on a page.
std::string without_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character next = utf8_character(text.substr(at));
    const std::size_t style = style_at(text.substr(at));
    const bool stays = next.code == '\n' || next.code == '\t' || is_printable(next.code);
    const std::size_t length = style > 0 ? style : std::max<std::size_t>(next.length, 1);
    if (style > 0 || (next.length > 0 && stays))
      out += text.substr(at, length);
    else
      out += '?';
    at += length;
  }
  return out;
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
  const std::string shown = without_controls(text);
  io::write_file("-", io::Overwrite::Yes, [&shown](std::ostream& out) { out << shown; });
}

void print_beside(std::string_view text) {
  std::cerr << without_controls(text) << std::flush;
}

void say(std::string_view text) {
  std::cerr << printable_lines(text) << std::flush;
}

void say_without_memory(const char* text) noexcept {
  // NOLINTNEXTLINE(cert-err33-c): there is no other output to report it on
  std::fputs(text, stderr);
}

void print_warning(std::string_view text) {
  say("warning: " + std::string(text) + '\n');
}

namespace {

bool stderr_is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

ProgressLine::ProgressLine(bool wanted) : on_(wanted && stderr_is_terminal()) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void ProgressLine::show(const std::string& text) {
  if (!on_) return;
  std::cerr << '\r' + text + "\x1b[K" << std::flush;
  shown_ = true;
}

std::string duration_text(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace pipeloom::cli
