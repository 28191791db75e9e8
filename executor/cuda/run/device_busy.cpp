#include "executor/cuda/run/device_busy.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/kernels/busy_kernel.hpp"
#include "executor/cuda/kernels/cuda_engine.hpp"
#include "executor/run/busy_work.hpp"

namespace pipeloom::executor::cuda {
namespace {

class DeviceBusyRank : public DeviceRankWork {
 public:
  DeviceBusyRank(const Costs& costs, std::size_t message_elements, const Schedule& schedule, Rank rank)
      : message_elements_(message_elements),
        stages_(schedule.stages()),
        times_(busy_times(costs, schedule, rank)) {
    const auto queue = schedule.queue(rank);
    ops_.assign(queue.begin(), queue.end());
    for (std::size_t i = 0; i < ops_.size(); ++i) number_[ops_[i].key()] = static_cast<std::uint32_t>(i + 1);
    const std::uint32_t none = 0;
    wrong_ = engine_.upload(&none, sizeof none);
    // A kernel's first launch could wait for the device, and messages may hold that up later.
    launch_busy({}, 0, 0, engine_.own_stream());
    check(cudaStreamSynchronize(engine_.own_stream()), "the kernel of busy work");
  }

  DeviceTensor run(Op op, int step, DeviceTensor input, cudaStream_t stream) override {
    const std::size_t wanted = takes_tensor(op, stages_) ? message_elements_ : 0;
    if (input.elements != wanted)
      throw std::runtime_error(
          fmt::format("{} numbers came for {}, which takes {}", input.elements, to_text(op), wanted));
    DeviceTensor output;
    if (gives_tensor(op, stages_))
      output = {engine_.allocate(message_elements_ * sizeof(float), stream), message_elements_};
    BusyElements elements;
    elements.input = input.buffer.as<float>();
    if (takes_tensor(op, stages_)) elements.expected = busy_mark_of_input(op, step);
    elements.output = output.buffer.as<float>();
    elements.mark = busy_mark(op, step);
    elements.wrong = wrong_.as<std::uint32_t>();
    elements.number = number_.at(op.key());
    constexpr Ticks kTicksPerNanosecond = 1000;
    launch_busy(elements, message_elements_,
                static_cast<std::uint64_t>(times_.at(op.key()) / kTicksPerNanosecond), stream);
    input.buffer.free_on(stream);
    return output;
  }

  void end_step(int /*step*/) override {
    std::uint32_t number = 0;
    engine_.download(&number, wrong_.data(), sizeof number);
    if (number > 0)
      throw std::runtime_error(
          fmt::format("the input of {} is not the output of the stage before it", to_text(ops_[number - 1])));
  }
  [[nodiscard]] std::size_t peak_bytes() const override { return 0; }

 private:
  CudaEngine engine_{0};
  std::size_t message_elements_;
  int stages_;
  std::unordered_map<std::uint64_t, Ticks> times_;           // by Op::key()
  std::unordered_map<std::uint64_t, std::uint32_t> number_;  // likewise, from 1
  std::vector<Op> ops_;                                      // [number - 1]
  DeviceBuffer wrong_;                                       // the number of an op whose input was another's
};

}  // namespace

DeviceBusy::DeviceBusy(Costs costs, std::size_t message_elements)
    : costs_(std::move(costs)), message_elements_(message_elements) {}

std::size_t DeviceBusy::message_elements(const Schedule& /*schedule*/, Op /*producer*/) const {
  return message_elements_;
}

std::unique_ptr<DeviceRankWork> DeviceBusy::rank_work(const Schedule& schedule, Rank rank) {
  return std::make_unique<DeviceBusyRank>(costs_, message_elements_, schedule, rank);
}

}  // namespace pipeloom::executor::cuda
