#include "executor/cuda/cuda_error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace pipeloom::executor::cuda {
namespace {

[[noreturn]] void fail(const char* what, const char* why, const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  throw CudaError(fmt::format("{}: {} ({}:{})", what, why, file, where.line()));
}

}  // namespace

void check(cudaError_t result, const char* what, std::source_location where) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // else the next call would report it once more
  fail(what, cudaGetErrorString(result), where);
}

void check(cublasStatus_t result, const char* what, std::source_location where) {
  if (result != CUBLAS_STATUS_SUCCESS) fail(what, cublasGetStatusString(result), where);
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
