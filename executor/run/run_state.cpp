#include "executor/run/run_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "executor/run/held_tensors.hpp"
#include "sim/text.hpp"

namespace pipeloom::executor {
namespace {

/// Time that ranks which were told to end have for the op that they are in.
constexpr std::chrono::milliseconds kGrace{100};
/// Number of instructions before the last one that a failure reports.
constexpr std::size_t kTold = 4;

}  // namespace

RunState::RunState(std::shared_ptr<const RunPlan> plan, Work& work, const std::vector<Rank>& local,
                   std::unique_ptr<Exchange> exchange, std::unique_ptr<Barrier> barrier)
    : plan_(std::move(plan)),
      barrier_(std::move(barrier)),
      exchange_(std::move(exchange)),
      work_(static_cast<std::size_t>(schedule().ranks())),
      first_(local.front()),
      progress_(work_.size()),
      start_(schedule().num_ops() * static_cast<std::size_t>(all_steps())),
      end_(start_.size()),
      running_(static_cast<int>(local.size())),
      out_of_memory_{.rank = local.front(),
                     .what = "out of memory",
                     .message = "a rank ran out of memory; take fewer ranks or less work",
                     .last_actions = {}} {
  for (std::atomic<Ticks>& start : start_) start = -1;
  for (std::atomic<Ticks>& end : end_) end = -1;
  for (const Rank rank : local) work_[rank.at()] = work.rank_work(schedule(), rank);
}

void RunState::begin(Rank rank, int step, std::size_t instruction, Progress::Doing doing) {
  Progress& progress = progress_[rank.at()];
  progress.doing = Progress::Doing::Waiting;  // no moment with a new clock and an old deed
  progress.since = clock().now();
  progress.step = step;
  progress.instruction = instruction;
  progress.doing = doing;
}

void RunState::begin_copy(Rank rank, std::size_t instruction) {
  Progress& progress = progress_[rank.at()];
  progress.copy_since = clock().now();  // before `copy`: no moment with a new copy and an old clock
  progress.copy = instruction;
}

void RunState::end_copy(Rank rank) {
  Progress& progress = progress_[rank.at()];
  progress.copy_since = clock().now();
  progress.copy = Progress::kNoCopy;
}

void RunState::record(std::size_t op, int step, Ticks start, Ticks end) {
  start_[index(op, step)] = start;
  end_[index(op, step)] = end;
}

std::string RunState::instruction_text(Rank rank, std::size_t instruction) const {
  if (instruction >= program().instructions(rank).size()) return "the barrier between steps";
  const auto& what = program().instructions(rank)[instruction];
  if (what.code != Program::Code::Run) {
    std::string ends;
    for (const Endpoint& end : program().batch(what.index)) {
      const MessageInfo& info = program().messages()[end.message];
      ends +=
          fmt::format("{}{}{}{}{}", ends.empty() ? "" : ",", end.is_send ? 's' : 'r', to_text(info.producer),
                      end.is_send ? '>' : '<', (end.is_send ? info.to_rank : info.from_rank).value());
    }
    return fmt::format("{} [{}]", what.code == Program::Code::Post ? "post" : "wait", ends);
  }
  return entry_text(schedule(), what.index, end_of_entry(schedule(), what.index));
}

std::string RunState::last_actions_of(Rank rank) const {
  const Progress& progress = progress_[rank.at()];
  const std::size_t at = progress.instruction;
  std::string text =
      fmt::format("rank {}: step {}, {} {}", rank.value(), progress.step.load(),
                  progress.doing == Progress::Doing::Computing ? "in" : "at", instruction_text(rank, at));
  for (std::size_t back = 1; back <= std::min(kTold, at); ++back)
    text += (back == 1 ? "; before it: " : ", ") + instruction_text(rank, at - back);
  if (const std::size_t copy = progress.copy; copy != Progress::kNoCopy)
    text += "; beside it: " + instruction_text(rank, copy);
  return text;
}

std::vector<std::string> RunState::last_actions() const {
  std::vector<std::string> lines;
  for (Rank rank{0}; rank < Rank(schedule().ranks()); ++rank)
    if (progress_[rank.at()].heard != Progress::kUnknown) lines.push_back(last_actions_of(rank));
  return lines;
}

void RunState::fail(Rank rank, std::string_view what) {
  fail_at(rank, progress_[rank.at()].instruction, what);
}

void RunState::fail_copy(Rank rank, std::string_view what) {
  fail_at(rank, progress_[rank.at()].copy, what);
}

void RunState::fail_at(Rank rank, std::size_t instruction, std::string_view what) {
  try {
    Failure failure{.rank = rank, .what = std::string(what), .message = {}, .last_actions = last_actions()};
    failure.message =
        fmt::format("rank {} failed in step {} at {}: {}", rank.value(), progress_[rank.at()].step.load(),
                    instruction_text(rank, instruction), what);
    fail(std::move(failure));
  } catch (const std::bad_alloc&) {
    fail_without_memory();
  }
}

void RunState::fail_without_memory() {
  Failure failure;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure = std::move(out_of_memory_);
  }
  fail(std::move(failure));
}

void RunState::fail(Failure failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = std::move(failure);
    stopped_ = true;
    changed_.notify_all();
  }
  exchange_->stop();
  barrier_->stop();
  if (!told_) return;
  try {
    told_(*failure_);  // set once, never changed again
  } catch (const std::bad_alloc&) {
    // Without memory the others cannot be told; they notice that this rank is missing.
  }
}

void RunState::end(Rank rank) {
  const std::lock_guard lock(mutex_);
  progress_[rank.at()].doing = Progress::Doing::Ended;
  --running_;
  changed_.notify_all();
}

bool RunState::has_ended(Rank rank) const {
  return progress_[rank.at()].doing == Progress::Doing::Ended;
}

void RunState::look_for_stall() {
  const Ticks timeout = ticks_of_seconds(options().timeout_seconds);
  const std::string no_end = fmt::format("no end after {} s, the timeout", options().timeout_seconds);
  const Ticks now = clock().now();
  const Rank none(-1);
  Rank waiting = none;
  bool all_wait = true;
  Ticks latest = 0;
  for (Rank rank{0}; rank < Rank(schedule().ranks()); ++rank) {
    const Progress& progress = progress_[rank.at()];
    const Ticks heard = progress.heard;
    if (heard != Progress::kOwn && (!knows_all_ || now - heard > timeout / 2)) {
      all_wait = false;  // for all that is known
      continue;
    }
    const Progress::Doing doing = progress.doing;
    const Ticks since = progress.since;
    if (doing == Progress::Doing::Computing) {
      all_wait = false;
      if (now - since > timeout) return fail(rank, no_end);
    }
    const std::size_t copy = progress.copy;
    const Ticks copy_since = progress.copy_since;
    if (copy != Progress::kNoCopy) {
      all_wait = false;
      if (now - copy_since > timeout) return fail_at(rank, copy, no_end);
    }
    latest = std::max({latest, since, copy_since});
    const bool at_barrier = progress.instruction >= program().instructions(rank).size();
    if (doing == Progress::Doing::Waiting && !at_barrier && waiting == none) waiting = rank;
  }
  if (all_wait && waiting != none && now - latest > timeout)
    fail(waiting,
         fmt::format("no message for {} s, the timeout, while no rank computes", options().timeout_seconds));
}

int RunState::steps_over() const {
  int over = all_steps();
  for (std::size_t rank = 0; rank < work_.size(); ++rank)
    if (work_[rank]) over = std::min(over, progress_[rank].step.load());
  return over;
}

void RunState::look_around() {
  const int over = steps_over();
  if (options().progress) options().progress(over, all_steps());
  if (options().stop == nullptr || !*options().stop) return;
  Failure failure{.rank = first_, .what = "interrupted", .message = {}, .last_actions = last_actions()};
  failure.message = fmt::format("interrupted in step {} of {}, {} of them warm-up", over + 1, all_steps(),
                                options().warmup_steps);
  fail(std::move(failure));
}

void RunState::watch() {
  const std::chrono::duration<double> look_every(std::clamp(options().timeout_seconds / 8, 0.001, 0.1));
  std::unique_lock lock(mutex_);
  while (running_ > 0 && !failure_) {
    if (changed_.wait_for(lock, look_every, [&] { return running_ == 0 || failure_; })) break;
    lock.unlock();
    look_around();
    look_for_stall();
    lock.lock();
  }
  if (failure_) changed_.wait_for(lock, kGrace, [&] { return running_ == 0; });
}

std::optional<Failure> RunState::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

RankRecord RunState::record_of(Rank rank) const {
  RankRecord out;
  if (rank == first_) {
    out.end.assign(end_.begin(), end_.end());
    for (std::size_t i = 0; i < end_.size(); ++i)
      out.start.push_back(out.end[i] >= 0 ? start_[i].load() : -1);
  }
  if (stopped_) return out;
  if (rank == first_) out.messages = exchange_->measured();
  out.peak_bytes = work_[rank.at()]->peak_bytes();
  out.gradients = work_[rank.at()]->gradients();
  out.gradients.is_reduced = replicas_are_reduced_;
  return out;
}

}  // namespace pipeloom::executor
