// cuBLAS and the launches of kernels without a device: on the threads of fake_cuda.cpp's streams. Products are asked for and computed in
// cuBLAS's own terms, kernels are their functions in loops.

#include <cublas_v2.h>

#include <chrono>
#include <cstddef>
#include <thread>

#include "executor/cuda/fake/fake_cuda.hpp"
#include "executor/cuda/host_team.hpp"
#include "executor/cuda/kernels/busy_kernel.hpp"
#include "executor/cuda/kernels/launch.hpp"
#include "executor/cuda/kernels/launch_instances.hpp"

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace pipeloom::executor::cuda {
namespace {

float read(const void* data, cudaDataType type, std::size_t i) {
  return type == CUDA_R_32F ? static_cast<const float*>(data)[i] : widened(static_cast<const Bf16*>(data)[i]);
}

void write(void* data, cudaDataType type, std::size_t i, float value) {
  if (type == CUDA_R_32F)
    static_cast<float*>(data)[i] = value;
  else
    static_cast<Bf16*>(data)[i] = narrowed<Bf16>(value);
}

/// op(X) of a matrix that lies column by column.
struct Operand {
  const void* data;
  cudaDataType type;
  bool is_transposed;
  std::size_t stride;
  [[nodiscard]] float at(std::size_t row, std::size_t column) const {
    return read(data, type, is_transposed ? column + row * stride : row + column * stride);
  }
};

}  // namespace

template <class Function>
void launch_cells(const Function& function, std::size_t rows, std::size_t columns, cudaStream_t stream) {
  fake_cuda::queue(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) function(row, column);
  });
}

template <class Function>
void launch_rows(const Function& function, std::size_t rows, cudaStream_t stream) {
  fake_cuda::queue(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row) function(HostTeam(), row);
  });
}

void launch_busy(const BusyElements& elements, std::size_t count, std::uint64_t nanoseconds,
                 cudaStream_t stream) {
  fake_cuda::queue(stream, [=] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
    for (std::size_t i = 0; i < count; ++i) elements(i);
    std::this_thread::sleep_until(end);
  });
}

}  // namespace pipeloom::executor::cuda

using namespace pipeloom::executor::cuda;

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t /*handle*/, cublasMath_t /*mode*/) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                            int n, int k, const void* alpha, const void* A, cudaDataType Atype, int lda,
                            const void* B, cudaDataType Btype, int ldb, const void* beta, void* C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t /*sums*/,
                            cublasGemmAlgo_t /*algo*/) {
  // As cuBLAS checks: columns must not overlap.
  if (lda < (transa == CUBLAS_OP_N ? m : k) || ldb < (transb == CUBLAS_OP_N ? k : n) || ldc < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Operand a{A, Atype, transa != CUBLAS_OP_N, static_cast<std::size_t>(lda)};
  const Operand b{B, Btype, transb != CUBLAS_OP_N, static_cast<std::size_t>(ldb)};
  // Factors are read at the call, as from the host.
  const float factor = *static_cast<const float*>(alpha);
  const float before = *static_cast<const float*>(beta);
  const auto rows = static_cast<std::size_t>(m);
  const auto columns = static_cast<std::size_t>(n);
  const auto depth = static_cast<std::size_t>(k);
  const auto stride = static_cast<std::size_t>(ldc);
  pipeloom::fake_cuda::queue(handle->stream, [=] {
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t i = 0; i < rows; ++i) {
        float sum = 0.0F;
        for (std::size_t d = 0; d < depth; ++d) sum += a.at(i, d) * b.at(d, j);
        const float kept = before == 0.0F ? 0.0F : before * read(C, Ctype, i + j * stride);
        write(C, Ctype, i + j * stride, factor * sum + kept);
      }
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
