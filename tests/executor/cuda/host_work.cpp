#include "executor/cuda/host_work.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "executor/cuda/fake/fake_cuda.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::cuda {
namespace {

class HostRankWork : public DeviceRankWork {
 public:
  HostRankWork(Work& work, const Schedule& schedule, Rank rank)
      : work_(work), schedule_(schedule), rank_work_(work.rank_work(schedule, rank)) {}

  DeviceTensor run(Op op, int step, DeviceTensor input, cudaStream_t stream) override {
    DeviceTensor output;
    if (const std::size_t elements = elements_of(op); elements > 0)
      output = {DeviceBuffer(elements * sizeof(float), stream), elements};
    const auto* from = input.buffer.as<float>();
    auto* to = output.buffer.as<float>();
    const std::size_t count = input.elements;
    // A device that hangs may outlive this.
    fake_cuda::queue(stream, [rank_work = rank_work_, op, step, from, to, count] {
      Payload payload;
      payload.values.assign(from, from + count);
      const Payload result = rank_work->run(op, step, std::move(payload));
      if (to != nullptr) std::copy(result.values.begin(), result.values.end(), to);
    });
    return output;
  }
  [[nodiscard]] std::span<float> weight_gradient(std::size_t local, cudaStream_t /*stream*/) override {
    return rank_work_->weight_gradient(local);
  }
  void add(std::span<const float> from, std::span<float> to, cudaStream_t stream) override {
    fake_cuda::queue(stream, [from, to] {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    });
  }
  void end_step(int step) override { rank_work_->end_step(step); }
  [[nodiscard]] std::size_t peak_bytes() const override { return rank_work_->peak_bytes(); }
  [[nodiscard]] RankGradients gradients() const override { return rank_work_->gradients(); }

 private:
  /// Elements of what the op returns.
  [[nodiscard]] std::size_t elements_of(Op op) const {
    const bool is_last = op.stage().at() + 1 == static_cast<std::size_t>(schedule_.stages());
    const bool is_first = op.stage().at() == 0;
    const bool returns = op.kind() == OpKind::Forward ? !is_last : carries_gradient(op.kind()) && !is_first;
    return returns ? work_.message_elements(schedule_, op) : 0;
  }

  Work& work_;
  const Schedule& schedule_;
  std::shared_ptr<RankWork> rank_work_;
};

}  // namespace

std::unique_ptr<DeviceRankWork> HostWork::rank_work(const Schedule& schedule, Rank rank) {
  return std::make_unique<HostRankWork>(work_, schedule, rank);
}

}  // namespace pipeloom::executor::cuda
