#pragma once

// One rank of a run on a GPU: the twin of executor/run/rank_runner.cpp. Its thread goes through the rank's instructions and queues them; the
// device executes them up to a step later than the host queues them. At the end of a step the host waits for the device and reads its events.
//
//   compute stream   entries, one after another
//   second stream    the other parts of an overlapped group, from its fork to its join
//   copy stream      O and L: each waits for all earlier entries, and an entry that needs an L waits for it
//   compute stream   and after them the sums over replicas (executor/cuda/run/device_reduction.hpp)
//   exchange         messages (executor/cuda/exchange/device_exchange.hpp)

#include <optional>
#include <unordered_map>
#include <vector>

#include "executor/cuda/device/step_clock.hpp"
#include "executor/cuda/exchange/device_exchange.hpp"
#include "executor/cuda/run/device_ranks.hpp"
#include "executor/run/held_tensors.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor::cuda {

class DeviceRunner {
 public:
  /// All outlive it. REQUIRES: the rank's device is the current one of this thread, which alone calls the runner; it is a rank of
  /// DeviceRanks.
  DeviceRunner(RunState& state, DeviceExchange& exchange, DeviceClock& clock, Rank rank);
  /// Waits for the device to end all queued work, so that no memory in use is freed: for ever, if the device hangs.
  ~DeviceRunner();
  DeviceRunner(const DeviceRunner&) = delete;
  DeviceRunner& operator=(const DeviceRunner&) = delete;

  /// All steps. Throws Stopped if the run is stopped, and the errors of the work and the device; the work that the device has done by then is
  /// recorded.
  void run();

 private:
  /// Events of an instruction. Run: from the start of an entry's first op to the end of its last one. Post: `end` is when it was posted. Wait:
  /// from when the rank came there until it went on.
  struct Mark {
    Event start;
    Event end;
  };
  struct OpTimes {
    Event start;
    Event end;
  };

  void run_step(int step);
  void queue(std::size_t instruction, int step);
  void run_entry(std::size_t first, int step);
  void run_alone(std::size_t op, int step);
  void run_together(std::size_t first, std::size_t last, int step);
  void run_copy(std::size_t op, int step);
  void queue_op(std::size_t op, int step, DeviceTensor input, cudaStream_t stream);
  /// Makes the compute stream wait for the L of the pass that this op uses.
  void wait_for_reload(Op op);
  void post(std::size_t instruction, int step);
  void wait(std::size_t instruction, int step);
  void meet(int step);

  /// Until the device has done everything that was queued; shows meanwhile where it is.
  void wait_for_device(int step);
  void wait_for_instruction(std::size_t instruction, int step);
  void pause();
  [[nodiscard]] bool has_begun(std::size_t instruction);
  [[nodiscard]] bool is_done(std::size_t instruction);
  /// Records the times of the first `queued` instructions whose ops have ended.
  void collect(std::size_t queued, int step);

  [[nodiscard]] OpTimes& times(std::size_t op) { return times_[op - schedule_.queue_begin(rank_)]; }

  RunState& state_;
  DeviceExchange& exchange_;
  DeviceClock& clock_;
  DeviceRank& device_rank_;
  const Schedule& schedule_;
  Rank rank_;
  HeldTensors<DeviceTensor> tensors_;
  cudaStream_t compute_;
  cudaStream_t second_;
  cudaStream_t copies_;
  bool together_;  // the parts of its groups
  Event fork_;
  std::vector<OpTimes> times_;              // [op - first of the rank]
  std::vector<std::optional<Mark>> marks_;  // [instruction], of Post and Wait
  std::size_t queued_ = 0;                  // instructions of the current step

  std::unordered_map<std::uint64_t, cudaEvent_t>
      reloads_;  // by key of the L: its end, if nothing has waited for it yet
};

}  // namespace pipeloom::executor::cuda
