#include "support/random_problem.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/kinds.hpp"

namespace pipeloom::test {
namespace {

/// Runs the model in a random order and writes down what ran where.
class RandomRun {
 public:
  RandomRun(Random& random, const Placement& placement, int microbatches,
            const std::vector<std::uint8_t>& replicas)
      : random_(random),
        stages_(placement.stages()),
        microbatches_(microbatches),
        queues_(static_cast<std::size_t>(placement.ranks())),
        ready_(queues_.size()) {
    for (int s = 0; s < stages_; ++s)
      for (int k = 0; k < microbatches; ++k) {
        const Replica replica(replicas.empty() ? 0 : replicas[static_cast<std::size_t>(k)]);
        home_.push_back(placement.rank_of(Stage(s), replica));
        splits_.push_back(random.chance(50));
      }
    for (int k = 0; k < microbatches; ++k) wake(forward(Stage(0), Microbatch(k)));
  }

  std::vector<std::vector<Op>> run(int group_percent) && {
    for (;;) {
      std::vector<std::size_t> runnable;
      for (std::size_t r = 0; r < ready_.size(); ++r)
        if (!ready_[r].empty()) runnable.push_back(r);
      if (runnable.empty()) return std::move(queues_);
      run_entry(runnable[static_cast<std::size_t>(random_.below(static_cast<int>(runnable.size())))],
                group_percent);
    }
  }

 private:
  [[nodiscard]] std::size_t cell(Stage s, Microbatch k) const {
    return s.at() * static_cast<std::size_t>(microbatches_) + k.at();
  }
  void wake(Op op) { ready_[home_[cell(op.stage(), op.microbatch())].at()].push_back(op); }

  Op take(std::size_t rank) {
    auto& list = ready_[rank];
    const auto at = list.begin() + random_.below(static_cast<int>(list.size()));
    const Op op = *at;
    list.erase(at);
    return op;
  }

  /// Ops that can run now do not depend on each other, so any of them may overlap.
  void run_entry(std::size_t rank, int group_percent) {
    std::vector<Op> entry = {take(rank)};
    while (entry.size() < 3 && !ready_[rank].empty() && random_.chance(group_percent))
      entry.push_back(take(rank));
    for (std::size_t i = 0; i < entry.size(); ++i)
      queues_[rank].push_back(entry[i].with_joined(i + 1 < entry.size()));
    for (const Op op : entry) finish(op);
  }

  void finish(Op op) {
    const Stage s = op.stage();
    const Microbatch k = op.microbatch();
    if (op.kind() == OpKind::Forward) {
      if (s.value() + 1 < stages_)
        wake(forward(s + 1, k));
      else
        wake_backward(s, k);
      return;
    }
    if (op.kind() == OpKind::BackwardInput) wake(backward_weight(s, k));
    if (carries_gradient(op.kind()) && s.value() > 0) wake_backward(s - 1, k);
  }

  void wake_backward(Stage s, Microbatch k) {
    wake(splits_[cell(s, k)] ? backward_input(s, k) : backward(s, k));
  }

  Random& random_;
  int stages_;
  int microbatches_;
  std::vector<std::vector<Op>> queues_;
  std::vector<std::vector<Op>> ready_;  // [rank] ops that could run now
  std::vector<Rank> home_;              // [stage * m + microbatch]
  std::vector<bool> splits_;
};

Placement arbitrary_placement(Random& random, int ranks, int stages) {
  std::vector<Rank> rank_of_slot;
  // Every rank holds a stage: the first `ranks` stages see to that, in rotated order.
  const int turn = random.below(ranks);
  for (int s = 0; s < stages; ++s)
    rank_of_slot.emplace_back(s < ranks ? (s + turn) % ranks : random.below(ranks));
  for (int s = stages - 1; s > 0; --s)
    std::swap(rank_of_slot[static_cast<std::size_t>(s)],
              rank_of_slot[static_cast<std::size_t>(random.below(s + 1))]);
  return Placement::custom(ranks, stages, 1, std::move(rank_of_slot));
}

std::vector<Ticks> random_ticks(Random& random, std::size_t count, std::int64_t most) {
  std::vector<Ticks> table;
  for (std::size_t i = 0; i < count; ++i) table.push_back(random.chance(15) ? 0 : random.between(1, most));
  return table;
}

Overlap random_overlap(Random& random, std::size_t slots) {
  Overlap overlap;
  overlap.rule = static_cast<OverlapRule>(random.below(5));
  overlap.duration = random_ticks(random, slots, 150);
  overlap.factor = random.between(0, 2 * kUnitScale);
  overlap.saving = random.between(0, 100);
  return overlap;
}

}  // namespace

std::uint64_t Random::bits() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

int Random::below(int below) {
  return static_cast<int>(bits() % static_cast<std::uint64_t>(below));
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
}

namespace {

/// One entry of a queue and the extra ops around it.
struct Around {
  std::vector<Op> before;
  std::vector<Op> ops;
  std::vector<Op> behind;
};

Op like(OpKind kind, Op op) {
  const Op other(kind, op.stage(), op.microbatch());
  return op.is_sliced() ? other.with_slice(op.slice()) : other;
}

std::vector<Around> entries_of(const Schedule& schedule, Rank rank) {
  std::vector<Around> entries;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   const auto ops = schedule.ops().subspan(first, last - first);
                   entries.push_back({{}, {ops.begin(), ops.end()}, {}});
                 });
  return entries;
}

/// Between the forward in entry f and the backward in entry b: O, then L, then R, some of them.
void add_extras(Random& random, std::vector<Around>& entries, std::size_t f, std::size_t b, Op op) {
  const auto pick = [&](std::size_t low, std::size_t high) {
    return static_cast<std::size_t>(
        random.between(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
  };
  std::size_t at = f;
  if (random.chance(40)) {
    const std::size_t offload = pick(f, b - 1);
    at = pick(offload + 1, b);
    entries[offload].behind.push_back(like(OpKind::Offload, op));
    entries[at].before.push_back(like(OpKind::Reload, op));
  }
  if (random.chance(40)) entries[pick(std::max(at, f + 1), b)].before.push_back(like(OpKind::Recompute, op));
}

std::vector<Op> cut(Op op, int slices) {
  std::vector<Op> pieces;
  for (int j = 0; j < slices; ++j)
    pieces.push_back(op.with_slice(carries_gradient(op.kind()) ? slices - 1 - j : j));
  return pieces;
}

Schedule sliced(const Schedule& schedule, int slices) {
  std::vector<std::uint8_t> replicas;
  for (int k = 0; k < schedule.microbatches(); ++k)
    replicas.push_back(static_cast<std::uint8_t>(schedule.replica_of(Microbatch(k)).value()));
  ScheduleBuilder out(schedule.placement(), schedule.microbatches(), replicas, slices);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.begin_rank(rank);
    for (const Op op : schedule.queue(rank))
      for (const Op piece : cut(op, slices)) out.add(piece);
  }
  return std::move(out).build();
}

}  // namespace

Schedule random_extras(Random& random, const Schedule& whole) {
  const Schedule schedule = random.chance(30) ? sliced(whole, static_cast<int>(random.between(2, 3))) : whole;
  ScheduleBuilder out = builder_like(schedule);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    auto entries = entries_of(schedule, rank);
    std::map<Op, std::size_t> forward_at;
    for (std::size_t e = 0; e < entries.size(); ++e)
      for (const Op op : entries[e].ops) {
        if (op.kind() == OpKind::Forward) forward_at[op] = e;
        if (carries_gradient(op.kind()))
          add_extras(random, entries, forward_at.at(like(OpKind::Forward, op)), e, op);
      }
    out.begin_rank(rank);
    for (const Around& entry : entries) {
      for (const Op op : entry.before) out.add(op);
      out.add_group(entry.ops);
      for (const Op op : entry.behind) out.add(op);
    }
  }
  return std::move(out).build();
}

Placement random_placement(Random& random, const ProblemSize& size) {
  const int ranks = 1 + random.below(size.most_ranks);
  const int chunks = 1 + random.below(size.most_chunks);
  switch (random.below(5)) {
    case 0:
      return Placement::linear(ranks);
    case 1:
      return Placement::loop(ranks, chunks);
    case 2:
      return Placement::wave(ranks, chunks);
    case 3:
      return Placement::bidirectional(ranks);
    default:
      return arbitrary_placement(random, ranks, ranks * chunks);
  }
}

Schedule random_schedule(Random& random, Placement placement, int microbatches, int group_percent) {
  std::vector<std::uint8_t> replicas;
  if (placement.replicas() > 1)
    for (int k = 0; k < microbatches; ++k)
      replicas.push_back(static_cast<std::uint8_t>(random.below(placement.replicas())));
  const auto queues = RandomRun(random, placement, microbatches, replicas).run(group_percent);
  const Schedule frame = [&] {
    ScheduleBuilder out(std::move(placement), microbatches, std::move(replicas));
    for (Rank rank{0}; rank < Rank(out.placement().ranks()); ++rank) out.begin_rank(rank);
    return std::move(out).build();
  }();
  return with_queues(frame, queues);
}

Costs random_costs(Random& random, const Schedule& schedule) {
  const Placement& placement = schedule.placement();
  const auto slots = static_cast<std::size_t>(placement.slots());
  const std::int64_t most_delay = random.chance(30) ? 0 : 60;
  Costs costs = uniform_costs(placement, {});
  for (auto& table : costs.duration) table = random_ticks(random, slots, 100);
  costs.overlap = random_overlap(random, slots);
  // Same-rank hops never wait in a real configuration, so delays stand only between ranks.
  const Costs hops = uniform_costs(placement, {.delay = 1});
  for (std::size_t slot = 0; slot < slots; ++slot) {
    costs.forward_delay[slot] = hops.forward_delay[slot] * random.between(0, most_delay);
    costs.backward_delay[slot] = hops.backward_delay[slot] * random.between(0, most_delay);
  }
  if (random.chance(40))
    for (int k = 0; k < schedule.microbatches(); ++k)
      costs.microbatch_scale.push_back(random.between(0, 2 * kUnitScale));
  return costs;
}

void add_besides(Random& random, const Schedule& schedule, Costs& costs) {
  const auto slots = static_cast<std::size_t>(schedule.placement().slots());
  if (random.chance(50)) costs.entry = random.between(1, 20);
  if (random.chance(70)) costs.rank_time = random.between(1, 30);
  if (random.chance(30))
    costs.overlap = {.rule = OverlapRule::Explicit, .pairs = random_ticks(random, slots * slots, 150)};
}

MemoryModel random_memory(Random& random, const Placement& placement) {
  MemoryModel memory = default_memory(placement);
  for (std::size_t slot = 0; slot < memory.activation.size(); ++slot) {
    memory.activation[slot] = random.between(0, 50);
    memory.released_at_input[slot] = random.between(0, memory.activation[slot]);
    memory.static_bytes[slot] = random.between(0, 100);
    memory.receive[slot] = random.between(0, 20);
  }
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot)
    if (placement.stage_of(slot).value() + 1 == placement.stages())
      memory.logits[slot.at()] = random.between(0, 30);
  return memory;
}

RandomProblem random_problem(std::uint64_t seed, const ProblemSize& size) {
  Random random(seed);
  Placement placement = random_placement(random, size);
  const int microbatches = 1 + random.below(size.most_microbatches);
  const int group_percent = random.chance(50) ? 0 : size.group_percent;
  auto schedule = std::make_shared<const Schedule>(
      random_schedule(random, std::move(placement), microbatches, group_percent));
  Costs costs = random_costs(random, *schedule);
  return {std::move(schedule), std::move(costs)};
}

Schedule with_swapped_ops(Random& random, const Schedule& schedule, int swaps) {
  std::vector<std::vector<Op>> queues;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const auto queue = schedule.queue(rank);
    queues.emplace_back(queue.begin(), queue.end());
  }
  for (int i = 0; i < swaps; ++i) {
    auto& queue = queues[static_cast<std::size_t>(random.below(schedule.ranks()))];
    if (queue.empty()) continue;
    Op& a = queue[static_cast<std::size_t>(random.below(static_cast<int>(queue.size())))];
    Op& b = queue[static_cast<std::size_t>(random.below(static_cast<int>(queue.size())))];
    // The grouping stays with the place.
    const Op was_a = a;
    a = b.with_joined(a.joined());
    b = was_a.with_joined(b.joined());
  }
  return with_queues(schedule, queues);
}

std::vector<std::uint8_t> replicas_of(const Schedule& schedule) {
  std::vector<std::uint8_t> replicas;
  if (schedule.placement().replicas() > 1)
    for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
      replicas.push_back(static_cast<std::uint8_t>(schedule.replica_of(k).value()));
  return replicas;
}

Schedule with_queues(const Schedule& schedule, const std::vector<std::vector<Op>>& queues) {
  ScheduleBuilder out(schedule.placement(), schedule.microbatches(), replicas_of(schedule));
  for (std::size_t r = 0; r < queues.size(); ++r) {
    out.begin_rank(Rank(static_cast<std::int32_t>(r)));
    std::vector<Op> entry;
    for (const Op op : queues[r]) {
      entry.push_back(op);
      if (op.joined()) continue;
      out.add_group(entry);
      entry.clear();
    }
  }
  return std::move(out).build();
}

}  // namespace pipeloom::test
