#pragma once

// One connection of a Loop: what waits to be written, and what has come.

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>

#include "executor/net/loop.hpp"
#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"

namespace pipeloom::executor::net {

/// Frames leave in the order of send(): a sender writes itself only what nothing waits in front of, under the lock of the queue.
class Connection {
 public:
  /// Adds what it queues to `queued`, which outlives it.
  Connection(Socket socket, Loop::Handlers handlers, std::atomic<std::size_t>& queued);

  /// Any thread. Whether serve() must be called: to write the rest, or to report what was written.
  [[nodiscard]] bool send(Frame frame);
  void pause(bool paused) { paused_ = paused; }

  /// The rest is for one thread: the loop's, and after it the one that ends the loop.

  /// -1 once it has ended.
  [[nodiscard]] int fd() const { return socket_.fd(); }
  /// What poll() is to wait for; 0: nothing now.
  [[nodiscard]] short wanted() const;
  /// Reads and writes once each as far as `ready`, poll()'s answer, allows, and calls the handlers.
  void serve(short ready, std::span<std::byte> buffer);
  /// No handler is called any more; what comes is thrown away.
  void mute();
  /// Whether everything that was sent has reached the other machine, or cannot any more.
  [[nodiscard]] bool is_settled() const;

 private:
  struct Outgoing {
    FrameHead head;
    Bytes body;
    [[nodiscard]] std::size_t size() const { return head.size() + body.size(); }
  };

  /// As much of the queue as the system takes in one go. REQUIRES: the lock, a queue that is not empty.
  void write_once();
  /// Takes `count` bytes off the queue. REQUIRES: the lock.
  void drop(std::size_t count);
  /// Nothing of what waits will be written. REQUIRES: the lock.
  void drop_all();
  void report_sent();
  /// Whether there was something to read.
  bool read_once(std::span<std::byte> buffer);
  void deliver(std::span<const std::byte> bytes);
  void end(const std::string& reason);

  Loop::Handlers handlers_;
  FrameCutter cutter_;
  std::atomic<bool> paused_ = false;
  std::atomic<std::size_t>& queued_;

  mutable std::mutex mutex_;  // guards the rest; the socket is closed by the loop's thread only
  Socket socket_;
  std::deque<Outgoing> queue_;
  std::size_t written_ = 0;     // bytes of its first frame
  std::size_t unreported_ = 0;  // frames written of which on_sent has not heard
  int write_error_ = 0;         // why writing ended; what the other end said before is still read
};

}  // namespace pipeloom::executor::net
