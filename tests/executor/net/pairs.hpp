#pragma once

// Two ends of a connection, for tests.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"

namespace pipeloom::executor::net {

/// Far enough for a machine that is busy.
[[nodiscard]] Deadline in(std::chrono::milliseconds time);
[[nodiscard]] Deadline soon();

/// A port that nobody has, and that the system gives to no connection of its own accord.
[[nodiscard]] std::uint16_t free_port();

/// Both ends of one TCP connection of this machine.
[[nodiscard]] std::pair<Socket, Socket> connected_pair();

/// What `fn` says when it throws a NetworkError; "" if it does not.
template <typename Function>
std::string reason_of(const Function& fn) {
  try {
    (void)fn();
  } catch (const NetworkError& error) {
    return error.what();
  }
  return "";
}

[[nodiscard]] Bytes bytes_of(const std::string& text);
[[nodiscard]] std::string text_of(const Bytes& bytes);

}  // namespace pipeloom::executor::net
