#include "executor/cuda/device/cuda_error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace pipeloom::executor::cuda {
namespace {

[[noreturn]] void fail(const char* what, const char* why, std::string_view file, int line) {
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  throw CudaError(fmt::format("{}: {} ({}:{})", what, why, file, line));
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

}  // namespace pipeloom::executor::cuda
