// What a message between processes costs on this machine: a frame to the other end of a loopback connection and back, between loops
// and, for comparison, between two threads that do nothing but read and write.

#include <benchmark/benchmark.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "executor/net/loop.hpp"
#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"

namespace {

using namespace pipeloom::executor::net;

Deadline far() {
  return Deadline::clock::now() + std::chrono::minutes(10);
}

std::pair<Socket, Socket> connected_pair() {
  const Socket listener = listen_on(0);
  Socket caller = connect_to({"127.0.0.1", port_of(listener)}, far());
  Socket called = accept_from(listener, far());
  return {std::move(caller), std::move(called)};
}

/// The far end answers on its loop's thread; the near one is a thread that waits, as a rank does.
void between_loops(benchmark::State& state) {
  auto [here, there] = connected_pair();
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t answers = 0;
  Loop near;
  Loop other;
  const Loop::Id to_other = near.add(std::move(here), {.on_frame =
                                                           [&](const Frame&) {
                                                             const std::scoped_lock lock(mutex);
                                                             ++answers;
                                                             changed.notify_one();
                                                           },
                                                       .on_end = {},
                                                       .on_sent = {}});
  Loop::Id back = 0;
  back = other.add(
      std::move(there),
      {.on_frame = [&](Frame frame) { other.send(back, std::move(frame)); }, .on_end = {}, .on_sent = {}});
  near.start();
  other.start();
  std::int64_t asked = 0;
  for ([[maybe_unused]] auto _ : state) {
    near.send(to_other, {0, Bytes(static_cast<std::size_t>(state.range(0)))});
    ++asked;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return answers == asked; });
  }
  state.SetBytesProcessed(2 * asked * state.range(0));
}

void between_threads(benchmark::State& state) {
  auto [here, there] = connected_pair();
  const Deadline deadline = far();
  std::thread echo([&deadline, socket = std::move(there)] {
    try {
      while (true) send_frame(socket, receive_frame(socket, deadline, kMostFrameBytes), deadline);
    } catch (const NetworkError&) {
      return;  // the other end is done
    }
  });
  std::int64_t asked = 0;
  for ([[maybe_unused]] auto _ : state) {
    send_frame(here, {0, Bytes(static_cast<std::size_t>(state.range(0)))}, deadline);
    (void)receive_frame(here, deadline, kMostFrameBytes);
    ++asked;
  }
  here = Socket();
  echo.join();
  state.SetBytesProcessed(2 * asked * state.range(0));
}

BENCHMARK(between_loops)
    ->Arg(1)
    ->Arg(64 << 10)
    ->Arg(1 << 20)
    ->Arg(8 << 20)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(between_threads)
    ->Arg(1)
    ->Arg(64 << 10)
    ->Arg(1 << 20)
    ->Arg(8 << 20)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
