#pragma once

// Signals that ask the program to end: work stops at a good place, and the program ends as the signal would have ended it.

#include <atomic>

namespace pipeloom::cli {

/// While one of these lives, SIGINT, SIGTERM and SIGHUP only set a flag, the first time; the second ends the program at once. At most
/// one at a time.
class Interrupt {
 public:
  Interrupt();
  /// Restores the former actions of signals.
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] const std::atomic<bool>& flag() const;
  /// Ends the program by the signal that came, if any: shells and schedulers see what ended it.
  void end_by_signal() const;
};

}  // namespace pipeloom::cli
