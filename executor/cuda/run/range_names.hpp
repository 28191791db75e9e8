#pragma once

// Names of ops in a profiler: those that PyTorch's pipeline runtime gives its ranges (_get_profiler_function_name in
// torch/distributed/pipelining/schedules.py), "PP:" and the action, so that the traces of both can be read alike.

#include <cstddef>
#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/text.hpp"

namespace pipeloom::executor::cuda {

/// The entry of ops [first, last): "PP:2F3", an overlapped group "PP:(0F1;3B0)OVERLAP_F_B". Kinds that PyTorch has no letter for keep ours: "PP:2R3".
[[nodiscard]] inline std::string range_name(const Schedule& schedule, std::size_t first, std::size_t last) {
  return "PP:" + entry_text(schedule, first, last);
}

}  // namespace pipeloom::executor::cuda
