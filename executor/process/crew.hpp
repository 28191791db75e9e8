#pragma once

// The ranks of a run that are processes: what they tell each other besides tensors. Rank 0 is the coordinator.
//
//   barrier     each rank says that it is there, the coordinator that all are
//   heartbeat   each rank says where it is, the coordinator where it is itself; in small crews where everybody is
//   failure     of one rank, told to all, in small crews with the last actions of each; a process that ends or falls silent is one
//   clock       repeated round trips to the coordinator
//   gather      what each rank wrote down, at the end
//
// Ranks other than the coordinator tell each other nothing, and what it tells one of them does not grow with the crew: what all together
// write is proportional to their number.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/net/loop.hpp"
#include "executor/net/world.hpp"
#include "executor/process/clock_offset.hpp"
#include "executor/run/clock.hpp"
#include "executor/run/rank_threads.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// In crews of so many everybody knows where everybody is; in larger ones only the coordinator does.
inline constexpr int kSmallCrew = 16;

/// How often ranks say that they live, where silence of `silence` is death: eight times in it, and not more than ten times a second. The
/// coordinator hears at most about a thousand a second, however many they are.
[[nodiscard]] std::chrono::milliseconds time_between_beats(std::chrono::milliseconds silence, int ranks);

/// Speaks over the control connections of a meeting. Its functions are for the thread that runs the process, and barrier() for that of
/// the rank; everything that comes from outside is handled on the loop's thread.
class Crew {
 public:
  /// `loop` has not started, and ends before the crew does. `silence`: a process that says nothing for so long is taken for dead.
  Crew(net::Loop& loop, const net::World& world, std::vector<net::Socket> control, const RunClock& clock,
       std::chrono::milliseconds silence);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] Rank rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] bool is_coordinator() const { return rank() == Rank(0); }

  /// Heartbeats carry where the rank of `state` is, failures go both ways. REQUIRES: before the loop starts; the loop ends before
  /// `state` does. Without a run nobody hears of a process that ends.
  void attach(RunState& state);

  /// Another rank cannot be reached. Only the coordinator can judge why, and ends the run; where it cannot be reached either, that
  /// ends the run. On the loop's thread. REQUIRES: attach() was called.
  void complain(Rank who, const std::string& what);

  /// The following are collective: every rank calls them in the same order. They end early, with false or nothing, once the run has
  /// failed.

  [[nodiscard]] bool barrier();
  /// How far the coordinator's clock is ahead of this process's, by so many round trips, which need not be the same number everywhere;
  /// with none it is taken for the same clock.
  [[nodiscard]] std::optional<ClockOffset> align(int rounds);
  /// At the coordinator what each rank gave, [rank]; empty at the others.
  [[nodiscard]] std::optional<std::vector<net::Bytes>> gather(net::Bytes own);
  /// What the coordinator gave.
  [[nodiscard]] std::optional<net::Bytes> broadcast(net::Bytes own);

  /// The last one: nothing is left to say, and connections may end from now on.
  [[nodiscard]] bool part();

  /// After a failure: gives what this rank wrote down. At the coordinator returns what each gave, [rank], empty of those that did not
  /// in time; elsewhere waits as long for the coordinator's word.
  [[nodiscard]] std::vector<net::Bytes> say_goodbye(net::Bytes own, std::chrono::milliseconds patience);
  /// Whether the coordinator knows of the failure, and so tells of it.
  [[nodiscard]] bool is_told() const;
  /// Ends all waits, now and later.
  void stop();

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
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
