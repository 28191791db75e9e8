#pragma once

// Works of the host as works of a device that is a fake (fake/fake_cuda.hpp): ops run on the threads of their streams.

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "executor/cuda/device/device_work.hpp"
#include "executor/run/work.hpp"

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

/// Ops that call a function; messages of 8 ones.
class Callers : public Work {
 public:
  explicit Callers(std::function<void(Op)> op) : op_(std::move(op)) {}
  [[nodiscard]] std::size_t message_elements(const Schedule& /*schedule*/, Op /*producer*/) const override {
    return 8;
  }
  [[nodiscard]] std::unique_ptr<RankWork> rank_work(const Schedule& /*schedule*/, Rank /*rank*/) override {
    class Rank : public RankWork {
     public:
      explicit Rank(std::function<void(Op)> op) : op_(std::move(op)) {}
      Payload run(Op op, int /*step*/, Payload /*input*/) override {
        op_(op);
        return {std::vector<float>(8, 1.0F)};
      }
      void end_step(int /*step*/) override {}
      [[nodiscard]] std::size_t peak_bytes() const override { return 0; }

     private:
      std::function<void(Op)> op_;  // its own: a device may go on behind a failure
    };
    return std::make_unique<Rank>(op_);
  }

 private:
  std::function<void(Op)> op_;
};

inline void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace pipeloom::executor::cuda
