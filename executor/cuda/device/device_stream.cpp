#include "executor/cuda/device/device_stream.hpp"

#include "executor/cuda/device/cuda_error.hpp"

namespace pipeloom::executor::cuda {

Event::Event() {
  check(cudaEventCreate(&event_), "cudaEventCreate");
}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(event_, other.event_);
  return *this;
}

Event::~Event() {
  // The caller that waits for the device reports its errors.
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

void Event::record(cudaStream_t stream) {
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}

Stream::Stream() {
  // Beside the default stream, which would make all others wait.
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(stream_, other.stream_);
  return *this;
}

Stream::~Stream() {
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

void wait_for(cudaStream_t stream, cudaEvent_t event) {
  check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

bool has_happened(cudaEvent_t event) {
  const cudaError_t state = cudaEventQuery(event);
  if (state != cudaErrorNotReady) check(state, "what was queued before an event");
  return state == cudaSuccess;
}

bool is_idle(cudaStream_t stream) {
  const cudaError_t state = cudaStreamQuery(stream);
  if (state != cudaErrorNotReady) check(state, "what was queued on a stream");
  return state == cudaSuccess;
}

float milliseconds_between(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
  return milliseconds;
}

}  // namespace pipeloom::executor::cuda
