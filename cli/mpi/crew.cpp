#include "cli/mpi/crew.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::cli::mpi {

Crew::Crew(std::vector<sweep::PieceWorker> workers) : workers_(std::move(workers)) {
  for (sweep::PieceWorker& worker : workers_) {
    try {
      threads_.emplace_back([this, &worker] { work(worker); });
    } catch (const std::system_error& error) {
      // With one less it is as well, only slower.
      if (threads_.empty()) throw SystemError(fmt::format("cannot start a thread: {}", error.what()));
      break;
    }
  }
}

Crew::~Crew() {
  halt();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::submit(const Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(assignment);
  something_.notify_one();
}

std::vector<Completion> Crew::take() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  return std::exchange(finished_, {});
}

void Crew::halt() {
  const std::lock_guard lock(mutex_);
  halt_ = true;
  something_.notify_all();
}

bool Crew::is_busy() {
  const std::lock_guard lock(mutex_);
  return busy_ > 0;
}

void Crew::work(sweep::PieceWorker& worker) {
  std::unique_lock lock(mutex_);
  while (true) {
    something_.wait(lock, [this] { return halt_ || !waiting_.empty(); });
    if (halt_) return;
    const Assignment assignment = waiting_.front();
    waiting_.pop_front();
    ++busy_;
    lock.unlock();
    run(worker, assignment);
    lock.lock();
    --busy_;
  }
}

void Crew::run(sweep::PieceWorker& worker, const Assignment& assignment) {
  try {
    Completion out{assignment.number, worker.run(assignment.piece, assignment.skip_below, &halt_)};
    const std::lock_guard lock(mutex_);
    finished_.push_back(std::move(out));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    halt_ = true;
    something_.notify_all();
  }
}

}  // namespace pipeloom::cli::mpi
