#include "executor/cuda/device/cuda_error.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <map>
#include <string_view>

namespace pipeloom::executor::cuda {
namespace {

[[noreturn]] void fail(const char* what, const char* why, std::string_view file, int line) {
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  throw CudaError(fmt::format("{}: {} ({}:{})", what, why, file, line));
}

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

void check(cudaError_t result, const char* what, const char* file, int line) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // else the next call would report it once more
  fail(what, cudaGetErrorString(result), file, line);
}

void check(cublasStatus_t result, const char* what, const char* file, int line) {
  if (result != CUBLAS_STATUS_SUCCESS) fail(what, cublasGetStatusString(result), file, line);
}

int require_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) return count;
  static_cast<void>(cudaGetLastError());
  throw SystemError(fmt::format("no CUDA device: {}; use --backend cpu", result == cudaSuccess
                                                                             ? "the driver finds none"
                                                                             : cudaGetErrorString(result)));
}

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
