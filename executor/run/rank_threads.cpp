#include "executor/run/rank_threads.hpp"

#include <fmt/format.h>

#include <exception>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "executor/run/clock.hpp"
#include "executor/run/mailboxes.hpp"
#include "executor/run/run.hpp"
#include "executor/run/run_outcome.hpp"

namespace pipeloom::executor {

bool ThreadBarrier::arrive_and_wait() {
  std::unique_lock lock(mutex_);
  const unsigned round = round_;
  if (++waiting_ == ranks_) {
    waiting_ = 0;
    ++round_;
    all_here_.notify_all();
    return !stopped_;
  }
  all_here_.wait(lock, [&] { return stopped_ || round_ != round; });
  return !stopped_;
}

void ThreadBarrier::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  all_here_.notify_all();
}

void run_or_fail(RunState& state, Rank rank, const std::function<void()>& work) {
  try {
    work();
  } catch (const Stopped&) {
  } catch (const std::bad_alloc&) {
    state.fail_without_memory();
  } catch (const std::exception& error) {
    state.fail(rank, error.what());
  } catch (...) {
    state.fail(rank, "an exception of unknown type");
  }
}

/// The ranks' threads. However it goes, each is joined, or left to itself where its rank cannot be stopped.
class RankThreads {
 public:
  RankThreads(std::shared_ptr<RunState> state, const std::vector<Rank>& ranks)
      : state_(std::move(state)), ranks_(ranks) {
    threads_.reserve(ranks.size());
  }
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;
  ~RankThreads() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (state_->has_ended(ranks_[i]))
        threads_[i].join();
      else
        threads_[i].detach();
    }
  }

  void start(const RankLife& life) {
    try {
      for (const Rank rank : ranks_)
        threads_.emplace_back([state = state_, rank, life] {
          wake_up_precisely();
          const auto work = [&] { life(*state, rank); };
          run_or_fail(*state, rank, std::ref(work));  // a copy could lack memory where no caller catches
          state->end(rank);
        });
    } catch (const std::system_error& error) {
      give_up(error.code());
    } catch (const std::bad_alloc&) {
      give_up(std::make_error_code(std::errc::not_enough_memory));
    }
  }

 private:
  /// Fails the run for the ranks that have started, and ends those that never will.
  void give_up(std::error_code why) {
    const std::size_t first = threads_.size();
    try {
      state_->fail(ranks_[first],
                   fmt::format("its thread cannot be started ({}): this machine or its user may have no "
                               "more, see `ulimit -u` and `ulimit -v`; take fewer ranks",
                               why.message()));
    } catch (const std::bad_alloc&) {
      state_->fail_without_memory();
    }
    for (std::size_t i = first; i < ranks_.size(); ++i) state_->end(ranks_[i]);
  }

  std::shared_ptr<RunState> state_;
  const std::vector<Rank>& ranks_;
  std::vector<std::thread> threads_;
};

void run_threads(const std::shared_ptr<RunState>& state, const std::vector<Rank>& ranks,
                 const RankLife& life) {
  RankThreads threads(state, ranks);
  threads.start(life);
  try {
    state->watch();
  } catch (const std::bad_alloc&) {
    state->fail_without_memory();
    state->watch();  // for ranks that end at once
  }
}

RunResult run_all(const std::shared_ptr<RunState>& state, const RankLife& life) {
  const std::vector<Rank> ranks = all_ranks(state->schedule());
  run_threads(state, ranks, life);
  std::vector<RankRecord> records;
  for (const Rank rank : ranks) records.push_back(state->record_of(rank));
  if (const auto failure = state->failure()) throw failure_of(state->plan(), records, *failure);
  return result_of(state->plan(), std::move(records));
}

RunResult run_on_cpu(const Program& program, Work& work, const RunOptions& options) {
  const auto plan = make_plan(program, work, options);
  // Shared: a rank that cannot be stopped keeps the objects that it uses.
  return run_all(std::make_shared<RunState>(plan, work, all_ranks(program.schedule()),
                                            std::make_unique<Mailboxes>(plan),
                                            std::make_unique<ThreadBarrier>(program.schedule().ranks())));
}

}  // namespace pipeloom::executor
