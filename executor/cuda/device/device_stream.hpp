#pragma once

// Streams and events of the current device that end with their owners.

#include <cuda_runtime_api.h>

#include <utility>

namespace pipeloom::executor::cuda {

/// A moment in a stream, at which all earlier work of the stream is done. It keeps its time.
class Event {
 public:
  /// Throws CudaError if the device has none left.
  Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  [[nodiscard]] cudaEvent_t get() const { return event_; }
  /// Records the work that is queued on `stream` until now; forgets what it recorded before.
  void record(cudaStream_t stream);

 private:
  cudaEvent_t event_ = nullptr;
};

/// A queue whose work runs in order; streams run at the same time.
class Stream {
 public:
  Stream();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Waits for nothing: queued work still runs.
  ~Stream();

  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Makes all work that is queued on `stream` from now on wait for `event`.
void wait_for(cudaStream_t stream, cudaEvent_t event);
/// Throws CudaError for an error that the device met on the way there.
[[nodiscard]] bool has_happened(cudaEvent_t event);
[[nodiscard]] bool is_idle(cudaStream_t stream);
/// Milliseconds from one to the other. REQUIRES: both have happened.
[[nodiscard]] float milliseconds_between(cudaEvent_t from, cudaEvent_t to);

}  // namespace pipeloom::executor::cuda
