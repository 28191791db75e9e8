#pragma once

// Work that takes given times and computes nothing, on GPUs: the twin of executor/run/busy_work.hpp.

#include <cstddef>
#include <memory>

#include <pipeloom/costs.hpp>
#include "executor/cuda/device/device_work.hpp"

namespace pipeloom::executor::cuda {

/// Every op keeps its stream for as long as `costs` says, by the device's clock, which counts in steps of up to a microsecond: one block of
/// one kernel waits, so that many ranks on one GPU do not slow each other down while it holds a block of each. Times are those of
/// busy_times().
///
/// All elements of a tensor hold a number that tells its producer and step; end_step() throws std::runtime_error, naming the op, if one was at
/// the wrong place.
class DeviceBusy : public DeviceWork {
 public:
  /// `message_elements` of every tensor; the block that waits writes them too, so millions take longer than short ops.
  /// REQUIRES: the costs fit the schedule that is run; costs.unit is not the abstract one.
  explicit DeviceBusy(Costs costs, std::size_t message_elements = 1);

  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override;
  [[nodiscard]] Precision precision() const override { return Precision::Fp32; }
  [[nodiscard]] std::unique_ptr<DeviceRankWork> rank_work(const Schedule& schedule, Rank rank) override;

 private:
  Costs costs_;
  std::size_t message_elements_;
};

}  // namespace pipeloom::executor::cuda
