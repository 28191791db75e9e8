#include "sim/analysis/dag.hpp"

#include "sim/dependency.hpp"
#include "sim/kind_masks.hpp"

namespace pipeloom {

Dag::Dag(const Schedule& schedule) : schedule_(&schedule) {
  first_op_.reserve(schedule.num_entries() + 1);
  for_each_entry(schedule, 0, schedule.num_ops(),
                 [&](std::size_t first, std::size_t) { first_op_.push_back(first); });
  first_op_.push_back(schedule.num_ops());
  add_in_edges();
  index_out_edges();
}

void Dag::add_in_edges() {
  const Schedule& schedule = *schedule_;
  const DependencyMap dependencies(schedule);
  std::vector<Vertex> entry_of_op(schedule.num_ops());
  for (Vertex v = 0; v < source(); ++v)
    for (std::size_t i = first_op(v); i < last_op(v); ++i) entry_of_op[i] = v;

  edges_.reserve(num_entries() * 2 + static_cast<std::size_t>(schedule.ranks()));
  in_begin_.reserve(num_vertices() + 1);
  std::vector<Vertex> last_of_rank;
  Rank rank{-1};
  Vertex previous = source();  // in the rank's queue, copies left out
  Vertex copy = source();      // the rank's latest copy
  for (Vertex v = 0; v < source(); ++v) {
    in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
    while (rank < Rank(0) || first_op(v) >= schedule.queue_end(rank)) {
      ++rank;
      previous = copy = source();
    }
    edges_.push_back({previous, v, 0, kQueueEdge});
    const bool beside = is_copy(schedule.ops()[first_op(v)].kind());
    if (beside && copy != source()) edges_.push_back({copy, v, 0, kQueueEdge});
    for (std::size_t i = first_op(v); i < last_op(v); ++i)
      for (const std::uint32_t producer : {dependencies.producer_of(i), dependencies.reload_of(i)})
        if (producer != DependencyMap::kNone)
          edges_.push_back({entry_of_op[producer], v, producer, static_cast<std::uint32_t>(i)});
    (beside ? copy : previous) = v;
    if (last_op(v) != schedule.queue_end(rank)) continue;
    if (previous != source()) last_of_rank.push_back(previous);
    if (copy != source()) last_of_rank.push_back(copy);
  }
  in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));  // nothing leads to the source
  in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
  for (const Vertex v : last_of_rank) edges_.push_back({v, sink(), 0, kQueueEdge});
  in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
  // in_begin_ now reads: entries, source, sink, end.
}

void Dag::index_out_edges() {
  out_begin_.assign(num_vertices() + 1, 0);
  for (const Edge& edge : edges_) ++out_begin_[edge.source + 1];
  for (std::size_t v = 0; v < num_vertices(); ++v) out_begin_[v + 1] += out_begin_[v];
  auto next = out_begin_;
  out_edges_.resize(edges_.size());
  for (std::uint32_t e = 0; e < edges_.size(); ++e) out_edges_[next[edges_[e].source]++] = e;
}

std::vector<Ticks> Dag::durations(const Costs& costs) const {
  std::vector<Ticks> durations;
  durations.reserve(num_entries());
  for (Vertex v = 0; v < source(); ++v)
    durations.push_back(costs.entry_duration(*schedule_, first_op(v), last_op(v)));
  return durations;
}

std::vector<Ticks> Dag::lags(const Costs& costs, const std::vector<Ticks>& durations) const {
  const Schedule& schedule = *schedule_;
  const bool one_by_one = costs.overlap.rule == OverlapRule::Sequential;
  // From the start of its entry to the moment the producer's result is there.
  const auto visible_after = [&](Vertex entry, std::size_t producer) {
    if (!one_by_one) return durations[entry];
    Ticks sum = 0;
    for (std::size_t i = first_op(entry); i <= producer; ++i) sum += costs.op_duration(schedule, i);
    return sum;
  };
  std::vector<Ticks> lags;
  lags.reserve(edges_.size());
  for (const Edge& edge : edges_) {
    if (edge.source == source()) {
      lags.push_back(0);
    } else if (edge.consumer == kQueueEdge) {
      lags.push_back(durations[edge.source]);
    } else {
      const Op consumer = schedule.ops()[edge.consumer];
      const bool is_copied = is_copy(schedule.ops()[edge.producer].kind());
      const Ticks delay = is_copied ? 0 : arrival_delay(costs, consumer.kind(), schedule.slot_of(consumer));
      lags.push_back(visible_after(edge.source, edge.producer) + delay);
    }
  }
  return lags;
}

}  // namespace pipeloom
