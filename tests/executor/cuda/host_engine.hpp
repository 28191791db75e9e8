#pragma once

// A device that is not there: memory of the host, streams as lists of tasks, and the functions of the kernels called in loops. Nothing
// runs before something is downloaded; then the heads of the streams run in an order that is drawn from a seed, within what their events allow.
// Memory is NaN until it is written and after it was freed, so what uses it too early or too late shows in the results.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "executor/cuda/host_team.hpp"
#include "executor/cuda/kernels/kernels.hpp"
#include "executor/cuda/kernels/product.hpp"

namespace pipeloom::executor::cuda {

class HostEngine {
 public:
  using Stream = int;  ///< 0 is the one of buffers that were uploaded

  /// When a stream comes to it.
  struct Event {
    std::shared_ptr<bool> reached;  // none: never recorded
  };

  class Buffer {
   public:
    Buffer() = default;
    Buffer(HostEngine& engine, std::size_t bytes, Stream stream);
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
      Buffer(std::move(other)).swap(*this);
      return *this;
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    [[nodiscard]] void* data() const { return data_; }
    template <class T>
    [[nodiscard]] T* as() const {
      return static_cast<T*>(data_);
    }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] bool empty() const { return data_ == nullptr; }
    void free_on(Stream stream) { stream_ = stream; }

   private:
    void swap(Buffer& other) noexcept {
      std::swap(engine_, other.engine_);
      std::swap(data_, other.data_);
      std::swap(bytes_, other.bytes_);
      std::swap(stream_, other.stream_);
    }
    HostEngine* engine_ = nullptr;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    Stream stream_ = 0;
  };

  class HostBuffer {
   public:
    HostBuffer() = default;
    explicit HostBuffer(std::size_t bytes) : bytes_(bytes) {}
    [[nodiscard]] void* data() { return bytes_.data(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_.size(); }

   private:
    std::vector<std::byte> bytes_;
  };

  explicit HostEngine(unsigned seed = 0) : random_(seed) {}
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;
  /// What was queued and not waited for is forgotten.
  ~HostEngine() = default;

  Buffer allocate(std::size_t bytes, Stream stream) { return {*this, bytes, stream}; }
  HostBuffer allocate_host(std::size_t bytes) {
    ++host_buffers_;
    return HostBuffer(bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) {
    queue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  void clear(void* to, std::size_t bytes, Stream stream) {
    queue(stream, [=] { std::memset(to, 0, bytes); });
  }
  [[nodiscard]] Stream own_stream() const { return 0; }
  Buffer upload(const void* data, std::size_t bytes) {
    Buffer buffer(*this, bytes, 0);
    if (bytes > 0) std::memcpy(buffer.data(), data, bytes);
    return buffer;
  }
  void download(void* to, const void* from, std::size_t bytes) {
    run_all();
    std::memcpy(to, from, bytes);
  }
  void record(Event& event, Stream stream) {
    event.reached = std::make_shared<bool>(false);
    queue(stream, [reached = event.reached] { *reached = true; });
  }
  void wait(Stream stream, const Event& event) {
    if (event.reached) streams_[stream].push_back({{}, event.reached});
  }

  template <class Function>
  void for_cells(Function function, std::size_t rows, std::size_t columns, Stream stream) {
    queue(stream, [=] {
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column) function(row, column);
    });
  }
  template <class Function>
  void for_rows(Function function, std::size_t rows, Stream stream) {
    queue(stream, [=] {
      for (std::size_t row = 0; row < rows; ++row) function(HostTeam(), row);
    });
  }
  /// What cuBLAS is asked for, in its own terms: sums in float, rounded once at the end.
  template <class T, class C>
  void multiply(ColumnProduct product, const T* first, const T* second, C* result, Into into,
                Arithmetic /*arithmetic*/, Stream stream) {
    queue(stream, [=] {
      const ColumnProduct& p = product;
      for (std::size_t j = 0; j < p.n; ++j)
        for (std::size_t i = 0; i < p.m; ++i) {
          C& cell = result[i + j * p.stride_result];
          float sum = into == Into::Add ? widened(cell) : 0.0F;
          for (std::size_t k = 0; k < p.depth; ++k)
            sum +=
                widened(p.transpose_first ? first[k + i * p.stride_first] : first[i + k * p.stride_first]) *
                widened(p.transpose_second ? second[j + k * p.stride_second]
                                           : second[k + j * p.stride_second]);
          cell = narrowed<C>(sum);
        }
    });
  }

  /// Everything that was queued. Throws std::logic_error if streams wait for each other, or something wrote into memory that was free.
  void run_all();
  [[nodiscard]] int host_buffers() const { return host_buffers_; }
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct Task {
    std::function<void()> run;
    std::shared_ptr<bool> until;  // what it waits for; none: nothing
    [[nodiscard]] bool is_ready() const { return !until || *until; }
  };
  static constexpr unsigned char kNan = 0xFF;  // of every byte: NaN as float, double and Bf16

  void queue(Stream stream, std::function<void()> task) { streams_[stream].push_back({std::move(task), {}}); }
  void free(void* data, std::size_t bytes, Stream stream);

  std::map<Stream, std::deque<Task>> streams_;
  std::vector<std::pair<std::unique_ptr<std::byte[]>, std::size_t>> freed_;
  std::mt19937 random_;
  int host_buffers_ = 0;
  std::size_t held_bytes_ = 0;
};

inline HostEngine::Buffer::Buffer(HostEngine& engine, std::size_t bytes, Stream stream)
    : engine_(&engine), data_(new std::byte[bytes]), bytes_(bytes), stream_(stream) {
  std::memset(data_, kNan, bytes);
  engine.held_bytes_ += bytes;
}

inline HostEngine::Buffer::~Buffer() {
  if (data_ != nullptr) engine_->free(data_, bytes_, stream_);
}

inline void HostEngine::free(void* data, std::size_t bytes, Stream stream) {
  held_bytes_ -= bytes;
  freed_.emplace_back(static_cast<std::byte*>(data), bytes);
  queue(stream, [data, bytes] { std::memset(data, kNan, bytes); });
}

inline void HostEngine::run_all() {
  while (true) {
    std::vector<Stream> ready;
    bool is_empty = true;
    for (auto& [stream, tasks] : streams_) {
      is_empty = is_empty && tasks.empty();
      if (!tasks.empty() && tasks.front().is_ready()) ready.push_back(stream);
    }
    if (is_empty) break;
    if (ready.empty()) throw std::logic_error("streams wait for each other");
    auto& tasks = streams_[ready[random_() % ready.size()]];
    // A run of tasks of one stream: how far it gets ahead of the others is drawn as well.
    for (auto run = 1 + random_() % 16; run > 0 && !tasks.empty() && tasks.front().is_ready(); --run) {
      const Task task = std::move(tasks.front());
      tasks.pop_front();
      if (task.run) task.run();
    }
  }
  for (const auto& [data, bytes] : freed_)
    if (std::any_of(data.get(), data.get() + bytes, [](std::byte byte) { return byte != std::byte{kNan}; }))
      throw std::logic_error("something wrote into memory that was free");
  freed_.clear();
}

inline void wait_until_done(HostEngine& engine, HostEngine::Stream /*stream*/) {
  engine.run_all();
}

}  // namespace pipeloom::executor::cuda
