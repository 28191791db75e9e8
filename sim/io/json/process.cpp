#include "sim/io/json/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <pipeloom/error.hpp>

namespace pipeloom::io {
namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP};

// A handler has no other way to learn the names; more files than these are not written at once. Lock-free, which is all that it may touch.
std::array<std::atomic<const char*>, 64> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free);

void remove_unfinished(int signal) {
  for (auto& slot : unfinished)
    if (const char* const name = slot.exchange(nullptr); name != nullptr) ::unlink(name);
  // With its default action again, by SA_RESETHAND: a program that waits for this one sees the signal that ended it.
  ::raise(signal);
}

void open_standard_descriptors() {
  // In this order, as open() gives the lowest number that is free.
  constexpr std::array kModes = {O_WRONLY, O_RDONLY, O_RDONLY};
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    const bool is_closed = ::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    // Without a null device there is no way to report an error, and a file of ours must not take the place.
    if (is_closed && ::open("/dev/null", kModes[static_cast<std::size_t>(descriptor)]) < 0) std::abort();
  }
}

}  // namespace

void prepare_process() {
  open_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : kEnding) {
    struct sigaction action {};
    struct sigaction before {};
    sigemptyset(&action.sa_mask);
    action.sa_handler = remove_unfinished;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

Temporary::Temporary(const std::string& path) : name_(path + ".XXXXXX") {
  descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
  if (descriptor_ < 0) throw SystemError::cannot_write(path, std::strerror(errno));
  for (auto& slot : unfinished) {
    const char* none = nullptr;
    if (slot.compare_exchange_strong(none, name_.c_str())) break;
  }
}

Temporary::~Temporary() {
  if (!kept_) ::unlink(name_.c_str());
  keep();
}

void Temporary::keep() {
  kept_ = true;
  for (auto& slot : unfinished) {
    const char* own = name_.c_str();
    if (slot.compare_exchange_strong(own, nullptr)) break;
  }
}

}  // namespace pipeloom::io
