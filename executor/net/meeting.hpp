#pragma once

// The two sides of a meeting: rank 0, which is called and decides, and all the others.

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/net/socket.hpp"
#include "executor/net/wire.hpp"
#include "executor/net/world.hpp"

namespace pipeloom::executor::net {

/// Hears all callers of a listener at once: a caller that sends nothing holds up no other, and is sent away after a while, as is one that sends
/// no frame.
class Callers {
 public:
  struct Caller {
    Socket socket;
    Frame first;
  };

  /// `listener` outlives it. First frames above `most` bytes are none.
  Callers(const Socket& listener, std::uint32_t most) : listener_(listener), most_(most) {}

  /// The next caller that has sent a frame; nullopt at the deadline, or as soon as the other end of one of `watched` has gone.
  /// Throws NetworkError where the system has no descriptor left.
  [[nodiscard]] std::optional<Caller> next(Deadline deadline, std::span<const Socket> watched = {});

 private:
  struct Silent {
    Socket socket;
    FrameCutter cutter;
    Deadline until;
  };
  enum class Said { Nothing, Frame, Nonsense };

  /// Waits until a peer calls, sends something or has been silent for too long. Returns true if one of `watched` has ended.
  [[nodiscard]] bool wait(Deadline deadline, std::span<const Socket> watched) const;
  [[nodiscard]] Said listen_to(Silent& caller, Frame& first) const;

  const Socket& listener_;
  std::uint32_t most_;
  std::list<Silent> silent_;
};

/// Deadlines of the meeting's phases. Rank 0 gives up before the others do, so that all hear the reason from it, and a caller gives up before
/// the rank that it calls, so that the first failure is the cause of the others.
///
///   start ........ come . call . connect . decide . deadline
///
/// with a share of a quarter of the time, at most 1 s, between `come` and the deadline.
struct MeetingTimes {
  Deadline come;     ///< all ranks have called rank 0
  Deadline call;     ///< every rank has called all lower peers
  Deadline connect;  ///< and been called by all higher ones
  Deadline decide;   ///< rank 0 knows that
  Deadline deadline;
  std::string all;  ///< "30 s"
};
[[nodiscard]] MeetingTimes times_until(Deadline deadline);

/// The arguments of meet(), and its deadlines.
struct Visit {
  const World& world;
  const std::vector<Agreement>& agreements;
  const std::vector<int>& peers;
  MeetingTimes times;
};

/// Both as meet(). REQUIRES: rank 0 of several; another rank.
[[nodiscard]] Meeting meet_as_host(const Visit& visit);
[[nodiscard]] Meeting meet_as_guest(const Visit& visit);

/// A meeting whose connections all are still missing.
[[nodiscard]] Meeting empty_meeting(const World& world);

/// Waits for the calls of `ranks`. Throws NetworkError naming those that did not call `until` then, or until one of the control
/// connections ended.
void take_calls(Callers& callers, std::uint64_t run, const std::vector<int>& ranks, Meeting& meeting,
                Deadline until);

/// The peers below or above this rank.
[[nodiscard]] std::vector<int> lower_peers(const Visit& visit);
[[nodiscard]] std::vector<int> higher_peers(const Visit& visit);

/// "rank 2", "ranks 2 and 5", "ranks 2, 3 and 5".
[[nodiscard]] std::string names_of(const std::vector<int>& ranks);

}  // namespace pipeloom::executor::net
