#include "executor/cuda/kernels/cuda_engine.hpp"

#include <utility>

#include "executor/cuda/device/cuda_error.hpp"

namespace pipeloom::executor::cuda {

CudaEngine::CudaEngine(std::size_t multiplying_streams) {
  keep_freed_memory();
  while (spare_.size() < multiplying_streams) spare_.push_back(std::make_unique<Handle>());
}

CudaEngine::Handle::Handle() {
  check(cublasCreate(&handle_), "cublasCreate");
  // A product cut along its depth is put together in fp32 as well.
  check(
      cublasSetMathMode(handle_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                           CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
      "cublasSetMathMode");
}

CudaEngine::Handle::~Handle() {
  if (handle_ != nullptr) static_cast<void>(cublasDestroy(handle_));
}

cublasHandle_t CudaEngine::handle_of(Stream stream) {
  std::unique_ptr<Handle>& handle = handles_[stream];
  if (!handle) {
    if (spare_.empty()) spare_.push_back(std::make_unique<Handle>());
    handle = std::move(spare_.back());
    spare_.pop_back();
    check(cublasSetStream(handle->get(), stream), "cublasSetStream");
  }
  return handle->get();
}

void CudaEngine::copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

void CudaEngine::clear(void* to, std::size_t bytes, Stream stream) {
  check(cudaMemsetAsync(to, 0, bytes, stream), "cudaMemsetAsync");
}

DeviceBuffer CudaEngine::upload(const void* data, std::size_t bytes) {
  DeviceBuffer buffer(bytes, own_.get());
  copy(buffer.data(), data, bytes, own_.get());
  check(cudaStreamSynchronize(own_.get()), "a copy to the device");
  return buffer;
}

void CudaEngine::download(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, own_.get());
  check(cudaStreamSynchronize(own_.get()), "a copy from the device");
}

void CudaEngine::record(Event& event, Stream stream) {
  if (!event) event.emplace();
  event->record(stream);
}

void CudaEngine::wait(Stream stream, const Event& event) {
  if (event) wait_for(stream, event->get());
}

void CudaEngine::multiply(const ColumnProduct& product, const float* first, const float* second,
                          float* result, Into into, Arithmetic arithmetic, Stream stream) {
  const auto sums = arithmetic == Arithmetic::Integer ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
  multiply_any(product, first, second, result, into, {CUDA_R_32F, CUDA_R_32F, sums}, stream);
}

void CudaEngine::multiply(const ColumnProduct& product, const Bf16* first, const Bf16* second, Bf16* result,
                          Into into, Arithmetic /*arithmetic*/, Stream stream) {
  multiply_any(product, first, second, result, into, {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F}, stream);
}

void CudaEngine::multiply(const ColumnProduct& product, const Bf16* first, const Bf16* second, float* result,
                          Into into, Arithmetic /*arithmetic*/, Stream stream) {
  multiply_any(product, first, second, result, into, {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F}, stream);
}

void CudaEngine::multiply_any(const ColumnProduct& product, const void* first, const void* second,
                              void* result, Into into, const Types& types, Stream stream) {
  const float one = 1.0F;
  const float before = into == Into::Add ? 1.0F : 0.0F;
  const auto narrow = [](std::size_t size) {
    return static_cast<int>(size);
  };  // all come from LayersConfig's ints
  const auto operation = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check(cublasGemmEx(handle_of(stream), operation(product.transpose_first),
                     operation(product.transpose_second), narrow(product.m), narrow(product.n),
                     narrow(product.depth), &one, first, types.operands, narrow(product.stride_first), second,
                     types.operands, narrow(product.stride_second), &before, result, types.result,
                     narrow(product.stride_result), types.sums, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

}  // namespace pipeloom::executor::cuda
