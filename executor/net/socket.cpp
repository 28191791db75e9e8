#include "executor/net/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <memory>
#include <random>
#include <string_view>
#include <system_error>

#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::clock;

constexpr int kFlags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

/// An address as the system keeps it, of either family.
struct SystemAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SystemAddress own_address(int fd) {
  SystemAddress address;
  if (::getsockname(fd, address.get(), &address.length) != 0) address.length = 0;
  return address;
}

SystemAddress peer_address(int fd) {
  SystemAddress address;
  if (::getpeername(fd, address.get(), &address.length) != 0) address.length = 0;
  return address;
}

/// Numbers instead of names: {"10.0.0.7", "29500"}.
std::pair<std::string, std::string> numbers(SystemAddress address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int flags = NI_NUMERICHOST | NI_NUMERICSERV;
  const int error =
      ::getnameinfo(address.get(), address.length, host.data(), host.size(), port.data(), port.size(), flags);
  if (error != 0) return {"?", "0"};
  // An IPv4 caller of a socket for both families.
  constexpr std::string_view kMapped = "::ffff:";
  std::string_view text = host.data();
  if (text.starts_with(kMapped) && text.find('.') != std::string_view::npos)
    text.remove_prefix(kMapped.size());
  return {std::string(text), port.data()};
}

void set(int fd, int level, int option, int value) {
  (void)::setsockopt(fd, level, option, &value, sizeof value);  // a wish: works without
}

/// Returns 0, or the error code if no socket can listen there.
int listen_at(int fd, int family, std::uint16_t port) {
  // A port that only connections of an earlier run still hold is free. One that a process listens at stays taken.
  set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  SystemAddress address;
  if (family == AF_INET6) {
    set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    *reinterpret_cast<sockaddr_in6*>(&address.storage) = any;
    address.length = sizeof any;
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    *reinterpret_cast<sockaddr_in*>(&address.storage) = any;
    address.length = sizeof any;
  }
  if (::bind(fd, address.get(), address.length) != 0) return errno;
  return ::listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

using Resolved = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Resolved resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    const std::string reason = error == EAI_SYSTEM ? words_of(errno) : ::gai_strerror(error);
    throw NetworkError("cannot find the host '" + shortened(address.host, 80) + "': " + reason +
                       "; allowed are names that this machine can resolve and numeric addresses");
  }
  return {found, &::freeaddrinfo};
}

/// 0 and the connection, or why there is none.
int connect_once(const addrinfo& to, Deadline deadline, Socket& result) {
  Socket socket(::socket(to.ai_family, kFlags, 0));
  if (!socket.is_open()) return errno;
  if (::connect(socket.fd(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!wait_for(socket.fd(), POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    if (error != 0) return error;
  }
  // TCP lets a socket connect to itself where the port that it was given is the one it calls and no socket listens there.
  if (numbers(own_address(socket.fd())) == numbers(peer_address(socket.fd()))) return ECONNREFUSED;
  set(socket.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
  result = std::move(socket);
  return 0;
}

[[noreturn]] void throw_lost(int error) {
  throw NetworkError(error == 0 || error == ECONNRESET || error == EPIPE ? "the connection was closed"
                                                                         : words_of(error));
}

}  // namespace

int poll_timeout(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

bool wait_for(int fd, short events, Deadline deadline) {
  pollfd one{fd, events, 0};
  while (true) {
    const int ready = ::poll(&one, 1, poll_timeout(deadline));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR && errno != EAGAIN)
      throw NetworkError("cannot wait for a connection: " + words_of(errno));
    if (Clock::now() >= deadline) return false;
  }
}

std::string words_of(int error) {
  return std::generic_category().message(error);
}

std::string to_text(const Address& address) {
  const bool colons = address.host.find(':') != std::string::npos;
  return (colons ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  if (this != &other) Socket(std::move(other));
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket listen_on(std::uint16_t port) {
  int error = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    Socket socket(::socket(family, kFlags, 0));
    error = socket.is_open() ? listen_at(socket.fd(), family, port) : errno;
    if (error == 0) return socket;
    if (error == EADDRINUSE || error == EACCES) break;  // the other family would hide that it is taken
  }
  const std::string name = "port " + std::to_string(port);
  if (error == EADDRINUSE)
    throw NetworkError(name + " is taken: " + words_of(error) + "; set MASTER_PORT to a free one");
  throw NetworkError("cannot listen at " + name + ": " + words_of(error) +
                     "; set MASTER_PORT to another one");
}

std::uint16_t port_of(const Socket& listener) {
  return static_cast<std::uint16_t>(std::stoi(numbers(own_address(listener.fd())).second));
}

std::uint16_t unused_port() {
  constexpr unsigned kFirst = 20'000;
  constexpr unsigned kPorts = 10'000;
  const unsigned start = std::random_device{}();
  for (unsigned i = 0; i < kPorts; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + (start + i) % kPorts);
    try {
      static_cast<void>(listen_on(port));
      return port;
    } catch (const NetworkError&) {
      continue;  // another process has it
    }
  }
  throw NetworkError("no port from 20000 to 29999 is free");
}

Socket connect_to(const Address& address, Deadline deadline, const Socket* watched) {
  // Long enough for any network that a run can use; another address of the same name gets its turn before the deadline.
  constexpr auto kTry = 1s;
  constexpr auto kLongestPause = 250ms;
  const Resolved found = resolve(address);
  std::chrono::milliseconds pause = 5ms;
  int error = ETIMEDOUT;
  while (true) {
    for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
      Socket socket;
      error = connect_once(*one, std::min(deadline, Clock::now() + kTry), socket);
      if (error == 0) return socket;
    }
    // A descriptor of -1 is only slept on.
    const bool is_over =
        wait_for(watched == nullptr ? -1 : watched->fd(), POLLIN, std::min(deadline, Clock::now() + pause));
    if (is_over || Clock::now() >= deadline)
      throw NetworkError("cannot connect to " + to_text(address) + ": " + words_of(error));
    pause = std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
  }
}

Socket accept_from(const Socket& listener, Deadline deadline) {
  while (wait_for(listener.fd(), POLLIN, deadline)) {
    Socket socket(::accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      set(socket.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
      return socket;
    }
    // Every other error is a caller that is gone again, or a fault of the network on the way to it.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM || errno == EBADF ||
        errno == EINVAL || errno == ENOTSOCK)
      throw NetworkError("cannot accept a connection: " + words_of(errno));
    if (Clock::now() >= deadline) break;
  }
  return {};
}

std::string peer_host(const Socket& socket) {
  return numbers(peer_address(socket.fd())).first;
}

void send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) throw_lost(errno);
    if (!wait_for(socket.fd(), POLLOUT, deadline))
      throw NetworkError("the other end did not read before the deadline");
  }
}

void receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = ::recv(socket.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0) throw_lost(0);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) throw_lost(errno);
    if (!wait_for(socket.fd(), POLLIN, deadline)) throw NetworkError("nothing came before the deadline");
  }
}

}  // namespace pipeloom::executor::net
