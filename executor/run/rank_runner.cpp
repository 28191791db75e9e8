// One rank of a run: its instructions, one by one.

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "executor/run/held_tensors.hpp"
#include "executor/run/rank_threads.hpp"
#include "executor/run/replica_reduction.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor {
namespace {

using Doing = Progress::Doing;

/// Runs tasks in parallel with its owner, one after another in the order in which they were started. Starting a thread takes longer than waking
/// one, so it lives as long as its rank. Only the owner's thread calls it.
class Companion {
 public:
  /// The n-th task, counted from 1.
  using Ticket = std::size_t;

  Companion();
  /// Waits for all tasks.
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  /// Never waits. After a task that threw, later tasks are not run until finish() has thrown its exception.
  Ticket start(std::function<void()> task);
  /// Waits until this task and those before it have ended, and throws the first exception of theirs.
  void finish(Ticket ticket);
  /// finish() for all tasks.
  void finish() { finish(started_); }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // the first one is under way
  Ticket started_ = 0;
  Ticket ended_ = 0;
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

class RankRunner {
 public:
  RankRunner(RunState& state, Rank rank);

  /// All steps. Throws Stopped if the run is stopped, and all exceptions of the work.
  void run();

 private:
  void run_step(int step);
  void run_entry(std::size_t first, int step);
  /// Queues the copy that is instruction `at`: it runs on the lane, after all earlier copies.
  void start_copy(std::size_t at, int step);
  /// Waits for the copies back that the entry of instruction `at` needs.
  void wait_for_reloads(std::size_t at, int step);
  /// Waits for a copy and those before it.
  void wait_for_lane(Companion::Ticket ticket);
  void run_together(std::size_t first, std::size_t last, int step);
  void post(std::uint32_t batch, int step);
  void wait(std::uint32_t batch, int step);
  void meet(int step);

  RunState& state_;
  const Schedule& schedule_;
  Rank rank_;
  HeldTensors<Payload> tensors_;
  std::unordered_map<std::uint64_t, Companion::Ticket> reloads_;  // of this step, by key of the L
  Companion::Ticket last_copy_ = 0;
  std::unique_ptr<Companion> companion_;  // of ranks with groups that run together
  std::unique_ptr<Companion> lane_;       // of ranks with copies
};

template <class Predicate>
bool any_of(const Schedule& schedule, Rank rank, Predicate predicate) {
  const auto queue = schedule.queue(rank);
  return std::any_of(queue.begin(), queue.end(), predicate);
}

Companion::Companion() : thread_([this] { work(); }) {}

Companion::~Companion() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Companion::Ticket Companion::start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
  return ++started_;
}

void Companion::finish(Ticket ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= ticket; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Companion::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    const bool skipped = error_ != nullptr;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!skipped) task();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    tasks_.pop_front();
    if (error) error_ = error;
    ++ended_;
    changed_.notify_all();
  }
}

RankRunner::RankRunner(RunState& state, Rank rank)
    : state_(state), schedule_(state.schedule()), rank_(rank), tensors_(state.program()) {
  if (state.options().groups == GroupRule::Together &&
      any_of(schedule_, rank, [](Op op) { return op.joined(); }))
    companion_ = std::make_unique<Companion>();
  if (any_of(schedule_, rank, [](Op op) { return is_copy(op.kind()); }))
    lane_ = std::make_unique<Companion>();
}

void RankRunner::run() {
  for (int step = 0; step < state_.all_steps(); ++step) {
    meet(step);
    run_step(step);
    meet(step);
    state_.work(rank_).end_step(step);
  }
}

void RankRunner::meet(int step) {
  state_.begin(rank_, step, state_.program().instructions(rank_).size(), Doing::Waiting);
  if (!state_.barrier().arrive_and_wait()) throw Stopped();
}

void RankRunner::run_step(int step) {
  const auto instructions = state_.program().instructions(rank_);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (state_.stopped()) throw Stopped();
    state_.begin(rank_, step, i, Doing::Computing);
    if (state_.options().before_instruction) state_.options().before_instruction(rank_, i);
    const auto [code, index] = instructions[i];
    if (code == Program::Code::Run) {
      if (is_copy(schedule_.ops()[index].kind())) {
        start_copy(i, step);
      } else {
        wait_for_reloads(i, step);
        run_entry(index, step);
      }
    }
    if (code == Program::Code::Post) post(index, step);
    if (code != Program::Code::Wait) continue;
    state_.begin(rank_, step, i, Doing::Waiting);
    wait(index, step);
  }
  if (lane_) {
    wait_for_lane(last_copy_);
    reloads_.clear();
  }
  state_.begin(rank_, step, instructions.size(), Doing::Waiting);
  if (!reduce_replicas(state_, rank_)) throw Stopped();
}

void RankRunner::start_copy(std::size_t at, int step) {
  const std::size_t index = state_.program().instructions(rank_)[at].index;
  const Op op = schedule_.ops()[index];
  last_copy_ = lane_->start([this, at, step, index, op] {
    if (state_.stopped()) return;
    state_.begin_copy(rank_, at);
    try {
      const Ticks start = state_.clock().now();
      static_cast<void>(state_.work(rank_).run(op, step, {}));
      state_.record(index, step, start, state_.clock().now());
    } catch (const std::exception& error) {
      // At once: the rank may be waiting for another one.
      state_.fail_copy(rank_, error.what());
    } catch (...) {
      state_.fail_copy(rank_, "an exception of unknown type");
    }
    state_.end_copy(rank_);
  });
  if (kAwaitedCopies.has(op.kind())) reloads_[reload_key(op)] = last_copy_;
}

void RankRunner::wait_for_reloads(std::size_t at, int step) {
  if (reloads_.empty()) return;
  Companion::Ticket latest = 0;
  for (std::size_t op = state_.program().instructions(rank_)[at].index;; ++op) {
    const Op one = schedule_.ops()[op];
    const auto found = reloads_.find(reload_key(one));
    if (found != reloads_.end()) latest = std::max(latest, found->second);
    if (!one.joined()) break;
  }
  if (latest == 0) return;
  state_.begin(rank_, step, at, Doing::Waiting);
  wait_for_lane(latest);
  state_.begin(rank_, step, at, Doing::Computing);
}

void RankRunner::wait_for_lane(Companion::Ticket ticket) {
  lane_->finish(ticket);
  if (state_.stopped()) throw Stopped();
}

void RankRunner::run_entry(std::size_t first, int step) {
  const std::size_t last = end_of_entry(schedule_, first);
  if (last - first > 1 && companion_) return run_together(first, last, step);
  for (std::size_t op = first; op < last; ++op) {
    Payload input = tensors_.input_of(op);
    const Ticks start = state_.clock().now();
    Payload output = state_.work(rank_).run(schedule_.ops()[op], step, std::move(input));
    state_.record(op, step, start, state_.clock().now());
    tensors_.keep_output(op, std::move(output));
  }
}

void RankRunner::run_together(std::size_t first, std::size_t last, int step) {
  std::vector<Payload> inputs;
  for (std::size_t op = first; op < last; ++op) inputs.push_back(tensors_.input_of(op));
  std::vector<Payload> outputs(inputs.size());
  RankWork& work = state_.work(rank_);
  const auto run_part = [&](std::size_t part) {
    outputs[part] = work.run(schedule_.ops()[first + part], step, std::move(inputs[part]));
  };
  const Ticks start = state_.clock().now();
  companion_->start([&] {
    for (std::size_t part = 1; part < outputs.size(); ++part) run_part(part);
  });
  std::exception_ptr error;
  try {
    run_part(0);
  } catch (...) {
    error = std::current_exception();
  }
  companion_->finish();
  if (error) std::rethrow_exception(error);
  const Ticks end = state_.clock().now();
  for (std::size_t op = first; op < last; ++op) {
    state_.record(op, step, start, end);
    tensors_.keep_output(op, std::move(outputs[op - first]));
  }
}

void RankRunner::post(std::uint32_t batch, int step) {
  state_.exchange().post(rank_, batch, step, tensors_.take_sends(batch));
}

void RankRunner::wait(std::uint32_t batch, int step) {
  if (!state_.exchange().wait(rank_, batch, step)) throw Stopped();
  tensors_.keep_received(batch, [&](MessageId message) {
    return state_.exchange().take(message, step, state_.elements(message));
  });
}

}  // namespace

void run_rank(RunState& state, Rank rank) {
  // Outlives its failure: its end waits for the copy that runs at the same time, which may take long.
  RankRunner runner(state, rank);
  run_or_fail(state, rank, [&] { runner.run(); });
}

}  // namespace pipeloom::executor
