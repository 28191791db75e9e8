#include "executor/run/rank_threads.hpp"

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "executor/run/rank_runner.hpp"
#include "executor/run/timer.hpp"

namespace pipeloom::executor {

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

void run_rank(RunState& state, Rank rank) {
  // Outlives its failure: its end waits for what runs beside it, which may take long.
  RankRunner runner(state, rank);
  run_or_fail(state, rank, [&] { runner.run(); });
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

}  // namespace pipeloom::executor
