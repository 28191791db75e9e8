#pragma once

// Bodies of queued_layers.hpp, which includes it: ops, steps, and the rehearsal before the first op.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::executor::cuda {

template <class Engine, class T>
std::size_t QueuedLayers<Engine, T>::elements_into(Op op) const {
  return takes_tensor(op, sizes_.stages) ? rows_of(op).size() * shape_.width : 0;
}

template <class Engine, class T>
std::size_t QueuedLayers<Engine, T>::elements_from(Op op) const {
  return gives_tensor(op, sizes_.stages) ? rows_of(op).size() * shape_.width : 0;
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::run(Op op, int step, Buffer input, std::size_t elements, Stream stream)
    -> Buffer {
  begin_step(step, stream);
  const std::size_t local = table_.local_of(op);
  if (elements != elements_into(op))
    throw std::runtime_error(
        fmt::format("{} numbers came for {}, which takes {}", elements, to_text(op), elements_into(op)));
  table_.advance(op);
  Pass& pass = passes_[table_.pass_of(op)];
  input.free_on(stream);
  for_each_kept(pass, [&](Buffer& buffer) { buffer.free_on(stream); });
  Buffer out = dispatch(op, stages_[local], pass, std::move(input), stream);
  count_bytes(pass);
  return out;
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::begin_step(int step, Stream stream) {
  if (step == step_) return;
  step_ = step;
  table_.begin_step();
  for (StageCopy& stage : stages_) {
    engine_.wait(stream, stage.added);
    engine_.clear(stage.gradient.data(), stage.gradient.bytes(), stream);
    engine_.record(stage.added, stream);
  }
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::dispatch(Op op, StageCopy& stage, Pass& pass, Buffer input, Stream stream)
    -> Buffer {
  switch (op.kind()) {
    case OpKind::Forward:
      return forward(op, stage, pass, std::move(input), stream);
    case OpKind::Recompute:
      run_again(op, stage, pass, stream);
      break;
    case OpKind::Backward:
    case OpKind::BackwardInput:
      return backward(op, stage, pass, std::move(input), stream);
    case OpKind::BackwardWeight:
      while (!pass.tapes.empty()) add_weight_gradient(op, stage, pass.tapes, stream);
      break;
    case OpKind::Offload:
      offload(pass, stream);
      break;
    case OpKind::Reload:
      reload(pass, stream);
      break;
    case OpKind::Output:
    case OpKind::OutputWeight:
      throw InternalError("layers: no program runs S or T");
  }
  return {};
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::forward(Op op, const StageCopy& stage, Pass& pass, Buffer input, Stream stream)
    -> Buffer {
  Buffer x = std::move(input);
  if (op.stage() == Stage(0)) {
    const T* rows = inputs_[op.microbatch().at()].template as<T>() + rows_of(op).first * shape_.width;
    x = copy_of(rows, rows_of(op).size() * shape_.width * sizeof(T), stream);
  }
  const PassState state = table_.state_of(table_.pass_of(op));
  if (table_.is_recomputed(table_.pass_of(op))) pass.input = copy_of(x.data(), x.bytes(), stream);
  std::vector<Tape> tapes;
  Buffer y = through_blocks(op, stage, std::move(x), tapes, stream);
  if (is_last(op)) subtract_target(op, y, losses_.template as<double>() + table_.unit_of(op), stream);
  if (state == PassState::Kept) pass.tapes = std::move(tapes);
  if (!is_last(op)) return y;
  if (state == PassState::Kept) pass.error = std::move(y);
  return {};
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::run_again(Op op, const StageCopy& stage, Pass& pass, Stream stream) {
  Buffer y = through_blocks(op, stage, std::exchange(pass.input, {}), pass.tapes, stream);
  if (!is_last(op)) return;
  subtract_target(op, y, nullptr, stream);  // the loss itself is known since F
  pass.error = std::move(y);
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::through_blocks(Op op, const StageCopy& stage, Buffer x,
                                             std::vector<Tape>& tapes, Stream stream) -> Buffer {
  tapes.resize(static_cast<std::size_t>(config_.blocks));
  for (std::size_t at = 0; at < tapes.size(); ++at)
    x = block(op, stream).forward(stage.weights(shape_, at), std::move(x), tapes[at]);
  return x;
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::subtract_target(Op op, Buffer& y, double* loss, Stream stream) {
  const std::size_t rows = rows_of(op).size();
  const float* target =
      targets_[op.microbatch().at()].template as<float>() + rows_of(op).first * shape_.width;
  Buffer by_row;
  if (loss != nullptr) by_row = engine_.allocate(rows * sizeof(double), stream);
  engine_.for_rows(SquaredError<T>{shape_.width, target, y.template as<T>(), by_row.template as<double>()},
                   rows, stream);
  if (loss != nullptr) engine_.for_rows(Total{rows, by_row.template as<double>(), loss}, 1, stream);
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::backward(Op op, StageCopy& stage, Pass& pass, Buffer input, Stream stream)
    -> Buffer {
  Buffer e = is_last(op) ? std::exchange(pass.error, {}) : std::move(input);
  for (std::size_t at = pass.tapes.size(); at-- > 0;) {
    e = block(op, stream).input_gradient(stage.weights(shape_, at), std::move(e), pass.tapes[at]);
    if (op.kind() == OpKind::Backward) add_weight_gradient(op, stage, pass.tapes, stream);
  }
  if (op.stage() == Stage(0)) return {};
  return e;
}

/// Adds the gradient of the last of the blocks, whose tape it frees.
template <class Engine, class T>
void QueuedLayers<Engine, T>::add_weight_gradient(Op op, StageCopy& stage, std::vector<Tape>& tapes,
                                                  Stream stream) {
  engine_.wait(stream, stage.added);
  block(op, stream).weight_gradient(tapes.back(), stage.slopes(shape_, tapes.size() - 1));
  engine_.record(stage.added, stream);
  tapes.pop_back();
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::copy_of(const void* from, std::size_t bytes, Stream stream) -> Buffer {
  Buffer out = engine_.allocate(bytes, stream);
  engine_.copy(out.data(), from, bytes, stream);
  return out;
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::take_space(std::size_t bytes) -> HostSpace {
  // The smallest that is large enough, so that large ones stay free for the passes that need them.
  auto found = spaces_.end();
  for (auto space = spaces_.begin(); space != spaces_.end(); ++space)
    if (space->memory.bytes() >= bytes &&
        (found == spaces_.end() || space->memory.bytes() < found->memory.bytes()))
      found = space;
  if (found == spaces_.end()) return {engine_.allocate_host(bytes), {}};
  HostSpace space = std::move(*found);
  spaces_.erase(found);
  return space;
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::offload(Pass& pass, Stream stream) {
  std::size_t total = 0;
  for_each_kept(pass, [&](const Buffer& buffer) { total += buffer.bytes(); });
  pass.host = take_space(total);
  engine_.wait(stream, pass.host.read);
  auto* to = static_cast<std::byte*>(pass.host.memory.data());
  for_each_kept(pass, [&](Buffer& buffer) {
    pass.sizes.push_back(buffer.bytes());
    if (!buffer.empty()) engine_.copy(to, buffer.data(), buffer.bytes(), stream);
    to += buffer.bytes();
    buffer = Buffer();
  });
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::reload(Pass& pass, Stream stream) {
  auto size = pass.sizes.begin();
  auto* from = static_cast<const std::byte*>(pass.host.memory.data());
  for_each_kept(pass, [&](Buffer& buffer) {
    if (*size > 0) buffer = copy_of(from, *size, stream);
    from += *size++;
  });
  pass.sizes.clear();
  engine_.record(pass.host.read, stream);
  spaces_.push_back(std::exchange(pass.host, {}));
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::count_bytes(Pass& pass) {
  std::size_t bytes = 0;
  for_each_kept(pass, [&](const Buffer& buffer) { bytes += buffer.bytes(); });
  held_bytes_ = held_bytes_ - std::exchange(pass.bytes, bytes) + bytes;
  peak_bytes_ = std::max(peak_bytes_, held_bytes_);
}

template <class Engine, class T>
std::span<float> QueuedLayers<Engine, T>::weight_gradient(std::size_t local, Stream stream) {
  const StageCopy& stage = stages_[local];
  engine_.wait(stream, stage.added);
  return {stage.gradient.template as<float>(), stage.elements};
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::add(std::span<const float> from, std::span<float> to, Stream stream) {
  engine_.for_cells(AddTo{from.data(), to.data()}, 1, to.size(), stream);
}

template <class Engine, class T>
RankGradients QueuedLayers<Engine, T>::gradients() const {
  RankGradients out;
  for (const StageCopy& stage : stages_) {
    std::vector<float>& slot = out.slots.emplace_back(stage.elements);
    engine_.download(slot.data(), stage.gradient.data(), stage.gradient.bytes());
  }
  out.losses.resize(table_.units());
  engine_.download(out.losses.data(), losses_.data(), losses_.bytes());
  return out;
}

template <class Engine, class T>
QueuedLayers<Engine, T>::QueuedLayers(Engine& engine, const LayersConfig& config, const Schedule& schedule,
                                      Rank rank)
    : engine_(engine),
      config_(config),
      shape_(config.block()),
      sizes_(sizes_of(schedule)),
      table_(schedule, rank) {
  for (const Slot slot : table_.slots()) {
    StageCopy& copy = stages_.emplace_back();
    const std::vector<float> parameters = stage_parameters(config, schedule.placement().stage_of(slot));
    copy.elements = parameters.size();
    copy.parameters = upload_as_t(parameters);
    const std::vector<float> zeros(parameters.size());
    copy.gradient = engine_.upload(zeros.data(), zeros.size() * sizeof(float));
  }
  passes_.resize(table_.size());
  upload_rows(schedule);
  const std::vector<double> zeros(table_.units());
  losses_ = engine_.upload(zeros.data(), zeros.size() * sizeof(double));
  if (stages_.empty()) return;
  std::size_t tape_bytes = 0;
  for (int slice = 0; slice < sizes_.slices; ++slice)
    tape_bytes = std::max(tape_bytes, rehearse(rows_of_slice(config_, slice, sizes_.slices).size()));
  take_host_memory(schedule.queue(rank), tape_bytes);
}

template <class Engine, class T>
std::size_t QueuedLayers<Engine, T>::rehearse(std::size_t rows) {
  const Stream stream = engine_.own_stream();
  const StageCopy& stage = stages_.front();
  const auto zeros = [&](std::size_t bytes) {
    Buffer buffer = engine_.allocate(bytes, stream);
    engine_.clear(buffer.data(), bytes, stream);
    return buffer;
  };
  QueuedBlock<Engine, T> block(engine_, shape_, rows, stream);
  Tape tape;
  Buffer x = block.forward(stage.weights(shape_, 0), zeros(rows * shape_.width * sizeof(T)), tape);
  std::size_t tape_bytes = 0;
  for_each_buffer(tape, [&](const Buffer& buffer) { tape_bytes += buffer.bytes(); });
  const Buffer target = zeros(rows * shape_.width * sizeof(float));
  const Buffer by_row = zeros(rows * sizeof(double));
  const Buffer loss = zeros(sizeof(double));
  engine_.for_rows(SquaredError<T>{shape_.width, target.template as<float>(), x.template as<T>(),
                                   by_row.template as<double>()},
                   rows, stream);
  engine_.for_rows(Total{rows, by_row.template as<double>(), loss.template as<double>()}, 1, stream);
  x = block.input_gradient(stage.weights(shape_, 0), std::move(x), tape);
  block.weight_gradient(tape, stage.slopes(shape_, 0));
  add(stage.slopes(shape_, 0), stage.slopes(shape_, 0), stream);
  engine_.clear(stage.gradient.data(), stage.gradient.bytes(), stream);
  double ended = 0;
  engine_.download(&ended, loss.data(), sizeof ended);
  return tape_bytes;
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::take_host_memory(std::span<const Op> queue, std::size_t tape_bytes) {
  const std::size_t tensor =
      rows_of_slice(config_, sizes_.slices - 1, sizes_.slices).size() * shape_.width * sizeof(T);
  // The most passes that are away at once: those whose input alone is kept, and the others.
  std::array<std::size_t, 2> now{};
  std::array<std::size_t, 2> most{};
  std::vector<bool> is_whole(passes_.size());
  for (std::size_t pass = 0; pass < passes_.size(); ++pass) is_whole[pass] = !table_.is_recomputed(pass);
  for (const Op op : queue) {
    const std::size_t pass = table_.pass_of(op);
    const PassStep& step = row_of(op.kind()).pass;
    if (step.to == PassState::Kept) is_whole[pass] = true;
    const std::size_t which = is_whole[pass] ? 1 : 0;
    if (step.to_host) most[which] = std::max(most[which], ++now[which]);
    if (step.from_host) --now[which];
  }
  const std::size_t whole = static_cast<std::size_t>(config_.blocks) * tape_bytes + tensor;
  for (std::size_t i = 0; i < most[0]; ++i) spaces_.push_back({engine_.allocate_host(tensor), {}});
  for (std::size_t i = 0; i < most[1]; ++i) spaces_.push_back({engine_.allocate_host(whole), {}});
}

template <class Engine, class T>
auto QueuedLayers<Engine, T>::upload_as_t(std::span<const float> values) -> Buffer {
  std::vector<T> narrow;
  narrow.reserve(values.size());
  for (const float value : values) narrow.push_back(narrowed<T>(value));
  return engine_.upload(narrow.data(), narrow.size() * sizeof(T));
}

template <class Engine, class T>
void QueuedLayers<Engine, T>::upload_rows(const Schedule& schedule) {
  inputs_.resize(static_cast<std::size_t>(sizes_.microbatches));
  targets_.resize(inputs_.size());
  const RowRange all{0, static_cast<std::size_t>(config_.rows)};
  for (Microbatch k{0}; k < Microbatch(sizes_.microbatches); ++k)
    for (const Slot slot : table_.slots()) {
      if (schedule.placement().replica_of(slot) != schedule.replica_of(k)) continue;
      const Stage stage = schedule.placement().stage_of(slot);
      if (stage == Stage(0)) inputs_[k.at()] = upload_as_t(input_rows(config_, k, all));
      if (stage.value() + 1 != sizes_.stages) continue;
      const Tensor target = target_rows(config_, k, all);
      targets_[k.at()] = engine_.upload(target.data(), target.size() * sizeof(float));
    }
}

}  // namespace pipeloom::executor::cuda
