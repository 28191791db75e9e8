#pragma once

// Loops over independent pieces of work on several threads.

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace pipeloom::study {

/// Calls work(i, is_caller) for each i below `count`, each once, on so many threads; `is_caller` on the thread that calls. `work` throws nothing.
template <class Work>
void on_threads(int threads, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto loop = [&](bool is_caller) {
    for (std::size_t i = next++; i < count; i = next++) work(i, is_caller);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads && others.size() + 1 < count; ++i) others.emplace_back(loop, false);
  loop(true);
}

}  // namespace pipeloom::study
