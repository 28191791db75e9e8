// All ranks on one GPU, as threads of this process.

#include <memory>
#include <utility>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/exchange/local_exchange.hpp"
#include "executor/cuda/run/device_ranks.hpp"
#include "executor/cuda/run/device_runner.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/run/rank_threads.hpp"
#include "executor/run/run_outcome.hpp"

namespace pipeloom::executor::cuda {
namespace {

constexpr int kDevice = 0;

/// Shared with threads that do not come back.
struct OneGpuRun {
  OneGpuRun(DeviceWork& work, const Program& program, const RunOptions& options)
      : ranks(work),
        plan(make_plan(program, ranks, options)),
        all(ranks_of(program)),
        state(plan, ranks, all, std::make_unique<DeviceMessages>(std::make_unique<LocalExchange>(plan)),
              std::make_unique<ThreadBarrier>(program.schedule().ranks())) {}

  static std::vector<Rank> ranks_of(const Program& program) {
    std::vector<Rank> ranks;
    for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank) ranks.push_back(rank);
    return ranks;
  }

  DeviceRanks ranks;
  std::shared_ptr<const RunPlan> plan;
  std::vector<Rank> all;
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
  run_threads({run, &run->state}, run->all, [&clock = run->clock](RunState& state, Rank rank) {
    check(cudaSetDevice(kDevice), "cudaSetDevice");
    DeviceRunner runner(state, dynamic_cast<DeviceMessages&>(state.exchange()).on_device(), clock, rank);
    run_or_fail(state, rank, [&] { runner.run(); });
  });
  std::vector<RankRecord> records;
  for (const Rank rank : run->all) records.push_back(run->state.record_of(rank));
  if (const auto failure = run->state.failure()) throw failure_of(*run->plan, records, *failure);
  return result_of(*run->plan, std::move(records));
}

}  // namespace pipeloom::executor::cuda
