// Ranks as threads of this process.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <variant>

#include "executor/rank_runner.hpp"
#include "executor/run.hpp"
#include "executor/run_state.hpp"
#include "executor/timer.hpp"
#include "sim/error.hpp"

namespace pipeloom::executor {
namespace {

/// Throws ScheduleError unless the program can run.
void require_runnable(const Program& program, QueueDiscipline queue) {
  auto found = check_program(program, queue == QueueDiscipline::PerDirection);
  if (queue == QueueDiscipline::None)
    found.erase(std::remove_if(found.begin(), found.end(),
                               [](const Diagnostic& one) { return one.code == "mispaired"; }),
                found.end());
  if (!found.empty())
    throw ScheduleError(fmt::format("the program cannot run: {} [{}]{}", found.front().message,
                                    found.front().code,
                                    found.size() > 1 ? fmt::format(", and {} more", found.size() - 1) : ""));
  MessageRules rules;
  rules.queue = queue;
  const auto outcome = run_program(program, default_costs(program.schedule().placement()), rules);
  if (const auto* deadlock = std::get_if<ProgramDeadlock>(&outcome))
    throw ScheduleError(fmt::format("the program hangs after {} of {} entries: {}", deadlock->entries_done,
                                    program.schedule().num_entries(), describe(*deadlock, program)));
}

/// A thread's whole life. What it throws ends the run.
void live(RunState& state, Rank rank) {
  wake_up_precisely();
  try {
    RankRunner(state, rank).run();
  } catch (const Stopped&) {
  } catch (const std::exception& error) {
    state.fail(rank, error.what());
  } catch (...) {
    state.fail(rank, "an exception of unknown type");
  }
  state.end(rank);
}

}  // namespace

RunResult run_on_cpu(const Program& program, Work& work, const RunOptions& options) {
  require_runnable(program, options.queue);
  // Shared: a rank that cannot be stopped keeps what it uses.
  const auto state = std::make_shared<RunState>(program, options, work);
  std::vector<std::thread> threads;
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank)
    threads.emplace_back([state, rank] { live(*state, rank); });
  state->watch();
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank) {
    if (state->has_ended(rank))
      threads[rank.at()].join();
    else
      threads[rank.at()].detach();
  }
  state->throw_failure();
  return state->take_result();
}

}  // namespace pipeloom::executor
