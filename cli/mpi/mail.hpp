#pragma once

// Letters between the ranks of an MPI job. Nothing here ever waits for another rank, as that one may be dead: MPI 3.1 says nothing
// about what becomes of a message to or from a rank that died. Open MPI 4.1 under `mpirun --enable-recovery` lets such requests
// hang without an error, so every one is tested for its end and, in the worst case, left behind.

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "executor/net/wire.hpp"

namespace pipeloom::cli::mpi {

using Clock = std::chrono::steady_clock;

enum class Tag : int {
  Hello = 1,  ///< who one is (Introduction); first from every rank
  Ready,      ///< a worker has read the grid (Readiness)
  Work,       ///< to a worker: a piece (Assignment)
  Done,       ///< from a worker: its lines (Completion)
  Failed,     ///< from a worker: what it cannot get over (Failure)
  Alive,      ///< nothing, when nothing else was sent for a while
  Stop,       ///< to a worker: end; with a body if a rank is gone
  Damaged,    ///< never sent: what collect() makes of a letter whose writer died while it was read
};

enum class Health : unsigned char {
  Well,
  Silent,  ///< its process may be stopped, or its machine be lost
  Gone,    ///< its process has ended
};

struct Letter {
  int from = 0;
  Tag tag = Tag::Alive;
  executor::net::Bytes body;
};

/// How often a rank is heard of at least, while its process lives.
inline constexpr auto kBeatEvery = std::chrono::seconds(1);

/// All of MPI that the program uses. One per process, used by the thread that made it.
class Mail {
 public:
  /// Starts MPI. Throws SystemError.
  Mail(int& argc, char**& argv);
  ~Mail();
  Mail(const Mail&) = delete;
  Mail& operator=(const Mail&) = delete;

  [[nodiscard]] int rank() const;
  /// Number of ranks.
  [[nodiscard]] int size() const;

  void send(int to, Tag tag, executor::net::Bytes body = {});
  /// Letters that have arrived, each rank's in its order but for long ones, which may come late. Also lets those who count on it know
  /// that this rank lives (rank 0 all others, these rank 0): Alive goes where nothing was sent for kBeatEvery, unless something is still
  /// on its way. To be called several times a second.
  [[nodiscard]] std::vector<Letter> collect();
  /// What is known of `rank`. Only those who are well are told that this rank lives.
  void note(int rank, Health health);
  /// Some rank will not come to the end: leave() does not wait long. Follows from Health::Gone where that was noted.
  void expect_absence();
  [[nodiscard]] bool expects_absence() const;
  /// The value of `future`; this rank lives on meanwhile.
  template <class Value>
  [[nodiscard]] Value await(std::future<Value> future) {
    while (future.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) listen();
    return future.get();
  }
  /// When something of `rank` was last seen; at first, when this was made.
  [[nodiscard]] Clock::time_point heard_of(int rank) const;
  /// Time in which nobody could be heard, as this process slept or waited for its disk, is not held against anybody.
  void forgive(Clock::duration pause);
  /// Gives letters that were sent so long to leave.
  void flush(Clock::duration at_most);

  /// Ends MPI and the process with `status`: together with the other ranks or, if they do not come, without them. If one is silent,
  /// the whole job is ended, as mpirun would wait for that one for ever.
  [[noreturn]] void leave(int status);

 private:
  void listen();
  void beat();

  struct State;
  std::unique_ptr<State> state_;
};

/// The rhythm of a rank's main thread: it looks for letters, and rests between two looks.
class Pause {
 public:
  /// Short after something happened, longer while nothing does.
  void rest() {
    std::this_thread::sleep_for(rest_);
    rest_ = std::min(2 * rest_, kLongest);
  }
  void something_happened() { rest_ = kShortest; }

  /// How long this process was away between two calls (stopped, or waiting for its disk), if longer than a moment.
  Clock::duration away() {
    const auto now = Clock::now();
    const auto gap = now - std::exchange(last_, now);
    return gap > kBeatEvery ? gap : Clock::duration::zero();
  }
  /// True a few times a second: for looks that cost something.
  bool is_time_to_look() {
    if (Clock::now() < next_look_) return false;
    next_look_ = Clock::now() + std::chrono::milliseconds(200);
    return true;
  }

 private:
  static constexpr std::chrono::microseconds kShortest{50};
  static constexpr std::chrono::microseconds kLongest{1000};
  std::chrono::microseconds rest_ = kShortest;
  Clock::time_point last_ = Clock::now();
  Clock::time_point next_look_ = Clock::now();
};

}  // namespace pipeloom::cli::mpi
