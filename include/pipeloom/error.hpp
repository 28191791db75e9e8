#pragma once

// Every error that Pipeloom's libraries throw, and all of its wording.
//
// Libraries throw and never print or exit; main() maps an Error to its exit code. A message names
// the fault, what is allowed and what to do; `where()` is its place: "file:line:column".

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom {

enum class ExitCode : int {
  Ok = 0,
  AnswerIsNo = 1,    ///< it ran, but the answer is "no" (a regression, an illegal schedule, over the limit)
  BadInput = 2,      ///< wrong usage, unreadable input, refused parameters, a schedule that hangs
  DeviceFailed = 3,  ///< a device, back end, display, disk or worker failed
  Bug = 70,          ///< a defect of ours
};

/// A place in an input file or on the command line. Line and column count from 1; 0 is unknown.
struct Where {
  std::string file;
  int line = 0;
  int column = 0;

  /// "file:line:column", "file:line", "file" or "".
  [[nodiscard]] std::string text() const;
};

/// Base of the closed tree below.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, Where where, const std::string& message)
      : std::runtime_error(message), code_(code), where_(std::move(where)) {}
  [[nodiscard]] ExitCode exit_code() const { return code_; }
  [[nodiscard]] const Where& where() const { return where_; }
  /// The full line: "file:line:column: error: message", or "error: message" when the place is unknown.
  [[nodiscard]] std::string line() const;

 private:
  ExitCode code_;
  Where where_;
};

class TooLargeError;

/// Unreadable or contradictory input, wrong usage.
class InputError : public Error {
 public:
  InputError(Where where, const std::string& message)
      : Error(ExitCode::BadInput, std::move(where), message) {}
  explicit InputError(const std::string& message) : InputError(Where{}, message) {}

  /// `what` "schedule", `name` as typed, valid names: suggests the nearest, lists all or of many ten.
  static InputError unknown_name(Where where, std::string_view what, std::string_view name,
                                 const std::vector<std::string>& valid);
  static InputError cannot_read(std::string_view path, std::string_view reason);
  static InputError exists(std::string_view path);
  /// `need` bytes estimated, `limit` allowed; `what` names the part that needs them.
  static TooLargeError too_large(std::string_view what, double need_bytes, double limit_bytes);
};

/// A run that needs more memory than it may use.
class TooLargeError : public InputError {
 public:
  using InputError::InputError;
};

/// Parameters that a schedule refuses, an illegal schedule, or one that hangs.
class ScheduleError : public Error {
 public:
  ScheduleError(Where where, const std::string& message)
      : Error(ExitCode::BadInput, std::move(where), message) {}
  explicit ScheduleError(const std::string& message) : ScheduleError(Where{}, message) {}
};

/// A schedule whose only defect is that it hangs.
class HangError : public ScheduleError {
 public:
  using ScheduleError::ScheduleError;
};

/// A disk, device or display that failed.
class SystemError : public Error {
 public:
  explicit SystemError(const std::string& message) : Error(ExitCode::DeviceFailed, {}, message) {}
  static SystemError cannot_write(std::string_view path, std::string_view reason);
};

/// A broken promise of our own code. Never the user's fault.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message) : Error(ExitCode::Bug, {}, message) {}
};

}  // namespace pipeloom
