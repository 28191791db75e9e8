#pragma once

// Ranks on a GPU as the rest of executor/ sees them, so that plan, progress, failures and results of a run are the same everywhere: the
// questions that a Work answers before and after the steps. Ops run through DeviceRunner, messages through a DeviceExchange.

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "executor/cuda/device/device_stream.hpp"
#include "executor/cuda/device/device_work.hpp"
#include "executor/cuda/exchange/device_exchange.hpp"
#include "executor/run/exchange.hpp"
#include "executor/run/run_state.hpp"
#include "executor/run/work.hpp"

namespace pipeloom::executor::cuda {

[[noreturn]] inline void refuse_host_tensors() {
  throw std::logic_error("tensors of this run are on a device");
}

/// One rank: its work, and the streams that it is given.
struct DeviceRank : RankWork {
  explicit DeviceRank(std::unique_ptr<DeviceRankWork> own) : work(std::move(own)) {}

  /// Throws std::logic_error: its ops run on a device.
  Payload run(Op /*op*/, int /*step*/, Payload /*input*/) override { refuse_host_tensors(); }
  void end_step(int step) override { work->end_step(step); }
  [[nodiscard]] std::size_t peak_bytes() const override { return work->peak_bytes(); }
  [[nodiscard]] RankGradients gradients() const override { return work->gradients(); }

  Stream compute;
  Stream second;                         ///< for the other parts of overlapped groups
  Stream copies;                         ///< for O and L
  std::unique_ptr<DeviceRankWork> work;  // last: it may hold memory that is freed on the streams
};

class DeviceRanks : public Work {
 public:
  /// `work` outlives it.
  explicit DeviceRanks(DeviceWork& work) : work_(work) {}
  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override {
    return work_.message_elements(schedule, producer);
  }
  [[nodiscard]] std::size_t element_bytes() const override { return bytes_of(work_.precision()); }
  /// The rank's work, on the current device.
  [[nodiscard]] std::unique_ptr<RankWork> rank_work(const Schedule& schedule, Rank rank) override {
    return std::make_unique<DeviceRank>(work_.rank_work(schedule, rank));
  }

 private:
  DeviceWork& work_;
};

/// REQUIRES: the state was made with DeviceRanks, `rank` is of this process.
[[nodiscard]] inline DeviceRank& device_rank(RunState& state, Rank rank) {
  return dynamic_cast<DeviceRank&>(state.work(rank));
}

/// The messages of a run, as RunState knows them: to be stopped and to be asked for their times.
class DeviceMessages : public Exchange {
 public:
  explicit DeviceMessages(std::unique_ptr<DeviceExchange> exchange) : exchange_(std::move(exchange)) {}

  [[nodiscard]] DeviceExchange& on_device() { return *exchange_; }
  void stop() override { exchange_->stop(); }
  [[nodiscard]] std::vector<MeasuredMessage> measured() const override { return exchange_->measured(); }
  /// These throw std::logic_error: tensors stay on devices.
  void post(Rank /*rank*/, std::uint32_t /*batch*/, int /*step*/, std::vector<Payload> /*sends*/) override {
    refuse_host_tensors();
  }
  [[nodiscard]] bool wait(Rank /*rank*/, std::uint32_t /*batch*/, int /*step*/) override {
    refuse_host_tensors();
  }
  [[nodiscard]] Payload take(MessageId /*message*/, int /*step*/, std::size_t /*elements*/) override {
    refuse_host_tensors();
  }

 private:
  std::unique_ptr<DeviceExchange> exchange_;
};

}  // namespace pipeloom::executor::cuda
