#pragma once

// The choice of a process's GPU.

#include "executor/net/world.hpp"

namespace pipeloom::executor::cuda {

/// The device with the number of the process among those of its machine, as torchrun, srun and mpirun count them; the only one, where the
/// launcher shows each process its own alone. Throws InputError if there are more processes than devices.
/// REQUIRES: devices >= 1.
[[nodiscard]] int device_for(const net::World& world, int devices);

}  // namespace pipeloom::executor::cuda
