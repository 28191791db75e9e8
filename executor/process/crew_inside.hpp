#pragma once

// The inside of a Crew: its mail, and who handles it.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/process/crew.hpp"
#include "executor/process/letters.hpp"

namespace pipeloom::executor {

/// What has come from outside and waits to be read.
struct CrewMail {
  /// What one rank gives, piece by piece.
  struct Share {
    net::Bytes bytes;
    bool is_whole = false;
  };

  explicit CrewMail(std::size_t ranks) : shares(ranks), remains(ranks), gone(ranks) {}

  unsigned round = 0;          // barriers that are over
  int here = 0;                // ranks at the present one; coordinator
  std::vector<Share> shares;   // [rank]; coordinator
  std::vector<Share> remains;  // [rank]; coordinator
  std::deque<net::Bytes> broadcasts;
  std::deque<RoundTrip> trips;  // ended
  Ticks asked = 0;              // when the one under way began
  std::vector<bool> gone;       // [rank] its connection has ended, or it was silent for too long
  bool is_told = false;         // the coordinator has told everybody of the failure
  bool is_over = false;         // everything is said
  bool stopped = false;
};

class Crew::Inside {
 public:
  Inside(net::Loop& loop, const net::World& world, std::vector<net::Socket> control, const RunClock& clock,
         std::chrono::milliseconds silence);

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(lines_.size()); }
  [[nodiscard]] bool is_coordinator() const { return rank_ == Rank(0); }
  [[nodiscard]] bool is_small() const { return size() <= kSmallCrew; }
  /// Whether somebody tells this process where `other` is.
  [[nodiscard]] bool hears_of(Rank other) const { return is_coordinator() || is_small() || other == Rank(0); }
  [[nodiscard]] Ticks now() const { return clock_.now(); }
  void attach(RunState& state);
  void complain(Rank who, const std::string& what);
  /// The coordinator's last word.
  void say_bye();
  void stop();
  [[nodiscard]] bool is_told() const;

  void say(Rank to, net::Frame frame);
  void say_to_all(const net::Frame& frame);
  void share(LetterKind kind, const net::Bytes& own);
  /// Tells that this rank is at the barrier; its number.
  [[nodiscard]] unsigned arrive();
  [[nodiscard]] std::optional<RoundTrip> round_trip();
  [[nodiscard]] std::vector<net::Bytes> take_shares();
  [[nodiscard]] std::vector<net::Bytes> take_remains();
  [[nodiscard]] net::Bytes take_broadcast();

  /// Until the mail is as wanted; false if the run was stopped.
  template <class Wanted>
  [[nodiscard]] bool wait(Wanted&& is_wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return mail_.stopped || is_wanted(mail_); });
    return !mail_.stopped;
  }
  /// The same for at most so long, also after stop().
  template <class Wanted>
  void wait_for(std::chrono::milliseconds most, Wanted&& is_wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [&] { return is_wanted(mail_); });
  }

 private:
  /// A control connection. Times by the loop's thread only.
  struct Line {
    std::optional<net::Loop::Id> id;  // none: of the own rank, and of all but the coordinator elsewhere
    Ticks heard = 0;
  };

  void receive(Rank from, const net::Frame& frame);
  void receive_piece(CrewMail::Share& share, const net::Bytes& body);
  void receive_news(const net::Bytes& body);
  void lose(Rank who, const std::string& why);
  void come(std::unique_lock<std::mutex>& lock);
  void beat();
  void look_for_silence();
  void tell(const Failure& failure);
  [[nodiscard]] static std::vector<net::Bytes> bytes_of(std::vector<CrewMail::Share>& shares);

  net::Loop& loop_;
  Rank rank_;
  RunClock clock_;
  std::chrono::milliseconds silence_;
  std::vector<Line> lines_;  // [rank]
  RunState* state_ = nullptr;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  CrewMail mail_;
};

}  // namespace pipeloom::executor
