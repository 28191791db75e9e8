#pragma once

// The state that the ranks of a run share, and that their watcher reads.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/run/exchange.hpp"
#include "executor/run/run.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor {

/// Thrown in a rank that is to end because another one failed.
struct Stopped {};

/// The position of a rank in its run. Its thread writes, the watcher reads.
struct Progress {
  enum class Doing : std::uint8_t { Computing, Waiting, Ended };
  std::atomic<int> step = 0;
  std::atomic<std::size_t> instruction = 0;  // position in its list; its length: done with the step
  std::atomic<Doing> doing = Doing::Waiting;
  std::atomic<Ticks> since = 0;

  static constexpr std::size_t kNoCopy = static_cast<std::size_t>(-1);
  std::atomic<std::size_t> copy =
      kNoCopy;  // the instruction of the copy that is under way at the same time, in the same step
  std::atomic<Ticks> copy_since = 0;  // when it began, or the last one ended

  /// The time of the last report of a rank of another process. A report older than half a timeout is out of date.
  static constexpr Ticks kOwn = -1;
  static constexpr Ticks kUnknown = -2;  // not known
  std::atomic<Ticks> heard = kOwn;
};

/// The reason for which a run ends early.
struct Failure {
  Rank rank{-1};                          ///< whose
  std::string what;                       ///< what went wrong there
  std::string message;                    ///< names rank, step and instruction too
  std::vector<std::string> last_actions;  ///< one per rank of which this process knows
};

/// The record of a rank, as its own process knows it. Of several ranks in one process the first one has the times and messages of all, which
/// would otherwise be kept once for each.
struct RankRecord {
  std::vector<Ticks> start;  ///< [step * ops + op], -1: it did not end, or is another process's
  std::vector<Ticks> end;
  std::vector<MeasuredMessage> messages;  ///< [step * messages + id] of all steps
  std::size_t peak_bytes = 0;
  RankGradients gradients;
};

/// The point at which all ranks meet between steps.
class Barrier {
 public:
  Barrier() = default;
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  virtual ~Barrier() = default;
  /// Waits until every rank is here. Returns false if the run was stopped: then no rank waits here any more.
  [[nodiscard]] virtual bool arrive_and_wait() = 0;
  /// Ends all waits.
  virtual void stop() = 0;
};

class RunState {
 public:
  /// `local` are the ranks of this process, at least one.
  RunState(std::shared_ptr<const RunPlan> plan, Work& work, const std::vector<Rank>& local,
           std::unique_ptr<Exchange> exchange, std::unique_ptr<Barrier> barrier);

  [[nodiscard]] const RunPlan& plan() const { return *plan_; }
  [[nodiscard]] const Program& program() const { return plan_->program; }
  [[nodiscard]] const Schedule& schedule() const { return plan_->schedule(); }
  [[nodiscard]] const RunOptions& options() const { return plan_->options; }
  [[nodiscard]] const RunClock& clock() const { return plan_->clock; }
  [[nodiscard]] int all_steps() const { return plan_->all_steps(); }
  [[nodiscard]] Exchange& exchange() { return *exchange_; }
  [[nodiscard]] Barrier& barrier() { return *barrier_; }
  /// REQUIRES: a rank of this process.
  [[nodiscard]] RankWork& work(Rank rank) { return *work_[rank.at()]; }
  [[nodiscard]] std::size_t elements(MessageId message) const { return plan_->elements[message]; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  /// The rank is about to carry out this instruction.
  void begin(Rank rank, int step, std::size_t instruction, Progress::Doing doing);
  /// The rank's copy lane is about to carry out this instruction, and has done it.
  void begin_copy(Rank rank, std::size_t instruction);
  void end_copy(Rank rank);
  void record(std::size_t op, int step, Ticks start, Ticks end);

  /// The first failure counts; all ranks of this process are told to end. Does not throw if memory runs out.
  void fail(Rank rank, std::string_view what);
  /// The same for a failure of the copy that is under way.
  void fail_copy(Rank rank, std::string_view what);
  /// The same with a message that was made before the run: for a rank without memory to make one.
  void fail_without_memory();
  /// The same with the words of another process.
  void fail(Failure failure);
  /// Called once, with the first failure, by the thread that noticed it. Set before any rank runs.
  void on_failure(std::function<void(const Failure&)> told) { told_ = std::move(told); }
  /// The rank's thread is about to return.
  void end(Rank rank);

  /// Positions of ranks of other processes, as these report them: watch() tells them like those of this process.
  [[nodiscard]] Progress& progress(Rank rank) { return progress_[rank.at()]; }
  /// True if this process hears from all ranks directly, and so sees a rank that stays in an op, and that all wait.
  void knows_all(bool all) { knows_all_ = all; }

  /// Returns when all ranks of this process have ended, or soon after the first failure.
  void watch();
  /// True if this rank's thread has ended. REQUIRES: watch() returned.
  [[nodiscard]] bool has_ended(Rank rank) const;
  /// Slots hold sums over their replicas from now on.
  void replicas_are_reduced() { replicas_are_reduced_ = true; }

  /// The first failure, or nullopt if there was none.
  [[nodiscard]] std::optional<Failure> failure() const;
  /// REQUIRES: a rank of this process; its thread has ended, or the run was stopped: then without results.
  [[nodiscard]] RankRecord record_of(Rank rank) const;

 private:
  /// "2F3", or the batch as program_text() writes it.
  [[nodiscard]] std::string instruction_text(Rank rank, std::size_t instruction) const;
  [[nodiscard]] std::string last_actions_of(Rank rank) const;
  [[nodiscard]] std::vector<std::string> last_actions() const;
  void fail_at(Rank rank, std::size_t instruction, std::string_view what);
  /// Steps that all ranks of this process have ended.
  [[nodiscard]] int steps_over() const;
  /// Tells how far the run is, and fails it if it is asked to end.
  void look_around();
  /// Fails the run if a rank stays in one op or copy, or all wait, for too long.
  void look_for_stall();
  [[nodiscard]] std::size_t index(std::size_t op, int step) const {
    return static_cast<std::size_t>(step) * schedule().num_ops() + op;
  }

  std::shared_ptr<const RunPlan> plan_;
  std::unique_ptr<Barrier> barrier_;
  std::unique_ptr<Exchange> exchange_;
  std::vector<std::unique_ptr<RankWork>> work_;  // [rank], null: of another process
  Rank first_;                                   // of this process
  std::deque<Progress> progress_;                // [rank]
  std::vector<std::atomic<Ticks>> start_;        // [step * ops + op], -1: it did not end
  std::vector<std::atomic<Ticks>> end_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> replicas_are_reduced_ = false;
  std::function<void(const Failure&)> told_;
  bool knows_all_ = true;

  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  int running_;
  std::optional<Failure> failure_;
  Failure out_of_memory_;  // moved from by the first rank that needs it
};

}  // namespace pipeloom::executor
