#include "executor/cuda/run/device_reduction.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/device/device_memory.hpp"
#include "executor/cuda/run/device_ranks.hpp"

namespace pipeloom::executor::cuda {
namespace {

/// A stage's gradients on a rank that holds at least one of its replicas.
class StageReduction {
 public:
  StageReduction(RunState& state, Rank rank, Stage stage, cudaStream_t stream)
      : placement_(state.schedule().placement()),
        work_(*device_rank(state, rank).work),
        rank_(rank),
        stage_(stage),
        stream_(stream),
        parts_(static_cast<std::size_t>(placement_.replicas())) {
    const auto slots = placement_.slots_of(rank);
    for (std::size_t local = 0; local < slots.size(); ++local)
      if (placement_.stage_of(slots[local]) == stage)
        parts_[placement_.replica_of(slots[local]).at()] = work_.weight_gradient(local, stream);
    for (const std::span<float> own : parts_) elements_ = std::max(elements_, own.size());
  }

  /// None where the rank does not hold the stage, or there are no weights.
  [[nodiscard]] std::size_t elements() const { return elements_; }

  /// Gets the parts of the others for its own. False if the run was stopped.
  [[nodiscard]] bool collect(DeviceExchange& exchange) {
    for (Replica replica{0}; replica < end(); ++replica) {
      if (is_own(replica)) continue;
      received_.emplace_back(elements_ * sizeof(float), stream_);
      parts_[replica.at()] = {received_.back().as<float>(), elements_};
    }
    // All ranks go through all pairs in one order, so that none waits for one that waits for it.
    for (Replica one{0}; one < end(); ++one)
      for (Replica other(one.value() + 1); other < end(); ++other) {
        if (is_own(one) == is_own(other)) continue;
        const Replica mine = is_own(one) ? one : other;
        const Replica theirs = is_own(one) ? other : one;
        if (!exchange.swap(rank_, placement_.rank_of(stage_, theirs), parts_[mine.at()], parts_[theirs.at()],
                           stream_))
          return false;
      }
    return true;
  }

  /// Adds them up where replica 0 is, and copies the sum to the others that are here.
  void add_up() {
    const std::span<float> sum = parts_.front();
    for (Replica replica{1}; replica < end(); ++replica) work_.add(parts_[replica.at()], sum, stream_);
    for (Replica replica{1}; replica < end(); ++replica)
      if (is_own(replica))
        check(cudaMemcpyAsync(parts_[replica.at()].data(), sum.data(), sum.size_bytes(), cudaMemcpyDefault,
                              stream_),
              "cudaMemcpyAsync of a sum over replicas");
  }

 private:
  [[nodiscard]] Replica end() const { return Replica(placement_.replicas()); }
  [[nodiscard]] bool is_own(Replica replica) const { return placement_.rank_of(stage_, replica) == rank_; }

  const Placement& placement_;
  DeviceRankWork& work_;
  Rank rank_;
  Stage stage_;
  cudaStream_t stream_;
  std::vector<std::span<float>> parts_;  // [replica]
  std::vector<DeviceBuffer> received_;   // of the other ranks' replicas
  std::size_t elements_ = 0;
};

}  // namespace

bool queue_replica_reduction(RunState& state, DeviceExchange& exchange, Rank rank, cudaStream_t stream) {
  const Placement& placement = state.schedule().placement();
  if (placement.replicas() == 1 || state.schedule().is_forward_only()) return true;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    StageReduction reduction(state, rank, stage, stream);
    if (reduction.elements() == 0) continue;
    if (!reduction.collect(exchange)) return false;
    reduction.add_up();
  }
  state.replicas_are_reduced();
  return true;
}

}  // namespace pipeloom::executor::cuda
