#pragma once

// What a connection of a loop said, and frames that tell where they belong.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "executor/net/loop.hpp"

namespace pipeloom::executor::net {

/// What a connection said, for a test that waits for it.
class Heard {
 public:
  [[nodiscard]] Loop::Handlers handlers() {
    return {.on_frame = [this](Frame frame) { note([&] { frames_.push_back(std::move(frame)); }); },
            .on_end = [this](const std::string& reason) { note([&] { ends_.push_back(reason); }); },
            .on_sent = [this] { note([&] { ++sent_; }); }};
  }
  /// False if there are still fewer after a long time.
  [[nodiscard]] bool wait_for_frames(std::size_t count) {
    return wait([&] { return frames_.size() >= count; });
  }
  [[nodiscard]] bool wait_for_end() {
    return wait([&] { return !ends_.empty(); });
  }
  [[nodiscard]] bool wait_for_sent(std::size_t count) {
    return wait([&] { return sent_ >= count; });
  }
  [[nodiscard]] std::vector<Frame> frames() const {
    const std::scoped_lock lock(mutex_);
    return frames_;
  }
  [[nodiscard]] std::vector<std::string> ends() const {
    const std::scoped_lock lock(mutex_);
    return ends_;
  }
  [[nodiscard]] std::size_t sent() const {
    const std::scoped_lock lock(mutex_);
    return sent_;
  }

 private:
  template <typename Function>
  void note(const Function& fn) {
    {
      const std::scoped_lock lock(mutex_);
      fn();
    }
    changed_.notify_all();
  }
  template <typename Condition>
  bool wait(const Condition& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Frame> frames_;
  std::vector<std::string> ends_;
  std::size_t sent_ = 0;
};

/// A frame that holds `number` and then `size` bytes that follow from it.
[[nodiscard]] Frame numbered(std::uint32_t number, std::size_t size = 0);
/// REQUIREs numbered(0, size), numbered(1, size), ..
void check_numbered(const std::vector<Frame>& frames, std::size_t size);

}  // namespace pipeloom::executor::net
