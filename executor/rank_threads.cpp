#include "executor/rank_threads.hpp"

#include <exception>
#include <thread>

#include "executor/rank_runner.hpp"
#include "executor/timer.hpp"

namespace pipeloom::executor {
namespace {

/// A thread's whole life. What it throws ends the run.
void live(RunState& state, Rank rank) {
  wake_up_precisely();
  // Outlives its failure: its end waits for what runs beside it, which may take long.
  std::unique_ptr<RankRunner> runner;
  try {
    runner = std::make_unique<RankRunner>(state, rank);
    runner->run();
  } catch (const Stopped&) {
  } catch (const std::exception& error) {
    state.fail(rank, error.what());
  } catch (...) {
    state.fail(rank, "an exception of unknown type");
  }
  runner.reset();
  state.end(rank);
}

}  // namespace

void run_threads(const std::shared_ptr<RunState>& state, const std::vector<Rank>& ranks) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const Rank rank : ranks) threads.emplace_back([state, rank] { live(*state, rank); });
  state->watch();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (state->has_ended(ranks[i]))
      threads[i].join();
    else
      threads[i].detach();
  }
}

}  // namespace pipeloom::executor
