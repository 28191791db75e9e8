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

using Work = std::function<void(std::size_t, const AskNow&)>;
using Ask = std::function<void(std::size_t)>;

void run_here(std::size_t count, const Work& work, const Ask& ask) {
  for (std::size_t i = 0; i < count; ++i) {
    work(i, [&ask, i] { ask(i); });
    ask(i + 1);
  }
}

void run_on_threads(std::size_t count, int threads, const Work& work, const Ask& ask) {
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
        work(i, {});
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
    for (int i = 0; i < threads; ++i) workers.emplace_back(worker);
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

}  // namespace

void run_chains(std::size_t count, int threads, const Work& work, const Ask& ask) {
  const int used = std::clamp(threads, 1, static_cast<int>(count));
  if (used == 1)
    run_here(count, work, ask);
  else
    run_on_threads(count, used, work, ask);
}

}  // namespace pipeloom::orders
