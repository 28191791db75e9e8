#include "executor/cuda/device/device_names.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <map>

namespace pipeloom::executor::cuda {
namespace {

std::string libraries() {
  int runtime = 0;
  int nccl = 0;
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  static_cast<void>(ncclGetVersion(&nccl));
  return fmt::format("CUDA {}.{}, NCCL {}.{}.{}", runtime / 1000, runtime % 1000 / 10, nccl / 10000,
                     nccl / 100 % 100, nccl % 100);
}

std::string name_of_device(int device) {
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess)
    return cudaGetErrorString(error);
  return fmt::format("{}, {:.1f} GiB, sm {}{}", properties.name,
                     static_cast<double>(properties.totalGlobalMem) / (1 << 30), properties.major,
                     properties.minor);
}

}  // namespace

std::string device_names() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    return fmt::format("no CUDA device: {}; {}", cudaGetErrorString(error), libraries());
  std::map<std::string, int> names;
  for (int device = 0; device < count; ++device) ++names[name_of_device(device)];
  std::string text;
  for (const auto& [name, times] : names)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", times > 1 ? fmt::format("{} x ", times) : "", name);
  return text + "; " + libraries();
}

}  // namespace pipeloom::executor::cuda
