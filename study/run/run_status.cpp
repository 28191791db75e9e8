#include "study/run/run_status.hpp"

#include <cstddef>

#include "study/run/messages.hpp"

namespace pipeloom::study {

std::string_view name_of(Status status) {
  static constexpr std::string_view kNames[] = {"ok", "illegal", "deadlock", "over_memory", "failed"};
  return kNames[static_cast<std::size_t>(status)];
}

Status status_of(const Error& error) {
  if (dynamic_cast<const HangError*>(&error) != nullptr) return Status::Hang;
  const auto* messages = dynamic_cast<const MessageProblem*>(&error);
  if (messages != nullptr && !messages->waits().empty()) return Status::Hang;
  if (dynamic_cast<const TooLargeError*>(&error) != nullptr) return Status::Failed;
  return error.exit_code() == ExitCode::BadInput ? Status::Illegal : Status::Failed;
}

}  // namespace pipeloom::study
