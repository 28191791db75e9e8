#pragma once

// The ranks of a run that are processes: what they tell each other in addition to tensors. Rank 0 is the coordinator.
//
//   barrier     each rank tells that it is there, the coordinator that all are
//   heartbeat   each rank tells where it is, the coordinator where it is itself; in small crews where all ranks are
//   failure     of one rank, told to all, in small crews with the last actions of each; a process that ends or falls silent is one
//   clock       repeated round trips to the coordinator
//   gather      the record of each rank, at the end
//
// Ranks other than the coordinator tell each other nothing, and the bytes that it sends to one of them do not grow with the crew: the bytes
// of all together are proportional to their number.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/net/loop.hpp"
#include "executor/net/world.hpp"
#include "executor/process/clock_offset.hpp"
#include "executor/process/letters.hpp"
#include "executor/run/clock.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// In crews of at most this many ranks every rank knows where all are; in larger ones only the coordinator does.
inline constexpr int kSmallCrew = 16;

/// Interval of heartbeats if a rank counts as dead after `silence`: eight in that time, and not more than ten a second. The
/// coordinator hears at most about a thousand a second, however many they are.
[[nodiscard]] std::chrono::milliseconds time_between_beats(std::chrono::milliseconds silence, int ranks);

/// Speaks over the control connections of a meeting. Its functions are for the thread that runs the process, and barrier() for that of
/// the rank; everything that comes from outside is handled on the loop's thread.
class Crew {
 public:
  /// `loop` has not started, and ends before the crew does. `silence`: a process that sends nothing for this time is taken for dead.
  Crew(net::Loop& loop, const net::World& world, std::vector<net::Socket> control, const RunClock& clock,
       std::chrono::milliseconds silence);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(lines_.size()); }
  [[nodiscard]] bool is_coordinator() const { return rank() == Rank(0); }

  /// Heartbeats carry where the rank of `state` is, failures go both ways. REQUIRES: before the loop starts; the loop ends before
  /// `state` does. Without a run the end of a process goes unnoticed.
  void attach(RunState& state);

  /// Another rank cannot be reached. Only the coordinator can judge why, and ends the run; where it cannot be reached either, that
  /// ends the run. On the loop's thread. REQUIRES: attach() was called.
  void complain(Rank who, const std::string& what);

  /// The following are collective: every rank calls them in the same order. They end early, with false or nothing, once the run has
  /// failed.

  [[nodiscard]] bool barrier();
  /// Returns how far the coordinator's clock is ahead of this process's, from `rounds` round trips, which need not be the same number
  /// everywhere; with none it is taken for the same clock.
  [[nodiscard]] std::optional<ClockOffset> align(int rounds);
  /// Returns the bytes that each rank gave, [rank], at the coordinator; empty at the others.
  [[nodiscard]] std::optional<std::vector<net::Bytes>> gather(net::Bytes own);
  /// Returns the bytes that the coordinator gave.
  [[nodiscard]] std::optional<net::Bytes> broadcast(net::Bytes own);

  /// The last barrier: nothing is left to send, and connections may end from now on.
  [[nodiscard]] bool part();

  /// After a failure: gives this rank's record. At the coordinator returns the record of each, [rank], empty of those that did not give it
  /// in time; elsewhere waits as long for the coordinator's word.
  [[nodiscard]] std::vector<net::Bytes> say_goodbye(net::Bytes own, std::chrono::milliseconds patience);
  /// True if the coordinator knows of the failure, and so tells all ranks.
  [[nodiscard]] bool is_told() const;
  /// Ends all waits, now and later.
  void stop();

 private:
  /// Letters from other ranks that wait to be read.
  struct Mail {
    /// The bytes that one rank gives, piece by piece.
    struct Share {
      net::Bytes bytes;
      bool is_whole = false;
    };

    explicit Mail(std::size_t ranks) : shares(ranks), remains(ranks), gone(ranks) {}

    unsigned round = 0;          // barriers that are over
    int here = 0;                // ranks at the present one; coordinator
    std::vector<Share> shares;   // [rank]; coordinator
    std::vector<Share> remains;  // [rank]; coordinator
    std::deque<net::Bytes> broadcasts;
    std::deque<RoundTrip> trips;  // ended
    Ticks asked = 0;              // when the one under way began
    std::vector<bool> gone;       // [rank] its connection has ended, or it was silent for too long
    bool is_told = false;         // the coordinator has told all ranks of the failure
    bool is_over = false;         // all letters are sent
    bool stopped = false;
  };
  /// A control connection. Times by the loop's thread only.
  struct Line {
    std::optional<net::Loop::Id> id;  // none: of the own rank, and of all but the coordinator elsewhere
    Ticks heard = 0;
  };

  [[nodiscard]] bool is_small() const { return size() <= kSmallCrew; }
  /// True if this process is told where `other` is.
  [[nodiscard]] bool hears_of(Rank other) const { return is_coordinator() || is_small() || other == Rank(0); }
  /// Says the coordinator's last word.
  void say_bye();
  void say(Rank to, net::Frame frame);
  void say_to_all(const net::Frame& frame);
  /// Counts one more rank at the coordinator's barrier. Called with the lock, which it gives up while it writes.
  void come(std::unique_lock<std::mutex>& lock);
  void share(LetterKind kind, const net::Bytes& own);
  /// Tells the coordinator that this rank is at the barrier. Returns the barrier's number.
  [[nodiscard]] unsigned arrive();
  [[nodiscard]] std::optional<RoundTrip> round_trip();
  [[nodiscard]] std::vector<net::Bytes> take_shares();
  [[nodiscard]] std::vector<net::Bytes> take_remains();
  [[nodiscard]] net::Bytes take_broadcast();

  /// Waits until the mail is as wanted. Returns false if the run was stopped.
  template <class Wanted>
  [[nodiscard]] bool wait(Wanted&& is_wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return mail_.stopped || is_wanted(mail_); });
    return !mail_.stopped;
  }
  /// Waits likewise, but for at most `most`, also after stop().
  template <class Wanted>
  void wait_for(std::chrono::milliseconds most, Wanted&& is_wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [&] { return is_wanted(mail_); });
  }

  // Called on the loop's thread.

  void receive(Rank from, const net::Frame& frame);
  void receive_piece(Mail::Share& share, const net::Bytes& body);
  void receive_news(const net::Bytes& body);
  void lose(Rank who, const std::string& why);
  void beat();
  void look_for_silence();
  void tell(const Failure& failure);
  [[nodiscard]] static std::vector<net::Bytes> bytes_of(std::vector<Mail::Share>& shares);

  net::Loop& loop_;
  Rank rank_;
  RunClock clock_;
  std::chrono::milliseconds silence_;
  std::vector<Line> lines_;  // [rank]
  RunState* state_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Mail mail_;
};

/// The barrier of ranks that are processes.
class CrewBarrier : public Barrier {
 public:
  /// `crew` outlives it.
  explicit CrewBarrier(Crew& crew) : crew_(crew) {}
  [[nodiscard]] bool arrive_and_wait() override { return crew_.barrier(); }
  void stop() override { crew_.stop(); }

 private:
  Crew& crew_;
};

}  // namespace pipeloom::executor
