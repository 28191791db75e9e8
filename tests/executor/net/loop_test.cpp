// One thread that carries frames for all the others.

#include "executor/net/loop.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/net/pairs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;

/// What a connection said, for a test that waits for it.
class Heard {
 public:
  [[nodiscard]] Loop::Handlers handlers() {
    return {.on_frame = [this](Frame frame) { note([&] { frames_.push_back(std::move(frame)); }); },
            .on_end = [this](const std::string& reason) { note([&] { ends_.push_back(reason); }); },
            .on_sent = [this] { note([&] { ++sent_; }); }};
  }
  /// False if there are still fewer after a long time.
  [[nodiscard]] bool wait_for_frames(std::size_t count) {
    return wait([&] { return frames_.size() >= count; });
  }
  [[nodiscard]] bool wait_for_end() {
    return wait([&] { return !ends_.empty(); });
  }
  [[nodiscard]] bool wait_for_sent(std::size_t count) {
    return wait([&] { return sent_ >= count; });
  }
  [[nodiscard]] std::vector<Frame> frames() const {
    const std::scoped_lock lock(mutex_);
    return frames_;
  }
  [[nodiscard]] std::vector<std::string> ends() const {
    const std::scoped_lock lock(mutex_);
    return ends_;
  }
  [[nodiscard]] std::size_t sent() const {
    const std::scoped_lock lock(mutex_);
    return sent_;
  }

 private:
  template <typename Function>
  void note(const Function& fn) {
    {
      const std::scoped_lock lock(mutex_);
      fn();
    }
    changed_.notify_all();
  }
  template <typename Condition>
  bool wait(const Condition& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, condition);
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Frame> frames_;
  std::vector<std::string> ends_;
  std::size_t sent_ = 0;
};

/// A frame that holds `number` and then `size` bytes that follow from it.
Frame numbered(std::uint32_t number, std::size_t size = 0) {
  Writer out;
  out.u32(number);
  Bytes body = std::move(out).take();
  body.resize(body.size() + size, static_cast<std::byte>(number * 7));
  return {static_cast<std::uint8_t>(number), std::move(body)};
}

void check_numbered(const std::vector<Frame>& frames, std::size_t size) {
  for (std::uint32_t i = 0; i < frames.size(); ++i) {
    const Frame want = numbered(i, size);
    REQUIRE(frames[i].kind == want.kind);
    REQUIRE(frames[i].body == want.body);
  }
}

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

}  // namespace pipeloom::executor::net
