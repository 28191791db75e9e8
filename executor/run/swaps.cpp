#include "executor/run/swaps.hpp"

namespace pipeloom::executor {

void Swaps::give(Rank from, Rank to, Payload tensor) {
  const std::lock_guard lock(mutex_);
  given_[{from, to}].push_back(std::move(tensor));
  changed_.notify_all();
}

std::optional<Payload> Swaps::take(Rank from, Rank to) {
  std::unique_lock lock(mutex_);
  std::deque<Payload>& queue = given_[{from, to}];
  changed_.wait(lock, [&] { return stopped_ || !queue.empty(); });
  if (stopped_) return {};
  Payload tensor = std::move(queue.front());
  queue.pop_front();
  return tensor;
}

void Swaps::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace pipeloom::executor
