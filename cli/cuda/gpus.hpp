#pragma once

// Runs on GPUs, for the command line of pipeloom-cuda.

#include "cli/run/run_gpus.hpp"

namespace pipeloom::cli::cuda {

class Gpus : public GpuBackend {
 public:
  void require_device() const override;
  [[nodiscard]] std::string devices() const override;
  [[nodiscard]] executor::ProcessResult execute(const GpuRun& run) const override;
  [[nodiscard]] std::string gradients_page(const WorkArguments& work, const Schedule& schedule,
                                           const executor::RunResult& result) const override;
};

}  // namespace pipeloom::cli::cuda
