#pragma once

// What a profiler shows for an op: the names that PyTorch's pipeline runtime gives its ranges (_get_profiler_function_name in
// torch/distributed/pipelining/schedules.py), "PP:" and the action, so that a trace of either can be read with the same eyes.

#include <string>

#include <pipeloom/schedule.hpp>

namespace pipeloom::executor::cuda {

/// The entry of ops [first, last): "PP:2F3", an overlapped group "PP:(0F1;3B0)OVERLAP_F_B". Kinds that PyTorch has no letter for keep ours: "PP:2R3".
[[nodiscard]] std::string range_name(const Schedule& schedule, std::size_t first, std::size_t last);

/// One end of a message: "PP:2SEND_F3", and at its receiver "PP:3RECV_F3"; gradients "PP:2SEND_B3", "PP:1RECV_B3". The stage is the one at
/// this end.
[[nodiscard]] std::string message_range_name(Op producer, bool is_send);

}  // namespace pipeloom::executor::cuda
