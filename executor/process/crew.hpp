#pragma once

// The ranks of a run that are processes: what they tell each other besides tensors. Rank 0 is the coordinator.
//
//   barrier     each rank says that it is there, the coordinator that all are
//   heartbeat   each rank says where it is, the coordinator that it lives
//   failure     of one rank, told to all with the last actions of each; a process that ends or falls silent is one
//   clock       repeated round trips to the coordinator
//   gather      what each rank wrote down, at the end

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/barrier.hpp"
#include "executor/clock.hpp"
#include "executor/net/loop.hpp"
#include "executor/net/world.hpp"
#include "executor/process/clock_offset.hpp"
#include "executor/run_state.hpp"

namespace pipeloom::executor {

/// Speaks over the control connections of a meeting. Threads of the same process may use it at once.
class Crew {
 public:
  /// `loop` outlives it and has not started. `silence`: a process that says nothing for so long is taken for dead.
  Crew(net::Loop& loop, net::World world, std::vector<net::Socket> control, RunClock clock,
       std::chrono::milliseconds silence);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] Rank rank() const;
  [[nodiscard]] int size() const;
  [[nodiscard]] bool is_coordinator() const { return rank() == Rank(0); }

  /// From now on heartbeats carry where the rank of `state` is, and failures go both ways.
  void attach(const std::shared_ptr<RunState>& state);

  /// All of the following are collective: every rank calls them in the same order, from one thread. They end early, with false or
  /// nothing, once the run has failed.

  [[nodiscard]] bool barrier();
  /// What to add to a time of this rank to have it on the coordinator's clock.
  [[nodiscard]] std::optional<ClockOffset> align(int rounds);
  /// At the coordinator what each rank gave, [rank]; empty at the others.
  [[nodiscard]] std::optional<std::vector<net::Bytes>> gather(net::Bytes own);
  /// What the coordinator gave.
  [[nodiscard]] std::optional<net::Bytes> broadcast(net::Bytes own);

  /// After a failure: what ranks that still live wrote down, [rank] at the coordinator, empty of those that did not answer in time.
  [[nodiscard]] std::vector<net::Bytes> gather_what_is_left(net::Bytes own,
                                                            std::chrono::milliseconds patience);
  /// Ends all waits, now and later.
  void stop();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

/// The barrier of ranks that are processes.
class CrewBarrier : public Barrier {
 public:
  explicit CrewBarrier(std::shared_ptr<Crew> crew) : crew_(std::move(crew)) {}
  [[nodiscard]] bool arrive_and_wait() override { return crew_->barrier(); }
  void stop() override { crew_->stop(); }

 private:
  std::shared_ptr<Crew> crew_;
};

}  // namespace pipeloom::executor
