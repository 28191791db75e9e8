#pragma once

// Status of a run that is a row of a baseline or a point of a sweep.

#include <string_view>

#include <pipeloom/error.hpp>

namespace pipeloom::study {

enum class Status : unsigned char {
  Ok,
  Illegal,     ///< refused: parameters, values, a file that is no schedule
  Hang,        ///< the schedule, or its messages, hang: "deadlock" in files and tables
  OverMemory,  ///< it runs, but a rank needs more than memory.limit_bytes
  Failed,      ///< nothing about the run: it needs more memory than it may use, a disk or device failed
};
inline constexpr Status kAllStatuses[] = {Status::Ok, Status::Illegal, Status::Hang, Status::OverMemory,
                                          Status::Failed};
/// "ok", "illegal", "deadlock", "over_memory", "failed".
[[nodiscard]] std::string_view name_of(Status status);

/// Illegal, Hang or Failed, for an error that evaluate() throws. REQUIRES: not an InternalError, which has no status.
[[nodiscard]] Status status_of(const Error& error);

}  // namespace pipeloom::study
