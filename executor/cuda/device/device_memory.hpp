#pragma once

// Memory of a GPU, taken and given back in the order of a stream, so that neither waits for the device; and memory of the host that a GPU
// reads and writes while it does other work.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace pipeloom::executor::cuda {

/// Makes the current device keep freed memory for the next allocation, instead of giving it back to the driver whenever the host waits;
/// and never makes a stream wait for another one in order to reuse the memory that it frees: queued after a message that waits for its
/// other end, such a wait could be for itself. One call per device is enough; more calls do no harm.
void keep_freed_memory();

/// Bytes on the current device. Freed on the stream that used them last (free_on()), by default the one that they were taken on.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Contents are not set. Throws CudaError if there is no memory left, naming how much was asked for.
  DeviceBuffer(std::size_t bytes, cudaStream_t stream);
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer(std::move(other)).swap(*this);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  /// REQUIRES: the stream is still there.
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
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
  }
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
};

/// Bytes of the host that stay where they are. Taking and freeing them waits for the device.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  /// Contents are not set. Throws CudaError as DeviceBuffer does.
  explicit PinnedBuffer(std::size_t bytes);
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer();

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pipeloom::executor::cuda
