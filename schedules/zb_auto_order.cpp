#include "schedules/zb_auto_order.hpp"

#include <algorithm>

namespace pipeloom::schedules {

ZbAutoSearch::ZbAutoSearch(const Terms& terms, int microbatches, std::span<const Bytes> limit)
    : microbatches_(static_cast<std::size_t>(microbatches)) {
  const Costs& costs = terms.costs;
  for (std::size_t r = 0; r < limit.size(); ++r) {
    const Bytes held = terms.memory.activation[r];
    stages_.push_back({costs.duration[index_of(OpKind::Forward)][r],
                       costs.duration[index_of(OpKind::BackwardInput)][r],
                       costs.duration[index_of(OpKind::BackwardWeight)][r], costs.forward_delay[r],
                       costs.backward_delay[r], held, held - terms.memory.released_at_input[r], limit[r]});
  }
  forward_end_.resize(stages_.size() * microbatches_);
  input_end_.resize(stages_.size() * microbatches_);
  queues_.resize(stages_.size() * microbatches_ * 3);
  needs_.resize(stages_.size());
  extra_.resize(stages_.size());
}

std::optional<ZbAutoOrder> ZbAutoSearch::play(std::size_t setting) {
  if (!run(kZbAutoSettings[setting])) return std::nullopt;
  return ZbAutoOrder{queues_, cost(), setting};
}

std::optional<ZbAutoOrder> ZbAutoSearch::best() {
  Ticks least = 0;  // no order is cheaper than the busiest rank's work
  for (const Stage& stage : stages_)
    least = std::max(least, static_cast<Ticks>(microbatches_) * (stage.forward + stage.input + stage.weight));
  std::optional<ZbAutoOrder> found;
  for (std::size_t setting = 0; setting < kZbAutoSettings.size(); ++setting) {
    if (!run(kZbAutoSettings[setting])) continue;
    const Ticks own = cost();
    if (found && own >= found->cost) continue;
    if (!found) found.emplace().queues.resize(queues_.size());
    found->queues.swap(queues_);
    found->cost = own;
    found->setting = setting;
    if (own == least) break;
  }
  return found;
}

bool ZbAutoSearch::run(ZbAutoSetting setting) {
  const std::size_t p = stages_.size();
  ranks_.assign(p, {});
  most_idle_ = 0;
  for (std::size_t r = 0; r < p; ++r)
    if (stages_[r].held > stages_[r].limit) return false;
  warm_up(setting);
  for (std::size_t k = 1; k < microbatches_; ++k) {
    for (std::size_t r = p; r-- > 0;)
      needs_[r] = (r + 1 == p || needs_[r + 1] != 0) && wants_forward(r, setting.input_first) ? 1 : 0;
    for (std::size_t r = 0; r < p; ++r) {
      if (needs_[r] == 0) continue;
      if (!make_room(r, stages_[r].held)) return false;
      fill(r, arrival_of_forward(r), setting.fill_small);
      issue_forward(r);
    }
    for (std::size_t r = p; r-- > 0;) {
      if (r == 0 && static_cast<std::size_t>(ranks_[0].forwards) == microbatches_)
        while (ranks_[0].weight_pending()) issue_weight(0);
      if (!make_room(r, stages_[r].kept - stages_[r].held)) return false;
      fill(r, arrival_of_gradient(r), setting.fill_small);
      issue_input(r);
    }
  }
  for (std::size_t r = 0; r < p; ++r)
    while (ranks_[r].weight_pending()) issue_weight(r);
  return true;
}

/// F of microbatch 0 everywhere, then as many forwards more as fit before a rank's first I, then that I.
void ZbAutoSearch::warm_up(ZbAutoSetting setting) {
  const std::size_t p = stages_.size();
  for (std::size_t r = 0; r < p; ++r) issue_forward(r);
  Ticks first_input = ranks_[p - 1].clock + stages_[p - 1].input;
  extra_[p - 1] = 0;
  for (std::size_t r = p - 1; r-- > 0;) extra_[r] = extra_forwards(r, setting.early, first_input);
  // A rank stays ahead of the next one until it has run all its forwards.
  for (std::size_t r = 1; r < p; ++r) {
    const bool all =
        ranks_[r].forwards + std::int64_t{extra_[r - 1]} == static_cast<std::int64_t>(microbatches_);
    extra_[r] = std::min(extra_[r], all ? extra_[r - 1] : std::max(extra_[r - 1] - 1, 0));
  }
  for (std::size_t r = 0; r < p; ++r)
    for (std::int32_t i = 0; i < extra_[r]; ++i) issue_forward(r);
  for (std::size_t r = p; r-- > 0;) issue_input(r);
}

/// `first_input` is the estimated end of I(r + 1, 0), and becomes that of I(r, 0).
std::int32_t ZbAutoSearch::extra_forwards(std::size_t rank, bool early, Ticks& first_input) const {
  const Stage& stage = stages_[rank];
  const Ticks arrival = first_input + stage.gradient_delay;
  Ticks clock = ranks_[rank].clock;
  Bytes memory = ranks_[rank].memory;
  std::int32_t extra = 0;
  while (ranks_[rank].forwards + std::int64_t{extra} < static_cast<std::int64_t>(microbatches_) &&
         memory + stage.held <= stage.limit && (early ? clock + stage.forward <= arrival : clock < arrival)) {
    clock += stage.forward;
    memory += stage.held;
    ++extra;
  }
  first_input = std::max(clock, arrival) + stage.input;
  return extra;
}

/// True if the rank runs a forward before its next I; false where that would delay the I without need.
bool ZbAutoSearch::wants_forward(std::size_t rank, bool input_first) const {
  const Rank& own = ranks_[rank];
  if (static_cast<std::size_t>(own.forwards) == microbatches_) return false;
  if (!input_first || rank + 1 == ranks_.size()) return true;
  const Rank& next = ranks_[rank + 1];
  if (own.forwards - next.forwards < 2) return true;
  const Stage& following = stages_[rank + 1];
  const Ticks gradient = next.clock + following.forward + following.input + stages_[rank].gradient_delay;
  if (own.clock >= gradient) return false;
  if (own.clock + stages_[rank].forward + time_to_fit(rank) <= gradient) return true;
  return gradient - own.clock > most_idle_ - own.idle;
}

/// Time of the W's that must run before the rank has room for one more forward.
Ticks ZbAutoSearch::time_to_fit(std::size_t rank) const {
  const Stage& stage = stages_[rank];
  const Bytes over = ranks_[rank].memory + stage.held - stage.limit;
  if (over <= 0 || stage.kept <= 0) return 0;
  return (over + stage.kept - 1) / stage.kept * stage.weight;
}

/// Runs W's until `wanted` bytes fit; false if they never do.
bool ZbAutoSearch::make_room(std::size_t rank, Bytes wanted) {
  while (ranks_[rank].memory + wanted > stages_[rank].limit) {
    if (!ranks_[rank].weight_pending()) return false;
    issue_weight(rank);
  }
  return true;
}

/// W's that fit wholly before `arrival`, and one that does not if the gap would make the rank the idlest, or if small gaps are filled
/// too.
void ZbAutoSearch::fill(std::size_t rank, Ticks arrival, bool small_too) {
  Rank& own = ranks_[rank];
  while (own.weight_pending() && own.clock + stages_[rank].weight <= arrival) issue_weight(rank);
  if (!own.weight_pending() || own.clock >= arrival) return;
  if (small_too || arrival - own.clock > most_idle_ - own.idle) issue_weight(rank);
}

void ZbAutoSearch::issue_forward(std::size_t rank) {
  Rank& own = ranks_[rank];
  idle_until(rank, arrival_of_forward(rank));
  own.clock += stages_[rank].forward;
  own.memory += stages_[rank].held;
  put(rank, OpKind::Forward);
  forward_end_[rank * microbatches_ + static_cast<std::size_t>(own.forwards++)] = own.clock;
}

void ZbAutoSearch::issue_input(std::size_t rank) {
  Rank& own = ranks_[rank];
  idle_until(rank, arrival_of_gradient(rank));
  own.clock += stages_[rank].input;
  own.memory += stages_[rank].kept - stages_[rank].held;
  put(rank, OpKind::BackwardInput);
  input_end_[rank * microbatches_ + static_cast<std::size_t>(own.inputs++)] = own.clock;
}

void ZbAutoSearch::issue_weight(std::size_t rank) {
  Rank& own = ranks_[rank];
  own.clock += stages_[rank].weight;
  own.memory -= stages_[rank].kept;
  put(rank, OpKind::BackwardWeight);
  ++own.weights;
}

/// Appends to the rank's queue. REQUIRES: the counts do not have the op yet.
void ZbAutoSearch::put(std::size_t rank, OpKind kind) {
  const Rank& own = ranks_[rank];
  queues_[rank * 3 * microbatches_ + static_cast<std::size_t>(own.forwards + own.inputs + own.weights)] =
      kind;
}

void ZbAutoSearch::idle_until(std::size_t rank, Ticks when) {
  Rank& own = ranks_[rank];
  if (when <= own.clock) return;
  if (own.forwards > 0) {
    own.idle += when - own.clock;
    most_idle_ = std::max(most_idle_, own.idle);
  }
  own.clock = when;
}

Ticks ZbAutoSearch::arrival_of_forward(std::size_t rank) const {
  if (rank == 0) return 0;
  return forward_end_[(rank - 1) * microbatches_ + static_cast<std::size_t>(ranks_[rank].forwards)] +
         stages_[rank].forward_delay;
}

Ticks ZbAutoSearch::arrival_of_gradient(std::size_t rank) const {
  if (rank + 1 == stages_.size()) return 0;
  return input_end_[(rank + 1) * microbatches_ + static_cast<std::size_t>(ranks_[rank].inputs)] +
         stages_[rank].gradient_delay;
}

Ticks ZbAutoSearch::cost() const {
  Ticks longest = 0;
  for (std::size_t r = 0; r < stages_.size(); ++r)
    longest = std::max(longest, ranks_[r].clock - (forward_end_[r * microbatches_] - stages_[r].forward));
  return longest;
}

}  // namespace pipeloom::schedules
