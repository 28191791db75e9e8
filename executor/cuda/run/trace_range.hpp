#pragma once

// A named span on this thread for profilers that read NVTX (Nsight Systems): while it lives, what is queued belongs to it.

#include <string>

namespace pipeloom::executor::cuda {

class TraceRange {
 public:
  explicit TraceRange(const std::string& name);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace pipeloom::executor::cuda
