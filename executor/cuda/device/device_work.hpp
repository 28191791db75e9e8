#pragma once

// Computations of ops on a GPU: the twin of executor/run/work.hpp. Everything here is queued on streams; nothing waits for the device.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>

#include <pipeloom/schedule.hpp>
#include "executor/cuda/device/device_memory.hpp"
#include "executor/cuda/device/precision.hpp"
#include "executor/run/work.hpp"

namespace pipeloom::executor::cuda {

/// A tensor between two stages, on one device. Empty: there is none.
struct DeviceTensor {
  DeviceBuffer buffer;
  std::size_t elements = 0;
  [[nodiscard]] bool is_empty() const { return elements == 0; }
};

/// The computations of one rank. One host thread calls it; `stream` is the stream of its kernels.
class DeviceRankWork {
 public:
  DeviceRankWork() = default;
  DeviceRankWork(const DeviceRankWork&) = delete;
  DeviceRankWork& operator=(const DeviceRankWork&) = delete;
  virtual ~DeviceRankWork() = default;

  /// Queues one op on `stream`: inputs and outputs as RankWork::run(). The caller has made `stream` wait for the input, and for the rank's
  /// entries before this one; parts of an overlapped group come with different streams and share nothing but weights.
  virtual DeviceTensor run(Op op, int step, DeviceTensor input, cudaStream_t stream) = 0;
  /// The gradient of a slot's weights on the device, to be added up over replicas; `local` is an index in Placement::slots_of(rank).
  /// All work that is queued on `stream` from now on waits for every addition to it. Empty for work without weights.
  [[nodiscard]] virtual std::span<float> weight_gradient(std::size_t /*local*/, cudaStream_t /*stream*/) {
    return {};
  }
  /// Queues to[i] += from[i] for gradients of one size.
  virtual void add(std::span<const float> /*from*/, std::span<float> /*to*/, cudaStream_t /*stream*/) {}
  /// Called after the last entry of a step; the device has ended it.
  virtual void end_step(int step) = 0;
  /// Most bytes of activations held at once so far, in the order of the queue, as the work counts them.
  [[nodiscard]] virtual std::size_t peak_bytes() const = 0;
  /// Copied from the device. REQUIRES: it has ended the step.
  [[nodiscard]] virtual RankGradients gradients() const { return {}; }
};

class DeviceWork {
 public:
  DeviceWork() = default;
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;
  virtual ~DeviceWork() = default;
  /// Elements of the tensor that a message carries, and bytes of one of them.
  [[nodiscard]] virtual std::size_t message_elements(const Schedule& schedule, Op producer) const = 0;
  [[nodiscard]] virtual Precision precision() const = 0;
  /// The rank's work, on the current device. REQUIRES: the DeviceWork outlives it.
  [[nodiscard]] virtual std::unique_ptr<DeviceRankWork> rank_work(const Schedule& schedule, Rank rank) = 0;
};

}  // namespace pipeloom::executor::cuda
