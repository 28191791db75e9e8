#pragma once

// A line on standard error that says how far something is.

#include <string>

namespace pipeloom::cli {

/// Keeps one line of a terminal up to date while it lives; says nothing where standard error is no terminal.
class ProgressLine {
 public:
  /// Shows nothing unless `wanted`.
  explicit ProgressLine(bool wanted);
  /// Removes the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether show() shows anything.
  [[nodiscard]] bool is_on() const { return on_; }
  void show(const std::string& text);

 private:
  bool on_;
  bool shown_ = false;
};

/// "12 s", "3:05", "1:00:00".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace pipeloom::cli
