#pragma once

// The threads of one rank: they evaluate the pieces that they are given, while the rank's main thread writes letters.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/mpi/letters.hpp"
#include "study/sweep/run/piece.hpp"

namespace pipeloom::cli::mpi {

class Crew {
 public:
  /// One thread per worker.
  explicit Crew(std::vector<sweep::PieceWorker> workers);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void submit(const Assignment& assignment);
  /// What was finished since the last call. Rethrows what a thread has thrown.
  [[nodiscard]] std::vector<Completion> take();
  /// Every thread ends behind the point that it is at; pieces that were cut short are given by take() as incomplete.
  void halt();
  /// True while a thread is amid a piece.
  [[nodiscard]] bool is_busy();

 private:
  void work(sweep::PieceWorker& worker);
  void run(sweep::PieceWorker& worker, const Assignment& assignment);

  std::vector<sweep::PieceWorker> workers_;
  std::atomic<bool> halt_{false};
  std::mutex mutex_;
  std::condition_variable something_;
  // Under the mutex:
  std::deque<Assignment> waiting_;
  std::vector<Completion> finished_;
  int busy_ = 0;
  std::exception_ptr error_;
  // Last: they use what stands above.
  std::vector<std::thread> threads_;
};

}  // namespace pipeloom::cli::mpi
