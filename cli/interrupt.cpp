#include "cli/interrupt.hpp"

#include <array>
#include <csignal>
#include <cstddef>

namespace pipeloom::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// A handler has no other way to leave word. Both are lock-free, which is all that it may touch.
std::atomic<bool> came{false};
std::atomic<int> which{0};
std::array<struct sigaction, kSignals.size()> before{};

/// The next signal of its kind has its former action: it ends the program.
void take_note(int signal) {
  which = signal;
  came = true;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    if (kSignals[i] == signal) ::sigaction(signal, &before[i], nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  came = false;
  which = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = take_note;
    // No SA_RESTART, so that a wait ends.
    ::sigaction(kSignals[i], nullptr, &before[i]);
    // A signal that the parent process ignores (nohup) stays ignored.
    if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

const std::atomic<bool>& Interrupt::flag() const {
  return came;
}

void Interrupt::end_by_signal() const {
  if (!came) return;
  std::signal(which, SIG_DFL);
  std::raise(which);
}

}  // namespace pipeloom::cli
