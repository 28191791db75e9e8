#pragma once

// Ranks as threads of this process.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// The barrier of ranks that are threads of one process.
class ThreadBarrier : public Barrier {
 public:
  /// REQUIRES: ranks >= 1.
  explicit ThreadBarrier(int ranks) : ranks_(ranks) {}

  [[nodiscard]] bool arrive_and_wait() override;
  void stop() override;

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int ranks_;
  int waiting_ = 0;
  unsigned round_ = 0;
  bool stopped_ = false;
};

/// All steps of one rank. Throws Stopped if the run is stopped; any other exception ends the run.
using RankLife = std::function<void(RunState&, Rank)>;
/// Does `work`; an exception other than Stopped ends the run at once: before anything that `work` uses is waited for.
void run_or_fail(RunState& state, Rank rank, const std::function<void()>& work);
/// The steps of a rank on the CPU: on this thread, and on threads of its own for copies and overlapped groups.
void run_rank(RunState& state, Rank rank);

/// Runs all steps of these ranks, a thread each; returns when they have ended, or soon after a failure: the thread of a rank that does not
/// return from its op then keeps running, with its share of `state`.
void run_threads(const std::shared_ptr<RunState>& state, const std::vector<Rank>& ranks,
                 const RankLife& life = run_rank);

/// run_threads() of all ranks, and its result. Throws RunFailed. REQUIRES: a state of all ranks.
[[nodiscard]] RunResult run_all(const std::shared_ptr<RunState>& state, const RankLife& life = run_rank);

}  // namespace pipeloom::executor
