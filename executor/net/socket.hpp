#pragma once

// TCP sockets that close themselves, and functions that open them before a deadline.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::executor::net {

using Deadline = std::chrono::steady_clock::time_point;

/// Something on the network did not work: what() names the address and the reason, and where there is one the way out.
class NetworkError : public SystemError {
 public:
  using SystemError::SystemError;
};

struct Address {
  std::string host;  ///< a name or a numeric address, IPv4 or IPv6
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
/// "node7:29500", "[::1]:29500".
[[nodiscard]] std::string to_text(const Address& address);

/// An open file descriptor of a socket, or none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Listens on all addresses of this machine, IPv4 and where there is any IPv6; port 0 takes a free one. Throws NetworkError if the port is
/// taken: "port 29500 is taken: Address already in use; set MASTER_PORT to a free one".
[[nodiscard]] Socket listen_on(std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(const Socket& listener);
/// A port at which no process listened a moment ago, for one that will. From 20000 to 29999: below what Linux gives to callers
/// (ip_local_port_range), so that no outgoing connection takes it meanwhile. Throws NetworkError if all are taken.
[[nodiscard]] std::uint16_t unused_port();

/// Tries again, a few milliseconds apart and then slower, until a process listens there. Throws NetworkError at the deadline (with
/// the last reason) or once there is something to read from `watched`, at once where the name cannot be resolved. TCP_NODELAY is set.
[[nodiscard]] Socket connect_to(const Address& address, Deadline deadline, const Socket* watched = nullptr);

/// The next caller, TCP_NODELAY set; a Socket that is not open at the deadline.
[[nodiscard]] Socket accept_from(const Socket& listener, Deadline deadline);
/// Numeric address of the other end.
[[nodiscard]] std::string peer_host(const Socket& socket);

/// All of the bytes, or NetworkError: the deadline has come, or the other end has gone ("the connection was closed").
void send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline);
void receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline);

// Waits for sockets, for use within this room.

/// Milliseconds until `deadline` as poll() takes them: rounded up, so that no caller wakes too early and asks again; 0 once it has come.
[[nodiscard]] int poll_timeout(Deadline deadline);

/// Returns true if poll() reports one of `events` (or an error) before the deadline.
[[nodiscard]] bool wait_for(int fd, short events, Deadline deadline);

/// "Connection refused" of an errno; any thread.
[[nodiscard]] std::string words_of(int error);

}  // namespace pipeloom::executor::net
