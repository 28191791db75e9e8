#pragma once

// Bodies of queued_layers.hpp, which includes it: what happens before the first op.

namespace pipeloom::executor::cuda {

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
  // Of passes whose input alone is kept, and of the others: most that are away at once.
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
