// All ranks on one GPU, as threads of this process.

#include <memory>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/exchange/local_exchange.hpp"
#include "executor/cuda/run/device_ranks.hpp"
#include "executor/cuda/run/device_runner.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/run/rank_threads.hpp"

namespace pipeloom::executor::cuda {
namespace {

constexpr int kDevice = 0;

/// Shared with threads that do not return.
struct OneGpuRun {
  OneGpuRun(DeviceWork& work, const Program& program, const RunOptions& options)
      : ranks(work),
        plan(make_plan(program, ranks, options)),
        state(plan, ranks, all_ranks(program.schedule()),
              std::make_unique<DeviceMessages>(std::make_unique<LocalExchange>(plan)),
              std::make_unique<ThreadBarrier>(program.schedule().ranks())) {}

  DeviceRanks ranks;
  std::shared_ptr<const RunPlan> plan;
  DeviceClock clock;
  RunState state;
};

}  // namespace

RunResult run_on_one_gpu(const Program& program, DeviceWork& work, const RunOptions& options) {
  static_cast<void>(require_devices());
  check(cudaSetDevice(kDevice), "cudaSetDevice");
  keep_freed_memory();
  const auto run = std::make_shared<OneGpuRun>(work, program, options);
  // The threads have their share of `run` through their state.
  return run_all({run, &run->state}, [&clock = run->clock](RunState& state, Rank rank) {
    check(cudaSetDevice(kDevice), "cudaSetDevice");
    DeviceRunner runner(state, dynamic_cast<DeviceMessages&>(state.exchange()).on_device(), clock, rank);
    run_or_fail(state, rank, [&] { runner.run(); });
  });
}

}  // namespace pipeloom::executor::cuda
