#include "gui/model/run/jobs.hpp"

#include <algorithm>
#include <utility>

namespace pipeloom::gui {

Jobs::Jobs(std::function<void()> wake) : wake_(std::move(wake)), thread_([this] { run(); }) {}

Jobs::~Jobs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    waiting_.clear();
    if (running_) running_->cancelled.set();
  }
  changed_.notify_all();
  thread_.join();
}

template <class IsMeant>
void Jobs::cancel_locked(const IsMeant& is_meant) {
  std::erase_if(waiting_, [&](const Job& job) { return is_meant(job.lane); });
  if (running_ && is_meant(running_->lane)) running_->cancelled.set();
}

void Jobs::submit(const std::string& lane, Work work, Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    cancel_locked([&](const std::string& other) { return other == lane; });
    waiting_.insert(turn == Turn::Next ? waiting_.begin() : waiting_.end(), Job{lane, std::move(work), {}});
  }
  changed_.notify_one();
}

void Jobs::cancel(const std::string& lane) {
  const std::lock_guard lock(mutex_);
  cancel_locked([&](const std::string& other) { return other == lane; });
}

void Jobs::cancel_all(std::string_view prefix) {
  const std::lock_guard lock(mutex_);
  cancel_locked([&](const std::string& lane) { return lane.starts_with(prefix); });
}

std::optional<double> Jobs::progress() const {
  const std::lock_guard lock(mutex_);
  return running_ && !running_->cancelled ? running_->cancelled.share() : std::nullopt;
}

bool Jobs::has_results() const {
  const std::lock_guard lock(mutex_);
  return !finished_.empty();
}

bool Jobs::poll() {
  std::deque<Result> results;
  {
    const std::lock_guard lock(mutex_);
    results.swap(finished_);
  }
  bool any = false;
  for (const Result& result : results) {
    if (result.cancelled || !result.finish) continue;
    result.finish();
    any = true;
  }
  return any;
}

bool Jobs::idle() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !running_ && finished_.empty();
}

std::size_t Jobs::pending() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + (running_ ? 1 : 0);
}

void Jobs::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    running_ = std::move(waiting_.front());
    waiting_.pop_front();
    const Work work = std::move(running_->work);
    const Cancelled cancelled = running_->cancelled;
    lock.unlock();
    Finish finish = work(cancelled);
    lock.lock();
    running_.reset();
    finished_.push_back({std::move(finish), cancelled});
    lock.unlock();
    if (wake_) wake_();
    lock.lock();
  }
}

}  // namespace pipeloom::gui
