#include "executor/net/pairs.hpp"

#include <random>

namespace pipeloom::executor::net {

Deadline in(std::chrono::milliseconds time) {
  return Deadline::clock::now() + time;
}

Deadline soon() {
  return in(std::chrono::seconds(20));
}

std::uint16_t free_port() {
  // Below the range from which connections get theirs. Several tests run at once: each draws its own.
  std::random_device random;
  std::uniform_int_distribution<int> ports(15'000, 32'000);
  while (true) {
    const auto port = static_cast<std::uint16_t>(ports(random));
    try {
      (void)listen_on(port);
      return port;
    } catch (const NetworkError&) {
      continue;
    }
  }
}

std::pair<Socket, Socket> connected_pair() {
  const Socket listener = listen_on(0);
  Socket caller = connect_to({"127.0.0.1", port_of(listener)}, soon());
  Socket called = accept_from(listener, soon());
  return {std::move(caller), std::move(called)};
}

Bytes bytes_of(const std::string& text) {
  Bytes bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

std::string text_of(const Bytes& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += static_cast<char>(byte);
  return text;
}

}  // namespace pipeloom::executor::net
