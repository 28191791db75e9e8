#pragma once

// Runs a program on GPUs, and reports the times of everything by the devices' own events.

#include <vector>

#include "executor/cuda/device/device_work.hpp"
#include "executor/net/world.hpp"
#include "executor/process/process_run.hpp"
#include "executor/run/run.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::executor::cuda {

/// All ranks share device 0, with one thread and streams each; messages are copies within its memory (local_exchange.hpp). A step begins
/// when all ranks have ended the previous one. Delays of `options` and in_transit are not used.
///
/// Throws SystemError without a device, and otherwise as run_on_cpu(). The thread of a rank whose device does not return from a kernel keeps
/// running: then `work` must live as long as the process.
[[nodiscard]] RunResult run_on_one_gpu(const Program& program, DeviceWork& work, const RunOptions& options);

/// One rank of a run whose ranks are processes with a GPU each, on one machine or many; messages go by NCCL (nccl_exchange.hpp), everything
/// else as in run_as_process(). The process takes device_for(world). The queue None becomes PerPair, the least that NCCL keeps in order.
///
/// Throws as run_as_process(), SystemError without a device. Errors of NCCL end the run as those of a rank do.
[[nodiscard]] ProcessResult run_with_nccl(const Program& program, DeviceWork& work, const RunOptions& options,
                                          const net::World& world,
                                          const std::vector<net::Agreement>& agreements);

}  // namespace pipeloom::executor::cuda
