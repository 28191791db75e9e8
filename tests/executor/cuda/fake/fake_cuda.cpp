#include "executor/cuda/fake/fake_cuda.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "executor/cuda/kernels/checksum.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::fake_cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// What an event was last recorded as.
struct Moment {
  std::mutex mutex;
  std::condition_variable changed;
  bool happened = false;
  Clock::time_point when;

  void happen() {
    const std::lock_guard lock(mutex);
    when = Clock::now();
    happened = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return happened; });
  }
};

/// A thread and its tasks; ends when it is told to and has done all of them.
class Lane {
 public:
  static std::shared_ptr<Lane> make() {
    auto lane = std::make_shared<Lane>();
    std::thread([lane] { lane->work(); }).detach();
    return lane;
  }
  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return tasks_.empty();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      {
        const std::function<void()> task = tasks_.front();
        lock.unlock();
        task();
      }
      lock.lock();
      tasks_.pop_front();  // only now: a stream is idle when its last task is done
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
};

struct Memory {
  std::atomic<std::size_t> live = 0;
  std::atomic<int> devices = 1;
  std::mutex mutex;
  std::function<void(void*, std::size_t)> told;
} memory;

constexpr int kGarbage = 0xA5;
/// In front of every allocation, to know its size when it is freed.
constexpr std::size_t kHeader = 64;

void* take(std::size_t bytes) {
  auto* block = static_cast<char*>(std::malloc(bytes + kHeader));
  std::memcpy(block, &bytes, sizeof bytes);
  std::memset(block + kHeader, kGarbage, bytes);
  ++memory.live;
  return block + kHeader;
}

void give_back(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kHeader;
  std::size_t bytes = 0;
  std::memcpy(&bytes, block, sizeof bytes);
  std::memset(data, kGarbage, bytes);
  std::free(block);
  --memory.live;
}

}  // namespace
}  // namespace pipeloom::fake_cuda

struct CUstream_st {
  std::shared_ptr<pipeloom::fake_cuda::Lane> lane = pipeloom::fake_cuda::Lane::make();
};
struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<pipeloom::fake_cuda::Moment> moment;
  std::shared_ptr<pipeloom::fake_cuda::Moment> now() {
    const std::lock_guard lock(mutex);
    return moment;
  }
};

namespace pipeloom::fake_cuda {

void queue(cudaStream_t stream, std::function<void()> task) {
  stream->lane->add(std::move(task));
}

std::size_t live_allocations() {
  for (int i = 0; i < 2000 && memory.live > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return memory.live;
}

void on_copy(std::function<void(void*, std::size_t)> told) {
  const std::lock_guard lock(memory.mutex);
  memory.told = std::move(told);
}

void set_devices(int count) {
  memory.devices = count;
}

}  // namespace pipeloom::fake_cuda

namespace fake = pipeloom::fake_cuda;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = fake::memory.devices;
  return *count > 0 ? cudaSuccess : cudaErrorInsufficientDriver;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  *properties = {};
  std::strcpy(properties->name, "a fake on the host");
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  return device < fake::memory.devices ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int /*device*/) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*what*/, void* /*value*/) {
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->lane->end();
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return stream->lane->is_idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake::Moment done;
  stream->lane->add([&] { done.happen(); });
  done.wait();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto moment = std::make_shared<fake::Moment>();
  {
    const std::lock_guard lock(event->mutex);
    event->moment = moment;
  }
  stream->lane->add([moment] { moment->happen(); });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  if (const auto moment = event->now()) stream->lane->add([moment] { moment->wait(); });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto moment = event->now();
  if (!moment) return cudaSuccess;
  const std::lock_guard lock(moment->mutex);
  return moment->happened ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const auto first = from->now();
  const auto last = to->now();
  if (!first || !last) return cudaErrorInvalidResourceHandle;
  const std::scoped_lock lock(first->mutex, last->mutex);
  if (!first->happened || !last->happened) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(last->when - first->when).count();
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t /*stream*/) {
  *data = fake::take(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  stream->lane->add([data] { fake::give_back(data); });
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  *data = fake::take(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  fake::give_back(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  stream->lane->add([=] {
    std::memcpy(to, from, bytes);
    const std::lock_guard lock(fake::memory.mutex);
    if (kind == cudaMemcpyDeviceToDevice && fake::memory.told) fake::memory.told(to, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  stream->lane->add([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

}  // extern "C"

namespace pipeloom::executor::cuda {

void queue_checksum(const void* data, std::size_t bytes, std::uint64_t* scratch, std::uint64_t* sum,
                    cudaStream_t stream) {
  fake::queue(stream, [=] {
    const auto* words = static_cast<const std::uint16_t*>(data);
    *scratch = 0;
    for (std::size_t i = 0; i < bytes / 2; ++i) *scratch += words[i] * (2 * i + 1);
    *sum = *scratch;
  });
}

}  // namespace pipeloom::executor::cuda
