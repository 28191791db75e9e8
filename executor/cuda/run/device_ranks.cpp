#include "executor/cuda/run/device_ranks.hpp"

#include <stdexcept>

namespace pipeloom::executor::cuda {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("tensors of this run are on a device");
}

}  // namespace

Payload DeviceRank::run(Op /*op*/, int /*step*/, Payload /*input*/) {
  refuse();
}

DeviceRank& device_rank(RunState& state, Rank rank) {
  return dynamic_cast<DeviceRank&>(state.work(rank));
}

void DeviceMessages::post(Rank /*rank*/, std::uint32_t /*batch*/, int /*step*/,
                          std::vector<Payload> /*sends*/) {
  refuse();
}

bool DeviceMessages::wait(Rank /*rank*/, std::uint32_t /*batch*/, int /*step*/) {
  refuse();
}

Payload DeviceMessages::take(MessageId /*message*/, int /*step*/, std::size_t /*elements*/) {
  refuse();
}

}  // namespace pipeloom::executor::cuda
