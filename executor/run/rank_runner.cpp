#include "executor/run/rank_runner.hpp"

#include <algorithm>
#include <utility>

#include "executor/run/replica_reduction.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor {
namespace {

using Doing = Progress::Doing;

/// Takes the entry of `key` out of `map`; nothing if there is none.
template <class Key>
Payload take_from(std::unordered_map<Key, Payload>& map, Key key) {
  const auto found = map.find(key);
  if (found == map.end()) return {};
  Payload payload = std::move(found->second);
  map.erase(found);
  return payload;
}

template <class Predicate>
bool any_of(const Schedule& schedule, Rank rank, Predicate predicate) {
  const auto queue = schedule.queue(rank);
  return std::any_of(queue.begin(), queue.end(), predicate);
}

/// The same for all ops of a pass: for its L, and those that wait for it.
std::uint64_t pass_key(Op op) {
  return op.as(OpKind::Forward).key();
}

}  // namespace

RankRunner::RankRunner(RunState& state, Rank rank)
    : state_(state),
      schedule_(state.schedule()),
      messages_(state.program().messages()),
      rank_(rank),
      tensors_(schedule_) {
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
      // At once: the rank may stand waiting for another one.
      state_.fail_copy(rank_, error.what());
    } catch (...) {
      state_.fail_copy(rank_, "an exception of unknown type");
    }
    state_.end_copy(rank_);
  });
  if (kAwaitedCopies.has(op.kind())) reloads_[pass_key(op)] = last_copy_;
}

void RankRunner::wait_for_reloads(std::size_t at, int step) {
  if (reloads_.empty()) return;
  Companion::Ticket latest = 0;
  for (std::size_t op = state_.program().instructions(rank_)[at].index;; ++op) {
    const Op one = schedule_.ops()[op];
    const auto found = reloads_.find(pass_key(one));
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

Payload RankRunner::input_of(std::size_t op) {
  const MessageId message = messages_.needed_by(op);
  if (message != kNoMessage) return take_from(received_, message);
  const OpKind kind = schedule_.ops()[op].kind();
  if (kind != OpKind::Forward && !carries_gradient(kind)) return {};
  return take_from(local_, tensors_.input_of(schedule_.ops()[op]));
}

void RankRunner::keep_output(std::size_t op, Payload output) {
  const MessageId message = messages_.sent_by(op);
  if (message != kNoMessage)
    to_be_sent_[message] = std::move(output);
  else if (!output.values.empty())
    local_[tensors_.output_of(schedule_.ops()[op])] = std::move(output);
}

void RankRunner::run_entry(std::size_t first, int step) {
  std::size_t last = first + 1;
  while (schedule_.ops()[last - 1].joined()) ++last;
  if (last - first > 1 && companion_) return run_together(first, last, step);
  for (std::size_t op = first; op < last; ++op) {
    Payload input = input_of(op);
    const Ticks start = state_.clock().now();
    Payload output = state_.work(rank_).run(schedule_.ops()[op], step, std::move(input));
    state_.record(op, step, start, state_.clock().now());
    keep_output(op, std::move(output));
  }
}

void RankRunner::run_together(std::size_t first, std::size_t last, int step) {
  std::vector<Payload> inputs;
  for (std::size_t op = first; op < last; ++op) inputs.push_back(input_of(op));
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
    keep_output(op, std::move(outputs[op - first]));
  }
}

void RankRunner::post(std::uint32_t batch, int step) {
  std::vector<Payload> sends;
  for (const Endpoint& end : state_.program().batch(batch))
    if (end.is_send) sends.push_back(take_from(to_be_sent_, end.message));
  state_.exchange().post(rank_, batch, step, std::move(sends));
}

void RankRunner::wait(std::uint32_t batch, int step) {
  if (!state_.exchange().wait(rank_, batch, step)) throw Stopped();
  for (const Endpoint& end : state_.program().batch(batch))
    if (!end.is_send)
      received_[end.message] = state_.exchange().take(end.message, step, state_.elements(end.message));
}

}  // namespace pipeloom::executor
