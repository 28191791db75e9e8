#pragma once

// Transport of tensors from device to device: the twin of executor/run/exchange.hpp. Messages are queued on streams of the exchange; a rank's own
// streams wait for them there, so that the host need not.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <vector>

#include "executor/cuda/device/device_work.hpp"
#include "executor/cuda/device/step_clock.hpp"
#include "executor/run/run.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::executor::cuda {

/// One thread per rank calls it; stop() is for any.
class DeviceExchange {
 public:
  DeviceExchange() = default;
  DeviceExchange(const DeviceExchange&) = delete;
  DeviceExchange& operator=(const DeviceExchange&) = delete;
  virtual ~DeviceExchange() = default;

  /// Hands over a batch of `rank`: `sends` are the tensors of its sends, in the batch's order. Its messages wait for `posted`, the moment
  /// at which the rank reached this point of its program. Both events stay unchanged until the step's end.
  /// Throws Stopped after stop(): the events of a rank that has ended are destroyed.
  /// REQUIRES: batches of a rank are posted in the order of its instructions.
  virtual void post(Rank rank, std::uint32_t batch, int step, std::vector<DeviceTensor> sends,
                    cudaEvent_t posted) = 0;

  /// Makes `stream` wait for every message of the batch; `arrived` is the moment at which it got there. Waits until that can be queued on the device:
  /// for the other ends to be posted by their hosts, not for their devices. False if the run was stopped meanwhile.
  [[nodiscard]] virtual bool wait(Rank rank, std::uint32_t batch, int step, cudaStream_t stream,
                                  cudaEvent_t arrived) = 0;

  /// The tensor of a message, there when the stream of wait() has waited; free it on that stream.
  /// REQUIRES: wait() returned true for its batch; called once.
  [[nodiscard]] virtual DeviceTensor take(MessageId message, int step) = 0;

  /// Sends a tensor to another rank, outside the program, and receives one from it: the n-th call here pairs with the n-th call there,
  /// of the same size. Both are queued on `stream`: after them `own` may change, and `theirs` is there. Waits for the other rank's host at
  /// most, not for the devices. Returns false if the run was stopped.
  [[nodiscard]] virtual bool swap(Rank rank, Rank other, std::span<const float> own, std::span<float> theirs,
                                  cudaStream_t stream) = 0;

  /// True if everything that `rank` posted is done. Throws the error that the network or the device met.
  [[nodiscard]] virtual bool is_done(Rank rank) = 0;

  /// Notes the times of the step's messages that this rank has an end of. Throws WrongMessage if one was damaged (with checksums).
  /// REQUIRES: is_done(); no rank has begun the next step.
  virtual void collect(Rank rank, int step, const StepClock& clock) = 0;

  /// Ends all waits, now and later.
  virtual void stop() = 0;

  /// As Exchange::measured().
  [[nodiscard]] virtual std::vector<MeasuredMessage> measured() const = 0;
};

}  // namespace pipeloom::executor::cuda
