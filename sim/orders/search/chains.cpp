#include "sim/orders/search/chains.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace pipeloom::orders {
namespace {

constexpr std::chrono::milliseconds kAskEvery{50};

}  // namespace

void run_chains(std::size_t count, int threads, const std::function<void(std::size_t)>& work,
                const std::function<void(std::size_t)>& ask) {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t next = 0;
  std::size_t running = count;
  std::exception_ptr error;
  const auto worker = [&] {
    for (;;) {
      std::unique_lock lock(mutex);
      if (next == count) return;
      const std::size_t i = next++;
      lock.unlock();
      std::exception_ptr thrown;
      try {
        work(i);
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      if (thrown) error = thrown;
      if (--running == 0) ended.notify_all();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < std::clamp(threads, 1, static_cast<int>(count)); ++i) workers.emplace_back(worker);
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kAskEvery, [&] { return running == 0; })) {
      const std::size_t over = count - running;
      lock.unlock();
      ask(over);
      lock.lock();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace pipeloom::orders
