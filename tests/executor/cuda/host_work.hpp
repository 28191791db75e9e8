#pragma once

// Works of the host as works of a device that is a fake (fake/fake_cuda.hpp): ops run on the threads of their streams.

#include <memory>

#include "executor/cuda/device_work.hpp"
#include "executor/work.hpp"

namespace pipeloom::executor::cuda {

/// What an op of the wrapped work throws ends the test: no valid run makes one throw.
class HostWork : public DeviceWork {
 public:
  /// `work` outlives it.
  explicit HostWork(Work& work) : work_(work) {}

  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override {
    return work_.message_elements(schedule, producer);
  }
  [[nodiscard]] Precision precision() const override { return Precision::Fp32; }
  [[nodiscard]] std::unique_ptr<DeviceRankWork> rank_work(const Schedule& schedule, Rank rank) override;

 private:
  Work& work_;
};

}  // namespace pipeloom::executor::cuda
