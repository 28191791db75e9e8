#include "executor/layers/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "executor/layers/tensor_math.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor {
namespace {

/// Calls fn(tensor) for everything that a pass keeps.
template <class Pass, class Fn>
void for_each_kept(Pass& pass, Fn&& fn) {
  fn(pass.input);
  fn(pass.error);
  for (auto& tape : pass.tapes) for_each_tensor(tape, fn);
  if (!pass.owns_keys) return;
  for (auto& slices : *pass.keys) for_each_key_tensor(slices.front(), fn);
}

template <class Pass>
void move_to_host(Pass& pass) {
  std::size_t total = 0;
  for_each_kept(pass, [&](const Tensor& tensor) { total += tensor.size(); });
  pass.host.reserve(total);
  for_each_kept(pass, [&](Tensor& tensor) {
    pass.host.insert(pass.host.end(), tensor.begin(), tensor.end());
    pass.sizes.push_back(tensor.size());
    Tensor().swap(tensor);
  });
}

template <class Pass>
void move_back(Pass& pass) {
  auto size = pass.sizes.begin();
  auto from = pass.host.cbegin();
  for_each_kept(pass, [&](Tensor& tensor) {
    const auto end = from + static_cast<std::ptrdiff_t>(*size++);
    tensor.assign(from, end);
    from = end;
  });
  Tensor().swap(pass.host);
  pass.sizes.clear();
}

}  // namespace

std::size_t Layers::message_elements(const Schedule& schedule, Op producer) const {
  return rows_of_slice(config_, producer.slice(), schedule.slices()).size() *
         static_cast<std::size_t>(config_.width);
}

std::unique_ptr<RankWork> Layers::rank_work(const Schedule& schedule, Rank rank) {
  require_possible(config_, sizes_of(schedule));
  return std::make_unique<LayerRank>(config_, schedule, rank);
}

LayerRank::LayerRank(const LayersConfig& config, const Schedule& schedule, Rank rank)
    : config_(config),
      sizes_(sizes_of(schedule)),
      rank_(rank),
      losses_(static_cast<std::size_t>(schedule.units())),
      table_(schedule, rank),
      account_(schedule, rank) {
  (void)multiplier_name();  // loads the library that multiplies, while no rank runs yet
  for (const Slot slot : slots()) {
    StageCopy& copy = stages_.emplace_back();
    copy.stage = schedule.placement().stage_of(slot);
    copy.parameters = stage_parameters(config, copy.stage);
    copy.gradient.resize(copy.parameters.size());
  }
  passes_.resize(table_.size());
  if (config.heads > 0) {
    const auto slices = static_cast<std::size_t>(sizes_.slices);
    keys_.assign(passes_.size() / slices, no_keys_yet(config, sizes_.slices));
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      passes_[i].keys = &keys_[i / slices];
      passes_[i].owns_keys = slices == 1;
    }
  }
}

RowRange LayerRank::rows_of(Op op) const {
  return rows_of_slice(config_, op.slice(), sizes_.slices);
}

Payload LayerRank::run(Op op, int step, Payload input) {
  const std::size_t local = table_.local_of(op);
  require_size(op, input);
  Pass& pass = claim(op, step);
  const auto shared = static_cast<std::ptrdiff_t>(shared_bytes(op, pass));
  Payload out = dispatch(op, stages_[local], pass, std::move(input));
  release(op, pass, static_cast<std::ptrdiff_t>(shared_bytes(op, pass)) - shared);
  return out;
}

LayerRank::Pass& LayerRank::claim(Op op, int step) {
  const std::lock_guard lock(mutex_);
  begin_step(step);
  Pass& pass = passes_[table_.pass_of(op)];
  if (pass.in_use)
    throw std::runtime_error(
        fmt::format("rank {} was given {} while another op of its stage and microbatch runs", rank_.value(),
                    to_text(op)));
  if (!slices_are_in_order(op, pass)) table_.refuse(op);
  table_.advance(op);
  pass.in_use = true;
  return pass;
}

void LayerRank::begin_step(int step) {
  if (step == step_) return;
  step_ = step;
  table_.begin_step();
  for (StageCopy& copy : stages_) std::fill(copy.gradient.begin(), copy.gradient.end(), 0.0F);
  std::fill(losses_.begin(), losses_.end(), 0.0);
  account_.begin_step();
}

bool LayerRank::slices_are_in_order(Op op, const Pass& pass) {
  if (pass.keys == nullptr) return true;
  if (op.kind() == OpKind::Forward) return may_go_forward(*pass.keys, op.slice());
  return !carries_gradient(op.kind()) || may_go_backward(*pass.keys, op.slice());
}

void LayerRank::require_size(Op op, const Payload& input) const {
  const std::size_t needed =
      takes_tensor(op, sizes_.stages) ? rows_of(op).size() * static_cast<std::size_t>(config_.width) : 0;
  if (input.values.size() != needed)
    throw std::runtime_error(fmt::format("rank {} was given {} numbers for {}, which takes {}", rank_.value(),
                                         input.values.size(), to_text(op), needed));
}

Payload LayerRank::dispatch(Op op, StageCopy& stage, Pass& pass, Payload input) {
  switch (op.kind()) {
    case OpKind::Forward:
      return run_forward(op, stage, pass, std::move(input));
    case OpKind::Recompute:
      run_again(op, stage, pass);
      break;
    case OpKind::Backward:
    case OpKind::BackwardInput:
      return run_backward(op, stage, pass, std::move(input));
    case OpKind::BackwardWeight: {
      const std::lock_guard lock(*stage.adding);
      stage_weight_gradient(config_, pass.tapes, stage.gradient);
      break;
    }
    case OpKind::Offload:
      move_to_host(pass);
      break;
    case OpKind::Reload:
      move_back(pass);
      break;
    case OpKind::Output:
    case OpKind::OutputWeight:
      throw InternalError("layers: no program runs S or T");
  }
  return {};
}

Payload LayerRank::run_forward(Op op, const StageCopy& stage, Pass& pass, Payload input) {
  Tensor x =
      op.stage() == Stage(0) ? input_rows(config_, op.microbatch(), rows_of(op)) : std::move(input.values);
  if (table_.is_recomputed(table_.pass_of(op))) pass.input = x;
  std::vector<BlockTape> tapes;
  Tensor y = stage_forward(config_, stage.parameters, std::move(x), tapes, {pass.keys, op.slice()});
  if (is_last(op))
    losses_[table_.unit_of(op)] = squared_error(y, target_rows(config_, op.microbatch(), rows_of(op)));
  const PassState state = state_of(op);
  if (state == PassState::Kept) pass.tapes = std::move(tapes);
  drop_keys(op, pass);
  if (!is_last(op)) return {std::move(y)};
  if (state == PassState::Kept) pass.error = std::move(y);
  return {};
}

/// Keys and values that no slice will attend to, or that R makes again.
void LayerRank::drop_keys(Op op, Pass& pass) const {
  const PassState state = state_of(op);
  if (pass.keys == nullptr || state == PassState::Kept) return;
  if (!pass.owns_keys && (state == PassState::Stashed || !is_last_slice(op))) return;
  discard_all(*pass.keys);
}

void LayerRank::run_again(Op op, const StageCopy& stage, Pass& pass) {
  Tensor y = stage_forward(config_, stage.parameters, std::exchange(pass.input, {}), pass.tapes,
                           {pass.keys, op.slice()});
  if (is_last(op)) {
    // The loss itself is known since F.
    static_cast<void>(squared_error(y, target_rows(config_, op.microbatch(), rows_of(op))));
    pass.error = std::move(y);
  }
}

Payload LayerRank::run_backward(Op op, StageCopy& stage, Pass& pass, Payload input) const {
  const Attended attended{pass.keys, op.slice()};
  Tensor e = is_last(op) ? std::exchange(pass.error, {}) : std::move(input.values);
  if (op.kind() == OpKind::BackwardInput) {
    e = stage_input_gradient(config_, stage.parameters, std::move(e), pass.tapes, attended);
  } else {
    const std::lock_guard lock(*stage.adding);
    e = stage_backward(config_, stage.parameters, std::move(e), pass.tapes, stage.gradient, attended);
  }
  if (op.stage() == Stage(0)) return {};
  return {std::move(e)};
}

std::size_t LayerRank::shared_bytes(Op op, const Pass& pass) {
  if (pass.keys == nullptr || pass.owns_keys) return 0;
  const bool may_change = op.kind() == OpKind::Forward || carries_gradient(op.kind());
  return may_change ? bytes_up_to(*pass.keys, op.slice()) : 0;
}

void LayerRank::release(Op op, Pass& pass, std::ptrdiff_t more_shared) {
  std::size_t bytes = 0;
  for_each_kept(pass, [&](const Tensor& tensor) { bytes += tensor.size() * sizeof(float); });
  const std::lock_guard lock(mutex_);
  pass.in_use = false;
  const auto before = static_cast<std::ptrdiff_t>(std::exchange(pass.bytes, bytes));
  account_.change(op, static_cast<std::ptrdiff_t>(bytes) - before + more_shared);
}

RankGradients LayerRank::gradients() const {
  RankGradients out;
  for (const StageCopy& stage : stages_) out.slots.push_back(stage.gradient);
  out.losses = losses_;
  return out;
}

void LayerRank::end_step(int step) {
  table_.require_ended(step);
}

}  // namespace pipeloom::executor
