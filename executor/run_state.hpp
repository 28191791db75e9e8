#pragma once

// What the ranks of a run share, and what the one who watches them reads.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/barrier.hpp"
#include "executor/clock.hpp"
#include "executor/exchange.hpp"
#include "executor/run.hpp"

namespace pipeloom::executor {

/// Thrown in a rank that is to end because another one failed.
struct Stopped {};

/// Where a rank is. Its thread writes, the watcher reads.
struct Progress {
  enum class Doing : std::uint8_t { Computing, Waiting, Ended };
  std::atomic<int> step = 0;
  std::atomic<std::size_t> instruction = 0;  // position in its list; its length: done with the step
  std::atomic<Doing> doing = Doing::Waiting;
  std::atomic<Ticks> since = 0;
};

class RunState {
 public:
  RunState(const Program& program, const RunOptions& options, Work& work);

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Schedule& schedule() const { return program_.schedule(); }
  [[nodiscard]] const RunOptions& options() const { return options_; }
  [[nodiscard]] const RunClock& clock() const { return clock_; }
  [[nodiscard]] int all_steps() const { return options_.warmup_steps + options_.steps; }
  [[nodiscard]] Exchange& exchange() { return exchange_; }
  [[nodiscard]] Barrier& barrier() { return barrier_; }
  [[nodiscard]] RankWork& work(Rank rank) { return *work_[rank.at()]; }
  [[nodiscard]] std::size_t elements(MessageId message) const { return elements_[message]; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  /// The rank is about to carry out this instruction.
  void begin(Rank rank, int step, std::size_t instruction, Progress::Doing doing);
  void record(std::size_t op, int step, Ticks start, Ticks end);

  /// The first failure counts; all ranks are told to end.
  void fail(Rank rank, const std::string& what);
  /// The rank's thread is about to return.
  void end(Rank rank);

  /// Returns when all ranks have ended, or soon after the first failure.
  void watch();
  /// Whether this rank's thread has ended. REQUIRES: watch() returned.
  [[nodiscard]] bool has_ended(Rank rank) const;
  /// Throws RunFailed if there was a failure.
  void throw_failure() const;
  /// REQUIRES: all ranks have ended without failure.
  [[nodiscard]] RunResult take_result();

 private:
  struct Failure {
    std::string message;
    std::vector<std::string> last_actions;
  };

  /// "2F3", or the batch as program_text() writes it.
  [[nodiscard]] std::string instruction_text(Rank rank, std::size_t instruction) const;
  [[nodiscard]] std::string last_actions(Rank rank) const;
  /// Fails the run if a rank stays in one op, or all wait, for too long.
  void look_for_stall();
  [[nodiscard]] Timeline timeline(int first_step, int steps) const;
  [[nodiscard]] std::size_t index(std::size_t op, int step) const {
    return static_cast<std::size_t>(step) * schedule().num_ops() + op;
  }

  Program program_;
  RunOptions options_;
  RunClock clock_;
  Barrier barrier_;
  Exchange exchange_;
  std::vector<std::size_t> elements_;  // [message]
  std::vector<std::unique_ptr<RankWork>> work_;
  std::deque<Progress> progress_;          // [rank]
  std::vector<std::atomic<Ticks>> start_;  // [step * ops + op], -1: it did not end
  std::vector<std::atomic<Ticks>> end_;
  std::atomic<bool> stopped_ = false;

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  int running_;
  std::optional<Failure> failure_;
};

}  // namespace pipeloom::executor
