#include "sim/cost/measured/measured_ops.hpp"

#include <algorithm>
#include <utility>

#include <pipeloom/schedule.hpp>

namespace pipeloom::cost {
namespace {

using Samples = std::vector<std::vector<Ticks>>;  // [stage]

/// Durations before they are summed up.
struct CollectedOps {
  explicit CollectedOps(std::size_t stages) : group(stages) {
    alone.fill(Samples(stages));
    shared.fill(Samples(stages));
  }
  std::array<Samples, kOpKinds> alone;
  std::array<Samples, kOpKinds> shared;
  Samples group;
};

void collect_entry(const Timeline& timeline, int step, std::size_t first, std::size_t last,
                   CollectedOps& out) {
  const auto ops = timeline.schedule->ops();
  const auto duration = [&](std::size_t i) { return timeline.end_of(i, step) - timeline.start_of(i, step); };
  const bool together =
      last - first > 1 && timeline.start_of(first, step) == timeline.start_of(first + 1, step);
  for (std::size_t i = first; i < last; ++i) {
    auto& samples = together ? out.shared : out.alone;
    const Ticks share = together ? duration(i) / static_cast<Ticks>(last - first) : duration(i);
    samples[index_of(ops[i].kind())][ops[i].stage().at()].push_back(share);
    if (together && ops[i].kind() == OpKind::Forward) out.group[ops[i].stage().at()].push_back(duration(i));
  }
}

}  // namespace

DurationSample sample_of(std::vector<Ticks> durations) {
  if (durations.empty()) return {};
  std::sort(durations.begin(), durations.end());
  const std::size_t last = durations.size() - 1;
  return {durations.size(), durations[last / 2], durations[3 * last / 4] - durations[last / 4]};
}

OpEstimate estimate_of(const MeasuredOps& measured, OpKind kind, std::size_t stage) {
  using Source = OpEstimate::Source;
  const auto sample = [&](OpKind of) { return measured.op[index_of(of)][stage]; };
  if (sample(kind).count > 0) return {sample(kind).median, Source::Alone};
  const auto& shares = measured.share[index_of(kind)];
  if (stage >= shares.size() || shares[stage].count == 0) return {};
  const DurationSample input = sample(OpKind::BackwardInput);
  const DurationSample weight = sample(OpKind::BackwardWeight);
  if (kind == OpKind::Backward && input.count > 0 && weight.count > 0)
    return {input.median + weight.median, Source::Sum};
  return {shares[stage].median, Source::Share};
}

MeasuredOps measured_ops(const Timeline& timeline) {
  const Schedule& schedule = *timeline.schedule;
  const auto stages = static_cast<std::size_t>(schedule.stages());
  CollectedOps found(stages);
  for (int step = 0; step < timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for_each_entry(
          schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
          [&](std::size_t first, std::size_t last) { collect_entry(timeline, step, first, last, found); });
  MeasuredOps out;
  for (const OpKind kind : kAllOpKinds)
    for (std::size_t s = 0; s < stages; ++s) {
      out.op[index_of(kind)].push_back(sample_of(std::move(found.alone[index_of(kind)][s])));
      out.share[index_of(kind)].push_back(sample_of(std::move(found.shared[index_of(kind)][s])));
    }
  if (schedule.has_groups())
    for (auto& samples : found.group) out.group.push_back(sample_of(std::move(samples)));
  return out;
}

}  // namespace pipeloom::cost
