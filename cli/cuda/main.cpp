// The program `pipeloom-cuda`: all commands of pipeloom, and `run --backend cuda`. A program of its own, so that pipeloom starts where there
// are no CUDA libraries.

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/app.hpp"
#include "cli/run/run_gpus.hpp"
#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/layers/device_layers.hpp"
#include "executor/cuda/layers/serial.hpp"
#include "executor/cuda/run/device_busy.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/layers/gradient_check.hpp"
#include "sim/io/json/process.hpp"

namespace pipeloom::cli::cuda {
namespace {

namespace device = executor::cuda;

device::Precision precision_of(const WorkArguments& arguments) {
  return arguments.precision == "bf16" ? device::Precision::Bf16 : device::Precision::Fp32;
}

std::unique_ptr<device::DeviceWork> make_device_work(const WorkArguments& arguments, const Costs& costs) {
  if (arguments.is_layers())
    return std::make_unique<device::DeviceLayers>(layers_config(arguments), precision_of(arguments));
  return std::make_unique<device::DeviceBusy>(costs, busy_elements(arguments));
}

class Gpus : public GpuBackend {
 public:
  void require_device() const override;
  [[nodiscard]] std::string devices() const override;
  [[nodiscard]] executor::ProcessResult execute(const GpuRun& run) const override;
  [[nodiscard]] std::string gradients_page(const WorkArguments& work, const Schedule& schedule,
                                           const executor::RunResult& result) const override;
};

void Gpus::require_device() const {
  static_cast<void>(device::require_devices());
}

std::string Gpus::devices() const {
  return device::device_names();
}

executor::ProcessResult Gpus::execute(const GpuRun& run) const {
  // It lives as long as the program: a rank whose device hangs is never joined.
  static const auto work = make_device_work(run.work, run.costs);
  if (run.world) return device::run_with_nccl(run.program, *work, run.options, *run.world, run.agreements);
  return {.all = device::run_on_one_gpu(run.program, *work, run.options), .clocks = {}};
}

std::string Gpus::gradients_page(const WorkArguments& work, const Schedule& schedule,
                                 const executor::RunResult& result) const {
  if (!work.is_layers() || schedule.is_forward_only()) return "";
  const auto sizes = executor::sizes_of(schedule);
  executor::Reference reference = executor::reference_gradients(layers_config(work), sizes);
  if (!work.integers) {
    device::DeviceLayers layers(layers_config(work), precision_of(work));
    reference = device::with_gradients(std::move(reference), device::serial_gradients(layers, sizes));
  }
  const std::string wrong =
      executor::first_mismatch(reference, executor::collect_gradients(schedule, result.gradients));
  if (!wrong.empty()) throw SystemError(wrong);
  return fmt::format("gradients  those of the same layers without a pipeline{}\n",
                     work.integers ? ", exactly" : " on one GPU, within rounding");
}

}  // namespace
}  // namespace pipeloom::cli::cuda

int main(int argc, char** argv) {
  pipeloom::io::prepare_process();
  // As in cli/main.cpp.
  std::signal(SIGPIPE, SIG_DFL);
  static const pipeloom::cli::cuda::Gpus gpus;
  pipeloom::cli::set_gpus(gpus);
  const int status =
      pipeloom::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  // Not by way of CUDA's own goodbye, which would wait for a device that hangs.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(status);
}
