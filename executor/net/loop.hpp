#pragma once

// One thread that reads and writes many connections, so that nobody who computes ever waits for the network.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"

namespace pipeloom::executor::net {

class Loop {
 public:
  using Id = std::size_t;
  struct Handlers {
    /// Every frame, in the order of its sender, on the loop's thread. What it throws closes the connection with what() as the reason.
    std::function<void(Frame)> on_frame;
    /// Once, on the loop's thread, unless close() or the destructor ended the connection: why it ended, "the connection was closed" or
    /// the system's words.
    std::function<void(const std::string&)> on_end;
    /// Every frame that was handed to the system whole, in the order of send(); may be empty.
    std::function<void()> on_sent = {};
  };

  Loop();
  /// Writes what is still queued for at most `linger` (below), then closes everything. Not called by the loop's thread.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Takes over a connected socket. REQUIRES: before start().
  [[nodiscard]] Id add(Socket socket, Handlers handlers);
  /// Calls `fn` on the loop's thread again and again. REQUIRES: before start().
  void every(std::chrono::milliseconds period, std::function<void()> fn);
  /// Frames may come from now on.
  void start();

  /// Queues a frame; any thread. Never waits, does nothing if the connection has ended.
  void send(Id to, Frame frame);
  /// Bytes queued and not yet handed to the system, of all connections.
  [[nodiscard]] std::size_t queued() const;
  /// No more reading from `from` until resume(): the sender's bytes stay in the system's buffers, and then with the sender. Any thread.
  void pause(Id from);
  void resume(Id from);
  /// How long the destructor goes on writing; 1 s unless set.
  void linger(std::chrono::milliseconds most);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace pipeloom::executor::net
