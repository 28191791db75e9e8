#pragma once

// Bodies of queued_layers.hpp, which includes it: ops and steps.

#include "sim/kinds.hpp"

namespace pipeloom::executor::cuda {

template <class Engine, class T>
std::size_t QueuedLayers<Engine, T>::elements_into(Op op) const {
  const bool takes = (op.kind() == OpKind::Forward && op.stage() != Stage(0)) ||
                     (carries_gradient(op.kind()) && !is_last(op));
  return takes ? rows_of(op).size() * shape_.width : 0;
}

template <class Engine, class T>
std::size_t QueuedLayers<Engine, T>::elements_from(Op op) const {
  const bool gives = (op.kind() == OpKind::Forward && !is_last(op)) ||
                     (carries_gradient(op.kind()) && op.stage() != Stage(0));
  return gives ? rows_of(op).size() * shape_.width : 0;
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

/// Of the last of the blocks, whose tape it frees.
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
  // The smallest that is large enough, so that large ones stay for those who need them.
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

}  // namespace pipeloom::executor::cuda
