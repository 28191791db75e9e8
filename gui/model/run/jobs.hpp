#pragma once

// Work off the frame thread.
//
// A job runs on the one background thread and returns a closure; that closure runs on the frame thread, in poll(), and is the
// only way in which a job changes the window. So nothing but the queue itself is shared and locked.
//
// Jobs are submitted to lanes by name ("simulate", "schedules"). A newer job of a lane replaces an older one that has not
// started and cancels one that runs: while a slider is dragged, the newest value is the next to be simulated. It comes before the analyses
// that wait: an edit is seen first, and then explained. Long ones have lanes that begin with "analyse/", which an edit cancels.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace pipeloom::gui {

/// Tells a job that it is cancelled; long loops ask it once in a while, and those that know their progress report it.
class Cancelled {
 public:
  [[nodiscard]] explicit operator bool() const { return state_->cancelled.load(std::memory_order_relaxed); }
  void set() const { state_->cancelled.store(true, std::memory_order_relaxed); }
  /// Reports the share of the work that is done, 0 to 1.
  void report(double share) const { state_->share.store(share, std::memory_order_relaxed); }
  /// No value before the first report.
  [[nodiscard]] std::optional<double> share() const {
    const double share = state_->share.load(std::memory_order_relaxed);
    return share < 0 ? std::nullopt : std::optional(share);
  }

 private:
  struct State {
    std::atomic<bool> cancelled = false;
    std::atomic<double> share = -1;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class Jobs {
 public:
  /// Uses the result, on the frame thread; may be empty. Not called for cancelled jobs.
  using Finish = std::function<void()>;
  /// Runs on the background thread. It must not throw: an error is a result too.
  using Work = std::function<Finish(const Cancelled&)>;

  /// `wake` is called from the background thread when a result waits for poll().
  explicit Jobs(std::function<void()> wake = {});
  /// Cancels everything and waits for the job that runs.
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  enum class Turn : std::uint8_t { InOrder, Next };
  void submit(const std::string& lane, Work work, Turn turn = Turn::InOrder);
  void cancel(const std::string& lane);
  /// Every lane whose name begins so.
  void cancel_all(std::string_view prefix);
  /// poll() has something to do.
  [[nodiscard]] bool has_results() const;
  /// Runs the closures of finished jobs. Returns true if there was any. Frame thread only.
  bool poll();
  /// Nothing waits, runs, or has a result that poll() did not take.
  [[nodiscard]] bool idle() const;
  /// Jobs that wait or run, by lane: for the status line.
  [[nodiscard]] std::size_t pending() const;
  /// The share of the running job that is done, 0 to 1; no value before its first report.
  [[nodiscard]] std::optional<double> progress() const;

 private:
  struct Job {
    std::string lane;
    Work work;
    Cancelled cancelled;
  };
  struct Result {
    Finish finish;
    Cancelled cancelled;
  };
  void run();
  template <class IsMeant>
  void cancel_locked(const IsMeant& is_meant);

  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::deque<Result> finished_;
  std::optional<Job> running_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipeloom::gui
