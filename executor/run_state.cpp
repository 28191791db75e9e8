#include "executor/run_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/text.hpp"

namespace pipeloom::executor {
namespace {

/// How long ranks that were told to end have for the op they are in.
constexpr std::chrono::milliseconds kGrace{100};
/// So many instructions before the last one are told.
constexpr std::size_t kTold = 4;

std::vector<std::size_t> elements_of(const Program& program, const Work& work) {
  std::vector<std::size_t> elements(program.messages().size());
  for (MessageId id = 0; id < elements.size(); ++id)
    elements[id] = work.message_elements(program.schedule(), program.messages()[id].producer);
  return elements;
}

}  // namespace

RunState::RunState(const Program& program, const RunOptions& options, Work& work)
    : program_(program),
      options_(options),
      barrier_(program.schedule().ranks()),
      exchange_(program_, options_, options.warmup_steps + options.steps, clock_),
      elements_(elements_of(program, work)),
      progress_(static_cast<std::size_t>(program.schedule().ranks())),
      start_(program.schedule().num_ops() * static_cast<std::size_t>(options.warmup_steps + options.steps)),
      end_(start_.size()),
      running_(program.schedule().ranks()) {
  for (std::atomic<Ticks>& start : start_) start = -1;
  for (std::atomic<Ticks>& end : end_) end = -1;
  for (Rank rank{0}; rank < Rank(schedule().ranks()); ++rank)
    work_.push_back(work.rank_work(schedule(), rank));
}

void RunState::begin(Rank rank, int step, std::size_t instruction, Progress::Doing doing) {
  Progress& progress = progress_[rank.at()];
  progress.doing = Progress::Doing::Waiting;  // no moment with a new clock and an old deed
  progress.since = clock_.now();
  progress.step = step;
  progress.instruction = instruction;
  progress.doing = doing;
}

void RunState::record(std::size_t op, int step, Ticks start, Ticks end) {
  start_[index(op, step)] = start;
  end_[index(op, step)] = end;
}

std::string RunState::instruction_text(Rank rank, std::size_t instruction) const {
  if (instruction >= program_.instructions(rank).size()) return "the barrier between steps";
  const auto& what = program_.instructions(rank)[instruction];
  if (what.code != Program::Code::Run) {
    std::string ends;
    for (const Endpoint& end : program_.batch(what.index)) {
      const MessageInfo& info = program_.messages()[end.message];
      ends +=
          fmt::format("{}{}{}{}{}", ends.empty() ? "" : ",", end.is_send ? 's' : 'r', to_text(info.producer),
                      end.is_send ? '>' : '<', (end.is_send ? info.to_rank : info.from_rank).value());
    }
    return fmt::format("{} [{}]", what.code == Program::Code::Post ? "post" : "wait", ends);
  }
  std::size_t last = what.index + 1;
  while (schedule().ops()[last - 1].joined()) ++last;
  return entry_text(schedule(), what.index, last);
}

std::string RunState::last_actions(Rank rank) const {
  const Progress& progress = progress_[rank.at()];
  const std::size_t at = progress.instruction;
  std::string text =
      fmt::format("rank {}: step {}, {} {}", rank.value(), progress.step.load(),
                  progress.doing == Progress::Doing::Computing ? "in" : "at", instruction_text(rank, at));
  for (std::size_t back = 1; back <= std::min(kTold, at); ++back)
    text += (back == 1 ? "; before it: " : ", ") + instruction_text(rank, at - back);
  return text;
}

void RunState::fail(Rank rank, const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    const Progress& progress = progress_[rank.at()];
    failure_.emplace();
    failure_->message = fmt::format("rank {} failed in step {} at {}: {}", rank.value(), progress.step.load(),
                                    instruction_text(rank, progress.instruction), what);
    for (Rank r{0}; r < Rank(schedule().ranks()); ++r) failure_->last_actions.push_back(last_actions(r));
    stopped_ = true;
    changed_.notify_all();
  }
  exchange_.stop();
  barrier_.stop();
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
  const Ticks timeout = ticks_of_seconds(options_.timeout_seconds);
  const Ticks now = clock_.now();
  const Rank none(-1);
  Rank waiting = none;
  bool all_wait = true;
  Ticks latest = 0;
  for (Rank rank{0}; rank < Rank(schedule().ranks()); ++rank) {
    const Progress& progress = progress_[rank.at()];
    const Progress::Doing doing = progress.doing;
    const Ticks since = progress.since;
    if (doing == Progress::Doing::Computing) {
      all_wait = false;
      if (now - since > timeout)
        return fail(rank, fmt::format("no end after {} s, the timeout", options_.timeout_seconds));
    }
    latest = std::max(latest, since);
    const bool at_barrier = progress.instruction >= program_.instructions(rank).size();
    if (doing == Progress::Doing::Waiting && !at_barrier && waiting == none) waiting = rank;
  }
  if (all_wait && waiting != none && now - latest > timeout)
    fail(waiting,
         fmt::format("no message for {} s, the timeout, while no rank computes", options_.timeout_seconds));
}

void RunState::watch() {
  const std::chrono::duration<double> look_every(std::clamp(options_.timeout_seconds / 8, 0.001, 0.1));
  std::unique_lock lock(mutex_);
  while (running_ > 0 && !failure_) {
    if (changed_.wait_for(lock, look_every, [&] { return running_ == 0 || failure_; })) break;
    lock.unlock();
    look_for_stall();
    lock.lock();
  }
  if (failure_) changed_.wait_for(lock, kGrace, [&] { return running_ == 0; });
}

Timeline RunState::timeline(int first_step, int steps) const {
  Timeline out;
  out.schedule = program_.shared_schedule();
  out.steps = steps;
  out.unit = TimeUnit::Millisecond;
  const std::size_t first = index(0, first_step);
  const std::size_t last = index(0, first_step + steps);
  Ticks origin = -1;
  for (std::size_t i = first; i < last; ++i)
    if (start_[i] >= 0 && (origin < 0 || start_[i] < origin)) origin = start_[i];
  for (std::size_t i = first; i < last; ++i) {
    const bool ended = end_[i] >= 0;
    out.start.push_back(ended ? start_[i] - origin : -1);
    out.end.push_back(ended ? end_[i] - origin : -1);
  }
  return out;
}

void RunState::throw_failure() const {
  const std::lock_guard lock(mutex_);
  if (!failure_) return;
  int begun = 0;
  for (const Progress& progress : progress_) begun = std::max(begun, progress.step + 1);
  throw RunFailed(failure_->message, timeline(0, std::min(begun, all_steps())), failure_->last_actions);
}

RunResult RunState::take_result() {
  RunResult out;
  out.timeline = timeline(options_.warmup_steps, options_.steps);
  const std::vector<MeasuredMessage> all = exchange_.measured();
  const std::size_t warm = program_.messages().size() * static_cast<std::size_t>(options_.warmup_steps);
  out.messages.assign(all.begin() + static_cast<std::ptrdiff_t>(warm), all.end());
  Ticks origin = -1;
  for (std::size_t i = index(0, options_.warmup_steps); i < start_.size(); ++i)
    if (origin < 0 || start_[i] < origin) origin = start_[i];
  for (MeasuredMessage& message : out.messages)
    for (Ticks* time : {&message.sent, &message.received, &message.done}) *time -= origin;
  for (const auto& rank : work_) out.peak_bytes.push_back(rank->peak_bytes());
  out.ranks = std::move(work_);
  return out;
}

}  // namespace pipeloom::executor
