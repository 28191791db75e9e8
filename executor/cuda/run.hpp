#pragma once

// Runs a program on GPUs, and says when everything happened by the devices' own events.

#include <vector>

#include "executor/cuda/device_work.hpp"
#include "executor/net/world.hpp"
#include "executor/process/process_run.hpp"
#include "executor/run.hpp"
#include "sim/program.hpp"

namespace pipeloom::executor::cuda {

/// All ranks share device 0, a thread and streams each; messages are copies within its memory (local_exchange.hpp). A step begins when all
/// ranks have ended the one before. Delays of `options` and in_transit are not used.
///
/// Throws SystemError without a device, and otherwise as run_on_cpu(). A rank whose device does not come back from a kernel is left behind:
/// then `work` must live as long as the process.
[[nodiscard]] RunResult run_on_one_gpu(const Program& program, DeviceWork& work, const RunOptions& options);

}  // namespace pipeloom::executor::cuda
