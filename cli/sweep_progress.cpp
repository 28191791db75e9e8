#include "cli/sweep_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "cli/numbers.hpp"

namespace pipeloom::cli {
namespace {

constexpr double kPlainEvery = 10;  // seconds
/// Before that a rate says nothing.
constexpr double kSettled = 0.5;  // seconds

std::string duration_text(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

bool stderr_is_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

std::string progress_text(const sweep::Progress& progress) {
  const double share =
      progress.total == 0 ? 1 : static_cast<double>(progress.done) / static_cast<double>(progress.total);
  // Rounded down: 100 % is when it is done.
  std::string out = fmt::format("{} %  {} of {} points", static_cast<int>(100 * share),
                                count_text(progress.done), count_text(progress.total));
  const double passed = static_cast<double>(progress.done - progress.resumed);
  if (progress.seconds < kSettled || passed <= 0) return out;
  const double rate = passed / progress.seconds;
  const double left = static_cast<double>(progress.total - progress.done) / rate;
  return out +
         fmt::format(", {}/s, {} left",
                     rate < 10 ? fmt::format("{:.1f}", rate) : count_text(static_cast<std::size_t>(rate)),
                     duration_text(left));
}

SweepProgress::SweepProgress(const std::string& mode)
    : rewrites_(mode == "auto" && stderr_is_terminal()), plain_(mode == "plain"), next_plain_(kPlainEvery) {}

SweepProgress::~SweepProgress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

std::function<void(const sweep::Progress&)> SweepProgress::callback() {
  if (!rewrites_ && !plain_) return {};
  return [this](const sweep::Progress& progress) { show(progress); };
}

void SweepProgress::show(const sweep::Progress& progress) {
  if (rewrites_) {
    std::cerr << '\r' + progress_text(progress) + "\x1b[K" << std::flush;
    shown_ = true;
  } else if (progress.seconds >= next_plain_) {
    std::cerr << progress_text(progress) + '\n';
    next_plain_ = progress.seconds + kPlainEvery;
  }
}

}  // namespace pipeloom::cli
