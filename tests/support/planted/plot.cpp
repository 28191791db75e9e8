#include "support/planted/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/kinds.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::test {

using study::explain::CauseKind;

bool meets(const Planted& cause, Rank rank, Op op) {
  return (!cause.rank || *cause.rank == rank) && (!cause.stage || *cause.stage == op.stage()) &&
         (!cause.microbatch || *cause.microbatch == op.microbatch()) &&
         (!cause.op_kind || *cause.op_kind == op.kind());
}

bool is_of_ops(CauseKind kind) {
  return kind == CauseKind::Rank || kind == CauseKind::Stage || kind == CauseKind::Microbatch ||
         kind == CauseKind::Op;
}

void Plot::pause(Conditions& to) {
  if (world.launch > 0) {
    to.launch_hides = world.launch_hides;
    const auto mean = static_cast<double>(world.launch);
    for (std::size_t e = 0; e < net.entries.size(); ++e)
      to.launch.push_back(
          std::llround(world.heavy ? mean * std::exp(gauss(random) - 0.5) : uniform(random, 0, 2 * mean)));
  }
  if (world.collections == 0) return;
  for (Ticks& paused : to.paused)
    if (uniform(random, 0, 1) < world.collections)
      paused += std::llround(uniform(random, 0.2, 1) * static_cast<double>(forward));
}

void Plot::pause_evenly(Conditions& to) const {
  to.launch_hides = world.launch_hides;
  to.launch.assign(net.entries.size(), world.launch);
  // From 0.2 to 1 forward.
  const auto stopped = std::llround(world.collections * 0.6 * static_cast<double>(forward));
  for (Ticks& paused : to.paused) paused += stopped;
}

void Plot::draw_latencies(Conditions& to) {
  if (world.most_latency > 0) {
    const auto least = static_cast<double>(world.least_latency);
    const auto most = static_cast<double>(world.most_latency);
    for (Ticks& latency : to.latency)
      if (latency > 0) latency += std::llround(uniform(random, least, most) - (least + most) / 2);
  }
  for (Ticks& latency : to.latency)
    latency = std::llround(static_cast<double>(latency) * std::exp(world.jitter * gauss(random)));
}

std::vector<double> Plot::draw_shifts() {
  std::vector<std::array<double, kOpKinds>> of_slot(static_cast<std::size_t>(schedule->placement().slots()));
  for (auto& slot : of_slot)
    for (double& of : slot) of = world.wrong_costs * gauss(random);
  std::vector<double> shifts;
  for (const Op op : schedule->ops())
    shifts.push_back(of_slot[schedule->slot_of(op).at()][index_of(op.kind())]);
  return shifts;
}

bool Plot::of_same_ops(const Planted& a, const Planted& b) const {
  if (!is_of_ops(a.kind) || !is_of_ops(b.kind)) return false;
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (meets(a, net.rank_of(i), schedule->ops()[i]) != meets(b, net.rank_of(i), schedule->ops()[i]))
      return false;
  return true;
}

void Plot::add(Conditions& to, const Planted& cause) const {
  if (is_of_ops(cause.kind)) {
    for (std::size_t i = 0; i < schedule->num_ops(); ++i)
      if (meets(cause, net.rank_of(i), schedule->ops()[i])) to.factor[i] *= cause.factor;
  } else if (cause.kind == CauseKind::Link) {
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      if (!net.producer[i]) continue;
      const Rank from = net.rank_of(*net.producer[i]);
      const Rank at = net.rank_of(i);
      if (from == at) continue;
      if ((from == *cause.from && at == *cause.to) || (from == *cause.to && at == *cause.from))
        to.latency[i] += cause.added;
    }
  } else if (cause.kind == CauseKind::MessageTime) {
    to.rank_time += cause.added;
  } else if (cause.kind == CauseKind::Hiccup) {
    for (std::size_t i = 0; i < cause.entries.size(); ++i)
      (i % 2 == 0 ? to.longer : to.paused)[cause.entries[i]] += cause.added;
  } else {
    auto& queue = to.queues[cause.rank->at()];
    std::swap(*std::find(queue.begin(), queue.end(), cause.entries[0]),
              *std::find(queue.begin(), queue.end(), cause.entries[1]));
  }
}

Conditions Plot::with(unsigned set) const {
  Conditions conditions = plain();
  for (std::size_t i = 0; i < causes.size(); ++i)
    if ((set >> i & 1U) != 0) add(conditions, causes[i]);
  if (!cell_shift.empty() && (set >> causes.size() & 1U) != 0)
    for (std::size_t i = 0; i < conditions.factor.size(); ++i) conditions.factor[i] *= cell_shift[i];
  return conditions;
}

Planted Plot::invent() {
  const auto rank = Rank(static_cast<std::int32_t>(pick(random, net.queues.size())));
  const double factor = 1 + world.size * uniform(random, 0.1, 0.6);
  const auto lost = static_cast<Ticks>(world.size * uniform(random, 0.3, 3) * static_cast<double>(forward));
  switch (const std::size_t which = pick(random, 8)) {
    case 5:
      return invent_link(rank, lost / 3);
    case 6:
      if (pick(random, 2) == 0) return {.kind = CauseKind::MessageTime, .added = lost / 20};
      return invent_order(rank);
    case 7:
      return invent_hiccup(rank, lost);
    default:
      return invent_of_ops(which, rank, factor);
  }
}

Planted Plot::invent_of_ops(std::size_t which, Rank rank, double factor) {
  const auto stage = [&] {
    return Stage(static_cast<std::int32_t>(pick(random, static_cast<std::size_t>(schedule->stages()))));
  };
  switch (which) {
    case 0:
      return {.kind = CauseKind::Rank, .rank = rank, .factor = factor};
    case 1: {
      const OpKind of =
          schedule->ops()[schedule->queue_begin(rank) + pick(random, schedule->queue(rank).size())].kind();
      return {.kind = CauseKind::Rank, .rank = rank, .op_kind = of, .factor = factor};
    }
    case 2: {
      const bool split = schedule->contains(OpKind::BackwardWeight) && !schedule->has_groups();
      const OpKind of = split ? OpKind::BackwardWeight : OpKind::Backward;
      return {.kind = CauseKind::Stage, .stage = stage(), .op_kind = of, .factor = factor};
    }
    case 3:
      return {.kind = CauseKind::Stage, .stage = stage(), .factor = factor};
    default: {
      const auto microbatch = Microbatch(
          static_cast<std::int32_t>(pick(random, static_cast<std::size_t>(schedule->microbatches()))));
      return {.kind = CauseKind::Microbatch,
              .microbatch = microbatch,
              .factor = 1 + world.size * uniform(random, 0.2, 1)};
    }
  }
}

Planted Plot::invent_link(Rank rank, Ticks added) {
  Rank from = rank;
  Rank to = rank;
  while (from == to) {
    const std::size_t op = pick(random, schedule->num_ops());
    if (!net.producer[op]) continue;
    from = net.rank_of(*net.producer[op]);
    to = net.rank_of(op);
  }
  if (to < from) std::swap(from, to);
  return {.kind = CauseKind::Link, .from = from, .to = to, .added = added};
}

Planted Plot::invent_order(Rank rank) {
  Planted order{.kind = CauseKind::Order, .rank = rank};
  for (;;) {
    const auto& queue = net.queues[rank.at()];
    const std::size_t at = pick(random, queue.size() - 1);
    order.entries = {queue[at], queue[at + 1]};
    Conditions changed = plain();
    add(changed, order);
    if (play(net, *costs, changed)) return order;
  }
}

Planted Plot::invent_hiccup(Rank rank, Ticks lost) {
  Planted hiccup{.kind = CauseKind::Hiccup, .rank = rank, .added = std::max(lost, forward / 4)};
  const std::size_t count = 1 + pick(random, 3);
  while (hiccup.entries.size() < count) {
    const std::size_t entry = net.queues[rank.at()][pick(random, net.queues[rank.at()].size())];
    if (std::find(hiccup.entries.begin(), hiccup.entries.end(), entry) == hiccup.entries.end())
      hiccup.entries.push_back(entry);
  }
  return hiccup;
}

}  // namespace pipeloom::test
