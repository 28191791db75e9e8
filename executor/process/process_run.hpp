#pragma once

// A run whose ranks are processes, on one machine or many.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/net/loop.hpp"
#include "executor/net/world.hpp"
#include "executor/process/clock_offset.hpp"
#include "executor/process/crew.hpp"
#include "executor/run/exchange.hpp"
#include "executor/run/run.hpp"
#include "executor/run/run_plan.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// The parts in which back ends differ whose ranks are processes: the transport of tensors, and the runner of the rank. One for each
/// process. The thread that runs the process calls everything but run().
class ProcessEngine {
 public:
  ProcessEngine() = default;
  ProcessEngine(const ProcessEngine&) = delete;
  ProcessEngine& operator=(const ProcessEngine&) = delete;
  virtual ~ProcessEngine() = default;

  /// The ranks to which the exchange of this one needs a connection; each of them needs one to it.
  [[nodiscard]] virtual std::vector<int> peers(const RunPlan& plan, Rank own) const = 0;
  /// Called once. `loop` outlives the exchange and has not started; data[r] is the connection to rank r, open for peers. `lost` is to be
  /// called when one ends before finish(): (rank, reason).
  [[nodiscard]] virtual std::unique_ptr<Exchange> make_exchange(
      std::shared_ptr<const RunPlan> plan, Rank own, net::Loop& loop, std::vector<net::Socket> data,
      std::function<void(Rank, const std::string&)> lost) = 0;
  /// Makes what must be there before the first step; every rank calls it. Returns false if the run has failed.
  [[nodiscard]] virtual bool connect(Crew& crew, RunState& state) = 0;
  /// All steps of the rank, on its own thread. Throws Stopped if the run is stopped; any other exception ends the run.
  virtual void run(RunState& state, Rank rank) = 0;
  /// The last step is over: other processes may end.
  virtual void finish() = 0;
};

/// The result of one process of a run.
struct ProcessResult {
  /// The result of all ranks on rank 0's clock, at rank 0 only. RunResult::gradients[r] belongs to rank r.
  std::optional<RunResult> all;
  /// How far rank 0's clock was ahead of each rank's at the end of the run, [rank]; at rank 0 only.
  std::vector<ClockOffset> clocks;
};

/// A run that failed, as a process other than rank 0 sees it.
class ProcessFailed : public RunFailed {
 public:
  ProcessFailed(const RunFailed& failure, bool is_told) : RunFailed(failure), is_told_(is_told) {}
  /// True if rank 0 knows and tells of it: no other rank needs to.
  [[nodiscard]] bool is_told() const { return is_told_; }

 private:
  bool is_told_;
};

/// This process's rank of the program. As in run_on_cpu(): instruction by instruction, steps begin when all ranks have ended
/// the one before. Delays of `options` are not used: messages take as long as the network takes.
///
/// All ranks must give the same program, options and `agreements`, the inputs of the work.
///
/// Throws ScheduleError as run_on_cpu(); InputError if world.size is not the schedule's number of ranks; NetworkError if the ranks do not
/// find each other within the timeout; on every process that lives, RunFailed (at rank 0) or ProcessFailed if a rank fails, its
/// process ends or is silent for longer than the timeout. At rank 0 it has the partial timeline of all that answered, elsewhere of the
/// own rank.
[[nodiscard]] ProcessResult run_as_process(const Program& program, Work& work, const RunOptions& options,
                                           const net::World& world,
                                           const std::vector<net::Agreement>& agreements);

/// The same with another engine than sockets between CPUs; the engine may outlive the call, with a rank that did not return.
[[nodiscard]] ProcessResult run_as_process(const Program& program, Work& work, const RunOptions& options,
                                           const net::World& world,
                                           const std::vector<net::Agreement>& agreements,
                                           std::shared_ptr<ProcessEngine> engine);

}  // namespace pipeloom::executor
