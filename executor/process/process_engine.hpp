#pragma once

// What differs between back ends whose ranks are processes: who carries tensors, and who runs the rank.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/net/loop.hpp"
#include "executor/process/crew.hpp"
#include "executor/run/exchange.hpp"
#include "executor/run/run_plan.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// Of one process. The thread that runs the process calls everything but run().
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
  /// What must be there before the first step; every rank does it. False if the run has failed.
  [[nodiscard]] virtual bool connect(Crew& crew, RunState& state) = 0;
  /// All steps of the rank, on its own thread. Throws Stopped if the run is stopped; what else it throws ends the run.
  virtual void run(RunState& state, Rank rank) = 0;
  /// The last step is over: other processes may end.
  virtual void finish() = 0;
};

}  // namespace pipeloom::executor
