#pragma once

// One thread that reads and writes many connections, so that no thread that computes waits for the network.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"

namespace pipeloom::executor::net {

/// Handlers run on the loop's thread, one at a time, none before start() and none after the destructor has begun. They may call send(),
/// pause() and resume(), and should be short: all connections wait for them. on_end, on_sent and timers do not throw.
class Loop {
 public:
  using Id = std::size_t;
  struct Handlers {
    /// Every frame, in the order of its sender. An exception closes the connection with its what() as the reason.
    std::function<void(Frame)> on_frame;
    /// Once, after the last frame, unless the destructor ended the connection: why it ended, "the connection was closed" or the
    /// system's words. The end of a paused connection goes unnoticed.
    std::function<void(const std::string&)> on_end;
    /// Called for every frame that was handed to the system whole, in the order of send(); may be empty.
    std::function<void()> on_sent = {};
  };

  /// Throws NetworkError where the system has no descriptor left.
  Loop();
  /// Writes the frames still queued and waits until the other machines have it, for at most `linger` (below), then closes everything.
  /// Not called by the loop's thread.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Takes over a connected socket. REQUIRES: before start().
  [[nodiscard]] Id add(Socket socket, Handlers handlers);
  /// Calls `fn` again and again, `period` after it returned, the first time `period` after start(). REQUIRES: before start().
  void every(std::chrono::milliseconds period, std::function<void()> fn);
  /// Frames may arrive from now on.
  void start();

  /// Queues a frame; any thread. Never waits, does nothing if the connection has ended. A small frame that no other waits before is
  /// written by the caller's thread. Throws NetworkError for a body that no frame can hold.
  void send(Id to, Frame frame);
  /// Bytes queued and not yet handed to the system, of all connections.
  [[nodiscard]] std::size_t queued() const;
  /// No more reading from `from` until resume(): the sender's bytes stay in the system's buffers, and then with the sender. Frames that
  /// were read already still come, at most 256 KiB of them. Any thread.
  void pause(Id from);
  void resume(Id from);
  /// Time for which the destructor goes on writing; 1 s unless set.
  void linger(std::chrono::milliseconds most);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace pipeloom::executor::net
