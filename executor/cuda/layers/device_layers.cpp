#include "executor/cuda/layers/device_layers.hpp"

#include <span>
#include <utility>
#include <vector>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/kernels/cuda_engine.hpp"
#include "executor/cuda/layers/queued_layers.hpp"
#include "executor/cuda/layers/serial.hpp"

namespace pipeloom::executor::cuda {
namespace {

template <class T>
class DeviceLayerRank : public DeviceRankWork {
 public:
  DeviceLayerRank(const LayersConfig& config, const Schedule& schedule, Rank rank)
      : layers_(engine_, config, schedule, rank) {}

  DeviceTensor run(Op op, int step, DeviceTensor input, cudaStream_t stream) override {
    DeviceBuffer out = layers_.run(op, step, std::move(input.buffer), input.elements, stream);
    return {std::move(out), layers_.elements_from(op)};
  }
  [[nodiscard]] std::span<float> weight_gradient(std::size_t local, cudaStream_t stream) override {
    return layers_.weight_gradient(local, stream);
  }
  void add(std::span<const float> from, std::span<float> to, cudaStream_t stream) override {
    layers_.add(from, to, stream);
  }
  void end_step(int step) override { layers_.end_step(step); }
  [[nodiscard]] std::size_t peak_bytes() const override { return layers_.peak_bytes(); }
  [[nodiscard]] RankGradients gradients() const override { return layers_.gradients(); }

 private:
  CudaEngine engine_;
  QueuedLayers<CudaEngine, T> layers_;
};

}  // namespace

std::size_t DeviceLayers::message_elements(const Schedule& schedule, Op producer) const {
  return rows_of_slice(config_, producer.slice(), schedule.slices()).size() *
         static_cast<std::size_t>(config_.width);
}

std::unique_ptr<DeviceRankWork> DeviceLayers::rank_work(const Schedule& schedule, Rank rank) {
  require_possible_on_device(config_, sizes_of(schedule), precision_);
  if (precision_ == Precision::Fp32) return std::make_unique<DeviceLayerRank<float>>(config_, schedule, rank);
  return std::make_unique<DeviceLayerRank<Bf16>>(config_, schedule, rank);
}

Gradients serial_gradients(DeviceLayers& layers, const PipelineSizes& sizes) {
  const Schedule schedule = serial_schedule(sizes);
  const Stream stream;
  const auto rank = layers.rank_work(schedule, Rank(0));
  DeviceTensor tensor;
  for (const Op op : schedule.queue(Rank(0))) tensor = rank->run(op, 0, std::move(tensor), stream.get());
  check(cudaStreamSynchronize(stream.get()), "layers without a pipeline");
  rank->end_step(0);
  const std::vector<RankGradients> all = {rank->gradients()};
  return collect_gradients(schedule, all);
}

}  // namespace pipeloom::executor::cuda
