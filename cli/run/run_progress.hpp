#pragma once

// How far `pipeloom run` is, on standard error.

#include <chrono>
#include <functional>

#include "cli/console.hpp"

namespace pipeloom::cli {

/// A line on a terminal while it lives: "step 3 of 6, 4 s left".
class RunProgress {
 public:
  explicit RunProgress(bool wanted) : line_(wanted) {}

  /// For executor::RunOptions::progress; empty if nothing is shown.
  [[nodiscard]] std::function<void(int, int)> callback();

 private:
  ProgressLine line_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace pipeloom::cli
