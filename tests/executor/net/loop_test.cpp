// One thread that carries frames for all the others.

#include "executor/net/loop.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "executor/net/heard.hpp"
#include "executor/net/pairs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net::loop_test {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_CASE("frames go both ways in the order of send") {
  constexpr std::uint32_t kFrames = 5000;
  auto [here, there] = connected_pair();
  Heard left;
  Heard right;
  {
    Loop a;
    Loop b;
    const Loop::Id to_b = a.add(std::move(here), left.handlers());
    const Loop::Id to_a = b.add(std::move(there), right.handlers());
    a.start();
    b.start();
    std::thread other([&b, to_a = to_a] {
      for (std::uint32_t i = 0; i < kFrames; ++i) b.send(to_a, numbered(i, i % 50));
    });
    for (std::uint32_t i = 0; i < kFrames; ++i) a.send(to_b, numbered(i, i % 50));
    other.join();
    REQUIRE(left.wait_for_frames(kFrames));
    REQUIRE(right.wait_for_frames(kFrames));
    REQUIRE(left.wait_for_sent(kFrames));
    CHECK(a.queued() == 0);
  }
  for (const Heard* heard : {&left, &right}) {
    const std::vector<Frame> frames = heard->frames();
    REQUIRE(frames.size() == kFrames);
    for (std::uint32_t i = 0; i < kFrames; ++i) REQUIRE(frames[i].body == numbered(i, i % 50).body);
  }
  CHECK(left.sent() == kFrames);
}

TEST_CASE("large frames arrive whole, among small ones") {
  constexpr std::size_t kLarge = std::size_t{8} << 20;
  auto [here, there] = connected_pair();
  Heard left;
  Heard right;
  Loop a;
  Loop b;
  const Loop::Id to_b = a.add(std::move(here), left.handlers());
  const Loop::Id to_a = b.add(std::move(there), right.handlers());
  a.start();
  b.start();
  for (std::uint32_t i = 0; i < 3; ++i) {
    a.send(to_b, numbered(2 * i, kLarge));
    b.send(to_a, numbered(2 * i, kLarge));
    a.send(to_b, numbered(2 * i + 1));
    b.send(to_a, numbered(2 * i + 1));
  }
  for (Heard* heard : {&left, &right}) {
    REQUIRE(heard->wait_for_frames(6));
    const std::vector<Frame> frames = heard->frames();
    for (std::uint32_t i = 0; i < 6; ++i) CHECK(frames[i].body == numbered(i, i % 2 == 0 ? kLarge : 0).body);
    REQUIRE(heard->wait_for_sent(6));
  }
}

TEST_CASE("several threads send, each in its own order") {
  constexpr std::uint32_t kEach = 500;
  auto [here, there] = connected_pair();
  Heard heard;
  Loop a;
  Loop b;
  const Loop::Id to_b = a.add(std::move(here), {});
  (void)b.add(std::move(there), heard.handlers());
  a.start();
  b.start();
  std::vector<std::thread> senders;
  for (std::uint8_t thread = 0; thread < 4; ++thread)
    senders.emplace_back([&a, to_b = to_b, thread] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        Frame frame = numbered(i, i % 100 == 0 ? 100'000 : 0);
        frame.kind = thread;
        a.send(to_b, std::move(frame));
      }
    });
  for (std::thread& sender : senders) sender.join();
  REQUIRE(heard.wait_for_frames(4 * kEach));
  std::vector<std::uint32_t> next(4);
  for (const Frame& frame : heard.frames()) CHECK(Reader(frame.body).u32() == next.at(frame.kind)++);
}

TEST_CASE("handlers answer, and are told of what they sent") {
  auto [here, there] = connected_pair();
  Heard heard;
  Loop a;
  Loop b;
  const Loop::Id to_b = a.add(std::move(here), heard.handlers());
  Loop::Id to_a = 0;
  std::atomic<int> sent = 0;
  to_a = b.add(std::move(there), {.on_frame = [&](Frame frame) { b.send(to_a, std::move(frame)); },
                                  .on_end = {},
                                  .on_sent = [&] { ++sent; }});
  a.start();
  b.start();
  for (std::uint32_t i = 0; i < 100; ++i) {
    a.send(to_b, numbered(i));
    REQUIRE(heard.wait_for_frames(i + 1));
  }
  check_numbered(heard.frames(), 0);
  const Deadline end = soon();
  while (sent < 100 && Deadline::clock::now() < end) std::this_thread::sleep_for(1ms);
  CHECK(sent == 100);
}

TEST_CASE("who is paused keeps what it sends") {
  constexpr std::size_t kSize = std::size_t{1} << 20;
  constexpr std::uint32_t kFrames = 32;
  auto [here, there] = connected_pair();
  Heard left;
  Heard right;
  Loop a;
  Loop b;
  a.linger(0ms);
  const Loop::Id to_b = a.add(std::move(here), left.handlers());
  const Loop::Id from_a = b.add(std::move(there), right.handlers());
  b.pause(from_a);
  a.start();
  b.start();
  for (std::uint32_t i = 0; i < kFrames; ++i) a.send(to_b, numbered(i, kSize));
  // The system's buffers hold some of them; most stay, for as long as nobody reads.
  std::this_thread::sleep_for(50ms);
  CHECK(a.queued() > kSize);
  CHECK(left.sent() < kFrames);
  CHECK(right.frames().empty());
  b.resume(from_a);
  REQUIRE(right.wait_for_frames(kFrames));
  check_numbered(right.frames(), kSize);
  REQUIRE(left.wait_for_sent(kFrames));
  CHECK(a.queued() == 0);
}

TEST_CASE("a handler that pauses its sender gets little more") {
  auto [here, there] = connected_pair();
  Loop a;
  Loop b;
  a.linger(0ms);
  const Loop::Id to_b = a.add(std::move(here), {});
  std::atomic<int> frames = 0;
  Loop::Id from_a = 0;
  from_a = b.add(std::move(there), {.on_frame =
                                        [&](const Frame&) {
                                          b.pause(from_a);
                                          ++frames;
                                        },
                                    .on_end = {},
                                    .on_sent = {}});
  a.start();
  b.start();
  // Four of these are all that one read can complete.
  for (std::uint32_t i = 0; i < 100; ++i) a.send(to_b, numbered(i, 100'000));
  std::this_thread::sleep_for(50ms);
  CHECK(frames <= 4);
  const Deadline end = soon();
  while (frames < 100 && Deadline::clock::now() < end) {
    b.resume(from_a);
    std::this_thread::sleep_for(1ms);
  }
  CHECK(frames == 100);
}

TEST_CASE("timers come again and again") {
  Loop loop;
  std::atomic<int> often = 0;
  std::atomic<int> seldom = 0;
  loop.every(1ms, [&] { ++often; });
  loop.every(1h, [&] { ++seldom; });
  loop.start();
  const Deadline end = soon();
  while (often < 10 && Deadline::clock::now() < end) std::this_thread::sleep_for(1ms);
  CHECK(often >= 10);
  CHECK(seldom == 0);
}

}  // namespace pipeloom::executor::net::loop_test
