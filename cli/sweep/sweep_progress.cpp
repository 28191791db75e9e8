#include "cli/sweep/sweep_progress.hpp"

#include <fmt/format.h>

#include <iostream>

#include "cli/numbers.hpp"

namespace pipeloom::cli {
namespace {

constexpr double kPlainEvery = 10;  // seconds
/// Before that a rate says nothing.
constexpr double kSettled = 0.5;  // seconds

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
    : line_(mode == "auto"), plain_(mode == "plain"), next_plain_(kPlainEvery) {}

std::function<void(const sweep::Progress&)> SweepProgress::callback() {
  if (!line_.is_on() && !plain_) return {};
  return [this](const sweep::Progress& progress) { show(progress); };
}

void SweepProgress::show(const sweep::Progress& progress) {
  if (line_.is_on()) {
    line_.show(progress_text(progress));
  } else if (progress.seconds >= next_plain_) {
    std::cerr << progress_text(progress) + '\n';
    next_plain_ = progress.seconds + kPlainEvery;
  }
}

}  // namespace pipeloom::cli
