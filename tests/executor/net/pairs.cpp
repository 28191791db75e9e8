#include "executor/net/pairs.hpp"

namespace pipeloom::executor::net {

Deadline in(std::chrono::milliseconds time) {
  return Deadline::clock::now() + time;
}

Deadline soon() {
  return in(std::chrono::seconds(20));
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
