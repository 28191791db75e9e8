#pragma once

// Who calls a listener, heard all at once.

#include <cstdint>
#include <list>
#include <optional>
#include <span>

#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"

namespace pipeloom::executor::net {

/// Nobody is waited for who says nothing: the others are heard meanwhile, and he is sent away after a while, as is who sends no frame.
class Callers {
 public:
  struct Caller {
    Socket socket;
    Frame first;
  };

  /// `listener` outlives it. First frames above `most` bytes are none.
  Callers(const Socket& listener, std::uint32_t most) : listener_(listener), most_(most) {}

  /// The next who has sent a frame; nothing at the deadline, or as soon as the other end of one of `watched` has gone.
  /// Throws NetworkError where the system has no descriptor left.
  [[nodiscard]] std::optional<Caller> next(Deadline deadline, std::span<const Socket> watched = {});

 private:
  struct Silent {
    Socket socket;
    FrameCutter cutter;
    Deadline until;
  };
  enum class Said { Nothing, Frame, Nonsense };

  /// Waits until somebody calls, says something or has been silent for too long. Whether one of `watched` has ended.
  [[nodiscard]] bool wait(Deadline deadline, std::span<const Socket> watched) const;
  [[nodiscard]] Said listen_to(Silent& caller, Frame& first) const;

  const Socket& listener_;
  std::uint32_t most_;
  std::list<Silent> silent_;
};

}  // namespace pipeloom::executor::net
