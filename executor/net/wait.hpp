#pragma once

// Waiting for sockets: what poll() needs to hear, and the system's words when something fails.

#include <chrono>
#include <string>

#include "executor/net/socket.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::net {

/// Milliseconds until `deadline` as poll() takes them: rounded up, so that nobody wakes too early and asks again; 0 once it has come.
[[nodiscard]] int poll_timeout(Deadline deadline);

/// Whether poll() says something of `events` (or an error) before the deadline.
[[nodiscard]] bool wait_for(int fd, short events, Deadline deadline);

/// "Connection refused" of an errno; any thread.
[[nodiscard]] std::string words_of(int error);

}  // namespace pipeloom::executor::net
