#include "sim/orders/search/policy.hpp"

#include <algorithm>

#include "sim/base/table_size.hpp"

namespace pipeloom::orders {
namespace {

Ticks percent_of(Ticks duration, std::int32_t percent) {
  return duration / 100 * percent + duration % 100 * percent / 100;
}

/// Bytes that an I takes beyond what it gives back.
Bytes surplus_of(const StageWork& work) {
  return std::max<Bytes>(work.kept - work.held, 0);
}

}  // namespace

Player::Player(const Problem& problem)
    : problem_(problem),
      counts_(problem.stages.size()),
      ranks_(problem.ranks()),
      forward_end_(table_size(problem.stages.size(), problem.microbatches)),
      input_end_(forward_end_.size()) {
  order_.words.resize(problem.ranks());
  if (!problem.pairs.empty()) order_.pairs.resize(problem.ranks());
  limits_ = problem.limit;
  for (const StageWork& stage : problem.stages)
    if (problem.limit[stage.rank] != kNoLimit)
      limits_[stage.rank] = std::min(limits_[stage.rank], problem.limit[stage.rank] - surplus_of(stage));
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    order_.words[rank].reserve(3 * problem.microbatches * problem.stages_of[rank].size());
}

void Player::restart() {
  std::ranges::fill(counts_, Counts{.next_forward = kMaxTicks, .next_input = kMaxTicks});
  counts_.front().next_forward = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    order_.words[rank].clear();
    if (!order_.pairs.empty()) order_.pairs[rank].clear();
    ranks_[rank] = {
        .left = static_cast<std::int32_t>(3 * problem_.microbatches * problem_.stages_of[rank].size())};
  }
  events_ = {};
  events_.push({0, static_cast<std::uint32_t>(problem_.stages.front().rank)});
}

std::optional<Ticks> Player::play(const Policy& policy, const std::function<bool()>& goes_on) {
  constexpr std::size_t kBetween = std::size_t{1} << 20;
  policy_ = &policy;
  restart();
  for (std::size_t events = 1; !events_.empty(); ++events) {
    if (events % kBetween == 0 && goes_on && !goes_on()) return std::nullopt;
    const Event event = events_.top();
    events_.pop();
    if (ranks_[event.rank].free <= event.time && ranks_[event.rank].left > 0) decide(event.rank, event.time);
  }
  Ticks value = 0;
  mean_ = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].left > 0) return std::nullopt;
    const Ticks late = ranks_[rank].free - problem_.origin[rank];
    value = std::max(value, late);
    mean_ += static_cast<double>(late) / static_cast<double>(ranks_.size());
  }
  return value;
}

/// True if the oldest microbatch that is not through all chunks could still get through when everything that is has drained: what the
/// unfinished ones hold, one more F of `chunk` included, and what that oldest one still has to take fit together.
bool Player::keeps_room(std::size_t rank, std::size_t chunk) const {
  const auto& stages = problem_.stages_of[rank];
  const std::int32_t through = counts_[stages.back()].forwards + (chunk + 1 == stages.size() ? 1 : 0);
  if (through == static_cast<std::int32_t>(problem_.microbatches)) return true;
  Bytes room = limits_[rank];
  for (std::size_t c = 0; c < stages.size(); ++c) {
    const std::int32_t past = counts_[stages[c]].forwards + (c == chunk ? 1 : 0);
    const Bytes claim = problem_.stages[stages[c]].held;
    const Bytes copies = std::max<Bytes>(past - through, 1);
    if (claim > 0 && copies > room / claim) return false;
    room -= claim * copies;
  }
  return true;
}

bool Player::may_forward(std::size_t rank, std::size_t chunk) const {
  if (problem_.limit[rank] == kNoLimit) return true;
  if (problem_.at(rank, chunk).held > limits_[rank] - ranks_[rank].held) return false;
  return problem_.stages_of[rank].size() == 1 || keeps_room(rank, chunk);
}

/// I that take more than they give back wait for the W of those before them. Without W to run they always have room: see limits_.
bool Player::may_input(std::size_t rank, std::size_t chunk) const {
  const Bytes surplus = surplus_of(problem_.at(rank, chunk));
  return surplus == 0 || surplus <= problem_.limit[rank] - ranks_[rank].held;
}

std::size_t Player::ready_forward(std::size_t rank, Ticks now, bool below_target) const {
  const auto& stages = problem_.stages_of[rank];
  for (std::size_t chunk = stages.size(); chunk-- > 0;) {
    const Counts& counts = counts_[stages[chunk]];
    const StagePolicy& policy = policy_->stages[stages[chunk]];
    const std::int32_t between = counts.forwards - counts.inputs;
    if (counts.next_forward <= now &&
        between < (below_target ? std::min(policy.target, policy.cap) : policy.cap) &&
        may_forward(rank, chunk))
      return chunk;
  }
  return kNoChunk;
}

std::size_t Player::ready_input(std::size_t rank, Ticks now) const {
  const auto& stages = problem_.stages_of[rank];
  const bool up = policy_->ranks[rank].shallow_inputs;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::size_t chunk = up ? i : stages.size() - 1 - i;
    if (counts_[stages[chunk]].next_input <= now && may_input(rank, chunk)) return chunk;
  }
  return kNoChunk;
}

std::size_t Player::pending_weight(std::size_t rank) const {
  const auto& stages = problem_.stages_of[rank];
  for (std::size_t chunk = stages.size(); chunk-- > 0;)
    if (counts_[stages[chunk]].weights < counts_[stages[chunk]].inputs) return chunk;
  return kNoChunk;
}

Ticks Player::next_arrival(std::size_t rank, bool inputs_only) const {
  const auto& stages = problem_.stages_of[rank];
  Ticks next = kMaxTicks;
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
    const Counts& counts = counts_[stages[chunk]];
    next = std::min(next, counts.next_input);
    if (!inputs_only && counts.forwards - counts.inputs < policy_->stages[stages[chunk]].cap &&
        may_forward(rank, chunk))
      next = std::min(next, counts.next_forward);
  }
  return next;
}

bool Player::has_blocked_input(std::size_t rank, Ticks now) const {
  const auto& stages = problem_.stages_of[rank];
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk)
    if (counts_[stages[chunk]].next_input <= now && !may_input(rank, chunk)) return true;
  return false;
}

bool Player::blocked_by_memory(std::size_t rank, Ticks now) const {
  const auto& stages = problem_.stages_of[rank];
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
    const Counts& counts = counts_[stages[chunk]];
    if (counts.next_forward <= now && counts.forwards - counts.inputs < policy_->stages[stages[chunk]].cap &&
        !may_forward(rank, chunk))
      return true;
  }
  return false;
}

/// Starts a pair, or waits for the half of one that is known to come soon; false where there is neither.
bool Player::decide_pair(std::size_t rank, Ticks now) {
  const std::size_t input = ready_input(rank, now);
  const std::size_t forward = ready_forward(rank, now, false);
  const auto& stages = problem_.stages_of[rank];
  if (input != kNoChunk && forward != kNoChunk) {
    if (problem_.pair(stages[forward], stages[input]) == kMaxTicks) return false;
    start_pair(rank, forward, input, now);
    return true;
  }
  if (input == kNoChunk && forward == kNoChunk) return false;
  const StageWork& alone = problem_.at(rank, input != kNoChunk ? input : forward);
  const Ticks wait =
      percent_of(input != kNoChunk ? alone.input : alone.forward, policy_->ranks[rank].partner);
  const Ticks next = next_arrival(rank, forward != kNoChunk);
  return next > now && next < now + wait;
}

void Player::decide(std::size_t rank, Ticks now) {
  if (!problem_.pairs.empty() && decide_pair(rank, now)) return;
  const RankPolicy& policy = policy_->ranks[rank];
  const std::size_t input = ready_input(rank, now);
  if (input == kNoChunk && has_blocked_input(rank, now))
    return start(rank, pending_weight(rank), kWeight, now);
  std::size_t forward = ready_forward(rank, now, true);
  if (forward == kNoChunk && input == kNoChunk) forward = ready_forward(rank, now, false);
  const bool yields =
      forward != kNoChunk && input == kNoChunk && policy.yield > 0 &&
      next_arrival(rank, true) <= now + percent_of(problem_.at(rank, forward).forward, policy.yield);
  if (forward != kNoChunk && !yields) return start(rank, forward, kForward, now);
  if (input != kNoChunk) return start(rank, input, kInput, now);
  const std::size_t weight = pending_weight(rank);
  if (weight == kNoChunk) return;  // an arrival wakes the rank
  const Ticks wait = percent_of(problem_.at(rank, weight).weight, policy.patience);
  const bool waits = yields || (next_arrival(rank, false) < now + wait && !blocked_by_memory(rank, now));
  if (!waits || problem_.at(rank, weight).weight == 0) start(rank, weight, kWeight, now);
}

void Player::start(std::size_t rank, std::size_t chunk, Pass pass, Ticks now) {
  const std::size_t stage = problem_.stages_of[rank][chunk];
  const StageWork& work = problem_.stages[stage];
  Counts& counts = counts_[stage];
  RankState& state = ranks_[rank];
  const std::size_t row = stage * problem_.microbatches;
  if (pass == kForward) {
    state.free = now + work.forward;
    state.held += work.held;
    forward_end_[row + static_cast<std::size_t>(counts.forwards++)] = state.free;
    learn_after_forward(stage);
  } else if (pass == kInput) {
    state.free = now + work.input;
    state.held += work.kept - work.held;
    input_end_[row + static_cast<std::size_t>(counts.inputs++)] = state.free;
    learn_after_input(stage);
  } else {
    state.free = now + work.weight;
    state.held -= work.kept;
    ++counts.weights;
  }
  --state.left;
  order_.words[rank].push_back(letter(chunk, pass));
  events_.push({state.free, static_cast<std::uint32_t>(rank)});
}

/// Arrivals that the start of an F of the stage, or of an I, makes known.
void Player::learn_after_forward(std::size_t stage) {
  learn_forward(stage);
  if (stage + 1 < problem_.stages.size()) learn_forward(stage + 1);
  if (stage + 1 == problem_.stages.size()) learn_input(stage);
}

void Player::learn_after_input(std::size_t stage) {
  learn_input(stage);
  if (stage > 0) learn_input(stage - 1);
}

void Player::start_pair(std::size_t rank, std::size_t forward_chunk, std::size_t input_chunk, Ticks now) {
  const std::size_t f = problem_.stages_of[rank][forward_chunk];
  const std::size_t b = problem_.stages_of[rank][input_chunk];
  RankState& state = ranks_[rank];
  auto& word = order_.words[rank];
  order_.pairs[rank].push_back(static_cast<std::uint32_t>(word.size()));
  state.free = now + problem_.pair(f, b);
  state.held += problem_.stages[f].held - problem_.stages[b].held;
  state.left -= 3;
  forward_end_[f * problem_.microbatches + static_cast<std::size_t>(counts_[f].forwards++)] = state.free;
  input_end_[b * problem_.microbatches + static_cast<std::size_t>(counts_[b].inputs++)] = state.free;
  ++counts_[b].weights;
  learn_after_forward(f);
  learn_after_input(b);
  for (const Letter next :
       {letter(forward_chunk, kForward), letter(input_chunk, kInput), letter(input_chunk, kWeight)})
    word.push_back(next);
  events_.push({state.free, static_cast<std::uint32_t>(rank)});
}

/// Sets the arrival of the stage's next F, and wakes its rank then, once what it waits for has started.
void Player::learn_forward(std::size_t stage) {
  Counts& counts = counts_[stage];
  const auto next = static_cast<std::size_t>(counts.forwards);
  const bool known =
      next < problem_.microbatches && (stage == 0 || counts_[stage - 1].forwards > counts.forwards);
  const Ticks before = counts.next_forward;
  counts.next_forward = !known       ? kMaxTicks
                        : stage == 0 ? 0
                                     : forward_end_[(stage - 1) * problem_.microbatches + next] +
                                           problem_.stages[stage].forward_delay;
  if (known && counts.next_forward != before && stage > 0)
    events_.push({counts.next_forward, static_cast<std::uint32_t>(problem_.stages[stage].rank)});
}

/// The same for its next I.
void Player::learn_input(std::size_t stage) {
  Counts& counts = counts_[stage];
  const auto next = static_cast<std::size_t>(counts.inputs);
  const bool last = stage + 1 == problem_.stages.size();
  const bool known = counts.forwards > counts.inputs && (last || counts_[stage + 1].inputs > counts.inputs);
  const Ticks before = counts.next_input;
  const std::size_t row = (last ? stage : stage + 1) * problem_.microbatches;
  counts.next_input = !known ? kMaxTicks
                             : (last ? forward_end_[row + next]
                                     : input_end_[row + next] + problem_.stages[stage].gradient_delay);
  if (known && counts.next_input != before)
    events_.push({counts.next_input, static_cast<std::uint32_t>(problem_.stages[stage].rank)});
}

}  // namespace pipeloom::orders
