#pragma once

// Real layers (executor/layers/layers.hpp) on GPUs: the same model from the same seed, with the same meaning of every op. What is computed is in
// queued_layers.hpp and kernels.hpp, in which precision in cuda_engine.hpp.

#include <memory>

#include "executor/cuda/device/device_work.hpp"
#include "executor/layers/gradient_check.hpp"
#include "executor/layers/model.hpp"

namespace pipeloom::executor::cuda {

class DeviceLayers : public DeviceWork {
 public:
  DeviceLayers(const LayersConfig& config, Precision precision) : config_(config), precision_(precision) {}

  [[nodiscard]] const LayersConfig& config() const { return config_; }
  [[nodiscard]] Precision precision() const override { return precision_; }
  /// width times the rows of the producer's slice.
  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override;
  /// Copies its weights, inputs and targets to the current device, which must be current whenever it is used and when it ends. The schedule
  /// need not outlive it; the streams that it is given must. Throws InputError as require_possible_on_device() does.
  [[nodiscard]] std::unique_ptr<DeviceRankWork> rank_work(const Schedule& schedule, Rank rank) override;

 private:
  LayersConfig config_;
  Precision precision_;
};

/// Runs the layers without a pipeline on the current device: the reference for gradients in floating point (serial.hpp).
[[nodiscard]] Gradients serial_gradients(DeviceLayers& layers, const PipelineSizes& sizes);

}  // namespace pipeloom::executor::cuda
