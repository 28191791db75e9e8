// Sockets that are opened, used and lost before a deadline.

#include "executor/net/socket.hpp"

#include <fcntl.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "executor/net/pairs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net::socket_test {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("addresses as text") {
  CHECK(to_text({"node7", 29500}) == "node7:29500");
  CHECK(to_text({"10.0.0.7", 1}) == "10.0.0.7:1");
  CHECK(to_text({"::1", 29500}) == "[::1]:29500");
}

TEST_CASE("a socket closes itself once") {
  Socket first = listen_on(0);
  const int fd = first.fd();
  Socket second = std::move(first);
  CHECK_FALSE(first.is_open());
  CHECK(second.fd() == fd);
  second = listen_on(0);
  CHECK(::fcntl(fd, F_GETFD) == -1);
  second = Socket();
  CHECK_FALSE(second.is_open());
}

TEST_CASE("children do not inherit sockets") {
  const auto [here, there] = connected_pair();
  const Socket listener = listen_on(0);
  for (const int fd : {here.fd(), there.fd(), listener.fd()})
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) == FD_CLOEXEC);
}

TEST_CASE("one listener hears IPv4, IPv6 and names") {
  const Socket listener = listen_on(0);
  const std::string host = GENERATE("127.0.0.1", "::1", "localhost");
  Socket caller;
  try {
    caller = connect_to({host, port_of(listener)}, in(2s));
  } catch (const NetworkError& error) {
    WARN(error.what());
    REQUIRE(host == "::1");  // a machine without IPv6
    return;
  }
  const Socket called = accept_from(listener, soon());
  REQUIRE(called.is_open());
  if (host != "localhost") CHECK(peer_host(called) == host);
  send_all(caller, bytes_of("ping"), soon());
  Bytes got(4);
  receive_all(called, got, soon());
  CHECK(text_of(got) == "ping");
}

TEST_CASE("a taken port is named with the way out") {
  const Socket listener = listen_on(0);
  const std::uint16_t port = port_of(listener);
  CHECK(reason_of([&] { return listen_on(port); }) ==
        "port " + std::to_string(port) + " is taken: Address already in use; set MASTER_PORT to a free one");
}

TEST_CASE("a port is free again when its listener has gone, whatever its connections do") {
  Socket listener = listen_on(0);
  const std::uint16_t port = port_of(listener);
  Socket caller = connect_to({"127.0.0.1", port}, soon());
  { const Socket called = accept_from(listener, soon()); }  // closes first, and so keeps the port busy
  listener = Socket();
  CHECK(listen_on(port).is_open());
}

TEST_CASE("whoever calls too early tries again until somebody listens") {
  const std::uint16_t port = free_port();
  Socket listener;
  std::thread late([&] {
    std::this_thread::sleep_for(100ms);
    listener = listen_on(port);
  });
  const Socket caller = connect_to({"127.0.0.1", port}, soon());
  late.join();
  CHECK(caller.is_open());
}

TEST_CASE("nobody listens until the deadline") {
  const std::uint16_t port = free_port();
  CHECK(reason_of([&] {
          return connect_to({"127.0.0.1", port}, in(50ms));
        }) == "cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST_CASE("nobody listens, and somebody else has something to say") {
  const std::uint16_t port = free_port();
  auto [ours, theirs] = connected_pair();
  // Would try for an hour.
  const auto call = [&, &watched = ours] { return connect_to({"127.0.0.1", port}, in(1h), &watched); };
  SECTION("a word") {
    send_all(theirs, bytes_of("stop"), soon());
  }
  SECTION("its end") {
    theirs = Socket();
  }
  CHECK(reason_of(call) == "cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST_CASE("a name that nobody knows is refused at once") {
  const auto start = Deadline::clock::now();
  CHECK_THAT(reason_of([] {
               return connect_to({"no.such.host.invalid", 1}, in(1h));
             }),
             Contains("cannot find the host 'no.such.host.invalid': "));
  CHECK(Deadline::clock::now() - start < 10min);
}

TEST_CASE("nobody calls until the deadline") {
  CHECK_FALSE(accept_from(listen_on(0), in(20ms)).is_open());
}

TEST_CASE("the other end sends nothing, or reads nothing, until the deadline") {
  Socket here;
  Socket there;
  std::tie(here, there) = connected_pair();
  std::array<std::byte, 1> one{};
  CHECK(reason_of([&] { receive_all(here, one, in(20ms)); }) == "nothing came before the deadline");
  const Bytes much(64U << 20);
  CHECK(reason_of([&] { send_all(here, much, in(100ms)); }) ==
        "the other end did not read before the deadline");
}

TEST_CASE("the other end has gone") {
  Socket here;
  Socket there;
  std::tie(here, there) = connected_pair();
  there = Socket();
  Bytes some(10'000);
  CHECK(reason_of([&] { receive_all(here, some, soon()); }) == "the connection was closed");
  // The first bytes still leave; the answer to them ends the connection. No signal comes.
  CHECK(reason_of([&] {
          for (int i = 0; i < 10'000; ++i) {
            send_all(here, some, soon());
            std::this_thread::sleep_for(1ms);
          }
        }) == "the connection was closed");
}

TEST_CASE("more than the system's buffers hold goes through in pieces") {
  const auto [here, there] = connected_pair();
  Bytes sent(16U << 20);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i % 251);
  std::thread sender([&, &from = here] { send_all(from, sent, soon()); });
  Bytes got(sent.size());
  receive_all(there, got, soon());
  sender.join();
  CHECK(got == sent);
}

TEST_CASE("an unused port is free, and none that the system gives to callers") {
  const std::uint16_t port = unused_port();
  CHECK(port >= 20000);
  CHECK(port < 30000);
  CHECK(port_of(listen_on(port)) == port);
}

}  // namespace pipeloom::executor::net::socket_test
