#include "executor/cuda/run/trace_range.hpp"

#include <nvtx3/nvToolsExt.h>

namespace pipeloom::executor::cuda {

TraceRange::TraceRange(const std::string& name) {
  nvtxRangePushA(name.c_str());
}

TraceRange::~TraceRange() {
  nvtxRangePop();
}

}  // namespace pipeloom::executor::cuda
