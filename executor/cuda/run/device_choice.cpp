#include "executor/cuda/run/device_choice.hpp"

#include <fmt/format.h>

#include <pipeloom/error.hpp>

namespace pipeloom::executor::cuda {

int device_for(const net::World& world, int devices) {
  if (world.local_rank < devices) return world.local_rank;
  // NCCL finds out if the device is the rank's own or shared with others.
  if (devices == 1) return 0;
  throw InputError(
      Where{"LOCAL_RANK"},
      fmt::format("found {}; this machine has {} GPUs: start at most as many processes on it, or none "
                  "by a launcher, so that all ranks share one GPU",
                  world.local_rank, devices));
}

}  // namespace pipeloom::executor::cuda
