#pragma once

// The Engine of executor/cuda/layers/queued_block.hpp on the current GPU: kernels from launch.hpp, products from cuBLAS.
//
// fp32 products add in fp32, without TF32; those of integers are asked for pedantically, so that no setting of the environment
// can replace them by sums of shorter numbers. bf16 products add in fp32 and round once, when they are stored.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/device/device_memory.hpp"
#include "executor/cuda/device/device_stream.hpp"
#include "executor/cuda/kernels/launch.hpp"
#include "executor/cuda/kernels/product.hpp"

namespace pipeloom::executor::cuda {

/// One host thread uses it, with its device current; so does its destructor. Everything throws CudaError.
class CudaEngine {
 public:
  using Stream = cudaStream_t;
  using Event = std::optional<cuda::Event>;  ///< made when it is recorded first
  using Buffer = DeviceBuffer;
  using HostBuffer = PinnedBuffer;

  /// Makes handles for `multiplying_streams` streams that multiply, by default its own and those of two parts of a group: a handle made
  /// while a message waits for its other end could wait for the device.
  explicit CudaEngine(std::size_t multiplying_streams = 3);
  CudaEngine(const CudaEngine&) = delete;
  CudaEngine& operator=(const CudaEngine&) = delete;

  [[nodiscard]] Buffer allocate(std::size_t bytes, Stream stream) { return {bytes, stream}; }
  [[nodiscard]] HostBuffer allocate_host(std::size_t bytes) { return HostBuffer(bytes); }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream);
  void clear(void* to, std::size_t bytes, Stream stream);
  [[nodiscard]] Stream own_stream() const { return own_.get(); }
  /// A copy on the engine's own stream, which the buffer must not outlive unless free_on() gives it another.
  [[nodiscard]] Buffer upload(const void* data, std::size_t bytes);
  /// REQUIRES: the work that writes it has ended.
  void download(void* to, const void* from, std::size_t bytes);
  void record(Event& event, Stream stream);
  void wait(Stream stream, const Event& event);

  template <class Function>
  void for_cells(const Function& function, std::size_t rows, std::size_t columns, Stream stream) {
    launch_cells(function, rows, columns, stream);
  }
  template <class Function>
  void for_rows(const Function& function, std::size_t rows, Stream stream) {
    launch_rows(function, rows, stream);
  }

  void multiply(const ColumnProduct& product, const float* first, const float* second, float* result,
                Into into, Arithmetic arithmetic, Stream stream);
  void multiply(const ColumnProduct& product, const Bf16* first, const Bf16* second, Bf16* result, Into into,
                Arithmetic arithmetic, Stream stream);
  void multiply(const ColumnProduct& product, const Bf16* first, const Bf16* second, float* result, Into into,
                Arithmetic arithmetic, Stream stream);

 private:
  /// A handle carries its stream and the memory that products work in, so streams cannot share one.
  class Handle {
   public:
    Handle();
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle();
    [[nodiscard]] cublasHandle_t get() const { return handle_; }

   private:
    cublasHandle_t handle_ = nullptr;
  };
  struct Types {
    cudaDataType_t operands;
    cudaDataType_t result;
    cublasComputeType_t sums;
  };
  void multiply_any(const ColumnProduct& product, const void* first, const void* second, void* result,
                    Into into, const Types& types, Stream stream);

  [[nodiscard]] cublasHandle_t handle_of(Stream stream);

  cuda::Stream own_;
  std::vector<std::unique_ptr<Handle>> spare_;  // that no stream has yet
  std::map<Stream, std::unique_ptr<Handle>> handles_;
};

}  // namespace pipeloom::executor::cuda
