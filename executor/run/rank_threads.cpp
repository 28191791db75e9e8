#include "executor/run/rank_threads.hpp"

#include <fmt/format.h>

#include <exception>
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
  } catch (const std::exception& error) {
    state.fail(rank, error.what());
  } catch (...) {
    state.fail(rank, "an exception of unknown type");
  }
}

void run_threads(const std::shared_ptr<RunState>& state, const std::vector<Rank>& ranks,
                 const RankLife& life) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  try {
    for (const Rank rank : ranks)
      threads.emplace_back([state, rank, life] {
        wake_up_precisely();
        run_or_fail(*state, rank, [&] { life(*state, rank); });
        state->end(rank);
      });
  } catch (const std::system_error& error) {
    // Those that run are told; those that never will have ended.
    state->fail(
        ranks[threads.size()],
        fmt::format("its thread cannot be started ({}): this machine or its user may have no more, see "
                    "`ulimit -u`; take fewer ranks",
                    error.code().message()));
    for (std::size_t i = threads.size(); i < ranks.size(); ++i) state->end(ranks[i]);
  }
  state->watch();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (state->has_ended(ranks[i]))
      threads[i].join();
    else
      threads[i].detach();
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
  // Shared: a rank that cannot be stopped keeps what it uses.
  return run_all(std::make_shared<RunState>(plan, work, all_ranks(program.schedule()),
                                            std::make_unique<Mailboxes>(plan),
                                            std::make_unique<ThreadBarrier>(program.schedule().ranks())));
}

}  // namespace pipeloom::executor
