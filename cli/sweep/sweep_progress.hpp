#pragma once

// How far a sweep is, on standard error.

#include <functional>
#include <string>

#include "cli/progress_line.hpp"
#include "study/sweep/run/runner.hpp"

namespace pipeloom::cli {

/// Shows progress while it lives.
class SweepProgress {
 public:
  /// `mode`: "auto" (a line that is kept up to date, if standard error is a terminal), "plain" (a line every ten seconds) or "none".
  explicit SweepProgress(const std::string& mode);
  /// For SweepOptions::progress; empty if nothing is shown.
  [[nodiscard]] std::function<void(const sweep::Progress&)> callback();

 private:
  void show(const sweep::Progress& progress);

  ProgressLine line_;
  bool plain_ = false;
  double next_plain_ = 10;
};

/// "45 %  52,000 of 115,536 points, 12,345/s, 5 s left".
[[nodiscard]] std::string progress_text(const sweep::Progress& progress);

}  // namespace pipeloom::cli
