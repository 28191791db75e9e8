#pragma once

// `pipeloom run --backend cuda`. What runs on GPUs is a program of its own, pipeloom-cuda, which has all commands and a GpuBackend; pipeloom has
// none and becomes that program.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include "cli/run/run_work.hpp"
#include "executor/net/world.hpp"
#include "executor/process/process_run.hpp"
#include "executor/run/run.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::cli {

inline constexpr const char* kGpuProgram = "pipeloom-cuda";

/// A run as the command line asks for it.
struct GpuRun {
  const WorkArguments& work;
  const Program& program;
  const Costs& costs;  ///< of busy work
  const executor::RunOptions& options;
  std::optional<executor::net::World> world;  ///< this process is one rank; nothing: all ranks share one GPU
  std::vector<executor::net::Agreement> agreements;
};

class GpuBackend {
 public:
  GpuBackend() = default;
  GpuBackend(const GpuBackend&) = delete;
  GpuBackend& operator=(const GpuBackend&) = delete;
  virtual ~GpuBackend() = default;

  /// Throws SystemError if there is no GPU; it says what is missing, and that --backend cpu needs none.
  virtual void require_device() const = 0;
  /// "2 x NVIDIA H200, 139.8 GiB", or why there is none.
  [[nodiscard]] virtual std::string devices() const = 0;
  /// As executor::run_as_process().
  [[nodiscard]] virtual executor::ProcessResult execute(const GpuRun& run) const = 0;
  /// As gradients_page() (cli/run/run_work.hpp), compared with the same layers on a GPU where they round.
  [[nodiscard]] virtual std::string gradients_page(const WorkArguments& work, const Schedule& schedule,
                                                   const executor::RunResult& result) const = 0;
};

/// Called once, before any command runs; `backend` lives as long as the program.
void set_gpus(const GpuBackend& backend);
/// Null in a program without.
[[nodiscard]] const GpuBackend* gpus();

/// Checks that this program can run on GPUs here, or goes on as pipeloom-cuda with the same arguments. Throws SystemError if neither is
/// possible, saying where pipeloom-cuda was looked for and how to build it.
void require_gpus();

}  // namespace pipeloom::cli
