#include "executor/cuda/run/device_runner.hpp"

#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "executor/cuda/run/device_reduction.hpp"
#include "executor/cuda/run/range_names.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::cuda {
namespace {

using Code = Program::Code;
using Doing = Progress::Doing;

/// Pause between two looks of the host at the device. It measures nothing: events have their own times.
constexpr std::chrono::microseconds kLook{50};

/// A named span on this thread for profilers that read NVTX (Nsight Systems): work that is queued while it lives belongs to it.
class TraceRange {
 public:
  explicit TraceRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
  ~TraceRange() { nvtxRangePop(); }
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace

DeviceRunner::DeviceRunner(RunState& state, DeviceExchange& exchange, DeviceClock& clock, Rank rank)
    : state_(state),
      exchange_(exchange),
      clock_(clock),
      device_rank_(device_rank(state, rank)),
      schedule_(state.schedule()),
      rank_(rank),
      tensors_(state.program()),
      compute_(device_rank_.compute.get()),
      second_(device_rank_.second.get()),
      copies_(device_rank_.copies.get()),
      together_(state.options().groups == GroupRule::Together),
      times_(schedule_.queue(rank).size()) {
  for (const auto& [code, index] : state.program().instructions(rank)) {
    marks_.emplace_back();
    if (code != Code::Run) marks_.back().emplace();
  }
}

DeviceRunner::~DeviceRunner() {
  try {
    for (cudaStream_t stream : {compute_, second_, copies_})
      while (!is_idle(stream)) std::this_thread::sleep_for(kLook);
  } catch (const std::exception&) {
    // It failed, and the failure was reported: it will do nothing more.
  }
}

void DeviceRunner::run() {
  for (int step = 0; step < state_.all_steps(); ++step) {
    meet(step);
    try {
      run_step(step);
    } catch (...) {
      // The times of the step so far are kept, whatever ended it; a device that failed reports nothing any more.
      try {
        collect(queued_, step);
      } catch (const std::exception&) {
      }
      throw;
    }
    exchange_.collect(rank_, step, clock_.now());
    meet(step);
    device_rank_.end_step(step);
  }
}

void DeviceRunner::meet(int step) {
  state_.begin(rank_, step, marks_.size(), Doing::Waiting);
  if (!state_.barrier().arrive_and_wait()) throw Stopped();
}

void DeviceRunner::run_step(int step) {
  queued_ = 0;
  if (!clock_.begin_step(step, compute_, state_.clock(), [&] { return state_.stopped(); })) throw Stopped();
  for (; queued_ < marks_.size(); ++queued_) {
    if (state_.stopped()) throw Stopped();
    state_.begin(rank_, step, queued_, Doing::Computing);
    if (state_.options().before_instruction) state_.options().before_instruction(rank_, queued_);
    queue(queued_, step);
  }
  reloads_.clear();
  state_.begin(rank_, step, marks_.size(), Doing::Waiting);
  if (!queue_replica_reduction(state_, exchange_, rank_, compute_)) throw Stopped();
  wait_for_device(step);
  collect(queued_, step);
}

void DeviceRunner::queue(std::size_t instruction, int step) {
  const auto [code, index] = state_.program().instructions(rank_)[instruction];
  if (code == Code::Run) run_entry(index, step);
  if (code == Code::Post) post(instruction, step);
  if (code != Code::Wait) return;
  state_.begin(rank_, step, instruction, Doing::Waiting);
  wait(instruction, step);
}

void DeviceRunner::run_entry(std::size_t first, int step) {
  const std::size_t last = end_of_entry(schedule_, first);
  const TraceRange range(range_name(schedule_, first, last));
  if (is_copy(schedule_.ops()[first].kind())) return run_copy(first, step);
  for (std::size_t op = first; op < last; ++op) wait_for_reload(schedule_.ops()[op]);
  if (last - first > 1 && together_) return run_together(first, last, step);
  for (std::size_t op = first; op < last; ++op) run_alone(op, step);
}

void DeviceRunner::queue_op(std::size_t op, int step, DeviceTensor input, cudaStream_t stream) {
  input.buffer.free_on(stream);
  tensors_.keep_output(op, device_rank_.work->run(schedule_.ops()[op], step, std::move(input), stream));
}

void DeviceRunner::run_alone(std::size_t op, int step) {
  DeviceTensor input = tensors_.input_of(op);
  times(op).start.record(compute_);
  queue_op(op, step, std::move(input), compute_);
  times(op).end.record(compute_);
}

void DeviceRunner::run_together(std::size_t first, std::size_t last, int step) {
  // All inputs first: no part waits for another's output.
  std::vector<DeviceTensor> inputs;
  for (std::size_t op = first; op < last; ++op) inputs.push_back(tensors_.input_of(op));
  cudaStream_t streams[] = {compute_, second_};
  for (std::size_t op = first; op < last; ++op) times(op).start.record(streams[0]);
  wait_for(streams[1], times(last - 1).start.get());
  for (std::size_t op = first; op < last; ++op)
    queue_op(op, step, std::move(inputs[op - first]), streams[op == first ? 0 : 1]);
  fork_.record(streams[1]);
  wait_for(streams[0], fork_.get());
  for (std::size_t op = first; op < last; ++op) times(op).end.record(streams[0]);
}

void DeviceRunner::run_copy(std::size_t op, int step) {
  // The tensors that it moves, and for L the place that it moves them into, are ready when all earlier entries are done.
  fork_.record(compute_);
  wait_for(copies_, fork_.get());
  times(op).start.record(copies_);
  queue_op(op, step, {}, copies_);
  times(op).end.record(copies_);
  if (kAwaitedCopies.has(schedule_.ops()[op].kind()))
    reloads_[reload_key(schedule_.ops()[op])] = times(op).end.get();
}

void DeviceRunner::wait_for_reload(Op op) {
  const auto found = reloads_.find(reload_key(op));
  if (found == reloads_.end()) return;
  wait_for(compute_, found->second);
  reloads_.erase(found);
}

void DeviceRunner::post(std::size_t instruction, int step) {
  const std::uint32_t batch = state_.program().instructions(rank_)[instruction].index;
  marks_[instruction]->end.record(compute_);
  exchange_.post(rank_, batch, step, tensors_.take_sends(batch), marks_[instruction]->end.get());
}

void DeviceRunner::wait(std::size_t instruction, int step) {
  const std::uint32_t batch = state_.program().instructions(rank_)[instruction].index;
  Mark& mark = *marks_[instruction];
  mark.start.record(compute_);
  if (!exchange_.wait(rank_, batch, step, compute_, mark.start.get())) throw Stopped();
  mark.end.record(compute_);
  tensors_.keep_received(batch, [&](MessageId message) { return exchange_.take(message, step); });
}

bool DeviceRunner::has_begun(std::size_t instruction) {
  const auto [code, index] = state_.program().instructions(rank_)[instruction];
  return code == Code::Run ? has_happened(times(index).start.get()) : code == Code::Post;
}

bool DeviceRunner::is_done(std::size_t instruction) {
  const auto [code, index] = state_.program().instructions(rank_)[instruction];
  return has_happened(code == Code::Run ? times(end_of_entry(schedule_, index) - 1).end.get()
                                        : marks_[instruction]->end.get());
}

void DeviceRunner::wait_for_device(int step) {
  const auto is_copy_at = [&](std::size_t instruction) {
    const auto [code, index] = state_.program().instructions(rank_)[instruction];
    return code == Code::Run && is_copy(schedule_.ops()[index].kind());
  };
  // Copies last: no later work waits for their end.
  for (const bool copies : {false, true})
    for (std::size_t i = 0; i < marks_.size(); ++i)
      if (is_copy_at(i) == copies) wait_for_instruction(i, step);
  state_.begin(rank_, step, marks_.size(), Doing::Waiting);
  // The reduction runs after the last entry; is_done() comes first, since it throws if the network failed.
  while (!exchange_.is_done(rank_) || !is_idle(compute_)) pause();
}

void DeviceRunner::wait_for_instruction(std::size_t instruction, int step) {
  if (is_done(instruction)) return;
  const bool is_wait = state_.program().instructions(rank_)[instruction].code == Code::Wait;
  bool begun = has_begun(instruction);
  state_.begin(rank_, step, instruction, is_wait ? Doing::Waiting : Doing::Computing);
  while (!is_done(instruction)) {
    static_cast<void>(exchange_.is_done(rank_));  // throws if the network failed
    pause();
    if (begun || !has_begun(instruction)) continue;
    // Its time starts now, not when the host got here.
    begun = true;
    state_.begin(rank_, step, instruction, is_wait ? Doing::Waiting : Doing::Computing);
  }
}

void DeviceRunner::pause() {
  if (state_.stopped()) throw Stopped();
  std::this_thread::sleep_for(kLook);
}

void DeviceRunner::collect(std::size_t queued, int step) {
  for (std::size_t i = 0; i < queued; ++i) {
    const auto [code, index] = state_.program().instructions(rank_)[i];
    if (code != Code::Run || !is_done(i)) continue;
    for (std::size_t op = index; op < end_of_entry(schedule_, index); ++op)
      state_.record(op, step, clock_.now()(times(op).start.get()), clock_.now()(times(op).end.get()));
  }
}

}  // namespace pipeloom::executor::cuda
