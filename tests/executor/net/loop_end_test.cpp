// How connections of a loop end, and the loop itself.

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/net/heard.hpp"
#include "executor/net/loop.hpp"
#include "executor/net/pairs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net::loop_end_test {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_CASE("the end of the other side is told once, after its last frame") {
  auto [here, there] = connected_pair();
  Heard heard;
  Loop a;
  const Loop::Id to_b = a.add(std::move(here), heard.handlers());
  a.start();
  send_frame(there, numbered(0), soon());
  send_frame(there, numbered(1), soon());
  there = Socket();
  REQUIRE(heard.wait_for_end());
  CHECK(heard.frames().size() == 2);
  // What is sent now goes nowhere, and nobody minds.
  for (std::uint32_t i = 0; i < 10; ++i) a.send(to_b, numbered(i, 100'000));
  CHECK(a.queued() == 0);
  std::this_thread::sleep_for(20ms);
  CHECK(heard.ends() == std::vector<std::string>{"the connection was closed"});
}

TEST_CASE("what the other side said before it went is heard, although writing to it fails") {
  auto [here, there] = connected_pair();
  Heard heard;
  Loop a;
  const Loop::Id to_b = a.add(std::move(here), heard.handlers());
  send_frame(there, numbered(0, 10'000), soon());
  a.send(to_b, numbered(0));  // not read: the end is a reset
  there = Socket();
  std::this_thread::sleep_for(10ms);
  a.send(to_b, numbered(1));
  a.start();
  REQUIRE(heard.wait_for_end());
  check_numbered(heard.frames(), 10'000);
  CHECK(heard.frames().size() == 1);
  CHECK(heard.ends().size() == 1);
}

TEST_CASE("while a sender is paused, nobody learns of its end, and nothing is lost") {
  auto [here, there] = connected_pair();
  Heard heard;
  Loop a;
  const Loop::Id from_b = a.add(std::move(here), heard.handlers());
  a.pause(from_b);
  a.start();
  send_frame(there, numbered(0), soon());
  there = Socket();
  std::this_thread::sleep_for(20ms);
  CHECK(heard.frames().empty());
  CHECK(heard.ends().empty());
  a.resume(from_b);
  REQUIRE(heard.wait_for_end());
  CHECK(heard.frames().size() == 1);
}

TEST_CASE("a handler that throws, or bytes that are no frame, end that connection alone") {
  auto [here, there] = connected_pair();
  auto [fine, far] = connected_pair();
  Heard ends;
  Heard other;
  Loop a;
  Loop::Handlers handlers = ends.handlers();
  handlers.on_frame = [](const Frame&) { throw std::runtime_error("rank 1 says what it should not"); };
  (void)a.add(std::move(here), std::move(handlers));
  const Loop::Id to_far = a.add(std::move(fine), other.handlers());
  a.start();
  std::string want;
  SECTION("a handler throws") {
    send_frame(there, numbered(0), soon());
    want = "rank 1 says what it should not";
  }
  SECTION("no frame") {
    send_all(there, Bytes(100), soon());
    want = "a frame of 0 bytes; allowed are 1 to 1074790400: the other end speaks another protocol";
  }
  REQUIRE(ends.wait_for_end());
  CHECK(ends.ends() == std::vector<std::string>{want});
  CHECK_THROWS_AS(receive_frame(there, soon(), 100), NetworkError);
  a.send(to_far, numbered(3));
  CHECK(receive_frame(far, soon(), 100).kind == 3);
}

TEST_CASE("the destructor writes what is queued, whether or not the loop ran") {
  const bool runs = GENERATE(true, false);
  constexpr std::size_t kSize = std::size_t{8} << 20;
  auto [here, there] = connected_pair();
  Bytes got(encode(numbered(1, kSize)).size());
  std::thread reader([&got, &from = there] { receive_all(from, got, soon()); });
  {
    Loop a;
    a.linger(20s);
    const Loop::Id to_b = a.add(std::move(here), {});
    if (runs) a.start();
    a.send(to_b, numbered(1, kSize));
  }
  reader.join();
  CHECK(got == encode(numbered(1, kSize)));
  std::byte more{};
  CHECK(reason_of([&, &from = there] {
          receive_all(from, {&more, 1}, soon());
        }) == "the connection was closed");
}

TEST_CASE("the destructor ends although the other side reads nothing") {
  auto [here, there] = connected_pair();
  const auto start = Deadline::clock::now();
  Heard heard;
  {
    Loop a;
    a.linger(50ms);
    const Loop::Id to_b = a.add(std::move(here), heard.handlers());
    a.start();
    for (std::uint32_t i = 0; i < 8; ++i) a.send(to_b, numbered(i, std::size_t{8} << 20));
  }
  CHECK(Deadline::clock::now() - start < 20s);
  CHECK(heard.ends().empty());
}

}  // namespace pipeloom::executor::net::loop_end_test
