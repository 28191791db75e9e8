#pragma once

// Memory of a GPU, taken and given back in the order of a stream, so that neither waits for the device.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace pipeloom::executor::cuda {

/// Bytes on the current device. Freed on the stream that used them last (free_on()), by default the one that they were taken on.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Contents are not set. Throws CudaError if there is no memory left, naming how much was asked for.
  DeviceBuffer(std::size_t bytes, cudaStream_t stream);
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer();

  [[nodiscard]] void* data() const { return data_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  void free_on(cudaStream_t stream) { stream_ = stream; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace pipeloom::executor::cuda
