#include "sim/cost/measured/measured_ops.hpp"

#include <algorithm>
#include <utility>

#include <pipeloom/schedule.hpp>

namespace pipeloom::cost {
namespace {

using Samples = std::vector<std::vector<Ticks>>;  // [stage * slices + slice]

/// Durations before they are summed up.
struct CollectedOps {
  explicit CollectedOps(const Schedule& schedule)
      : slices(static_cast<std::size_t>(schedule.slices())),
        group(static_cast<std::size_t>(schedule.stages())) {
    alone.fill(Samples(group.size() * slices));
    held.fill(Samples(group.size() * slices));
    shared.fill(Samples(group.size() * slices));
  }
  std::size_t slices;
  std::array<Samples, kOpKinds> alone;
  std::array<Samples, kOpKinds> held;  ///< alone, and with a wait perhaps
  std::array<Samples, kOpKinds> shared;
  Samples group;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Ticks>> pairs;
  bool in_turn = false;
};

void collect_entry(const Timeline& timeline, const std::vector<bool>& held, int step, std::size_t first,
                   std::size_t last, CollectedOps& out) {
  const auto ops = timeline.schedule->ops();
  const auto duration = [&](std::size_t i) { return timeline.end_of(i, step) - timeline.start_of(i, step); };
  const bool together =
      last - first > 1 && timeline.start_of(first, step) == timeline.start_of(first + 1, step);
  out.in_turn = out.in_turn || (last - first > 1 && !together);
  for (std::size_t i = first; i < last; ++i) {
    auto& samples = together ? out.shared : !held.empty() && held[i] ? out.held : out.alone;
    const Ticks share = together ? duration(i) / static_cast<Ticks>(last - first) : duration(i);
    samples[index_of(ops[i].kind())]
           [ops[i].stage().at() * out.slices + static_cast<std::size_t>(ops[i].slice())]
               .push_back(share);
    if (together && ops[i].kind() == OpKind::Forward) out.group[ops[i].stage().at()].push_back(duration(i));
  }
  const bool is_pair = together && last - first == 2 && ops[first].kind() == OpKind::Forward &&
                       ops[first + 1].kind() != OpKind::Forward;
  if (is_pair) out.pairs[{ops[first].stage().at(), ops[first + 1].stage().at()}].push_back(duration(first));
}

/// Of the whole passes of each stage: a pass takes what its slices take.
std::vector<DurationSample> pass_samples(Samples samples, std::size_t slices) {
  std::vector<DurationSample> out(samples.size() / slices);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const DurationSample slice = sample_of(std::move(samples[i]));
    DurationSample& pass = out[i / slices];
    pass.count += slice.count;
    pass.median += slice.median;
    pass.spread += slice.spread;
  }
  return out;
}

/// Samples of ops that may hold a wait are used where there are no others: then the least. Which stages these are.
std::vector<std::size_t> take_least(Samples held, Samples& alone, std::size_t slices) {
  std::vector<std::size_t> stages;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i].empty() || !alone[i].empty()) continue;
    alone[i].assign(held[i].size(), *std::min_element(held[i].begin(), held[i].end()));
    if (stages.empty() || stages.back() != i / slices) stages.push_back(i / slices);
  }
  return stages;
}

}  // namespace

DurationSample sample_of(std::vector<Ticks> durations) {
  if (durations.empty()) return {};
  std::sort(durations.begin(), durations.end());
  const std::size_t last = durations.size() - 1;
  const Ticks lower = durations[last / 2];
  const Ticks upper = durations[durations.size() / 2];
  return {durations.size(), lower + (upper - lower) / 2, durations[3 * last / 4] - durations[last / 4]};
}

bool was_seen(const std::vector<DurationSample>& samples) {
  return std::any_of(samples.begin(), samples.end(), [](const DurationSample& one) { return one.count > 0; });
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

MeasuredOps measured_ops(const Timeline& timeline, const std::vector<bool>& held) {
  const Schedule& schedule = *timeline.schedule;
  CollectedOps found(schedule);
  for (int step = 0; step < timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       collect_entry(timeline, held, step, first, last, found);
                     });
  MeasuredOps out;
  out.in_turn = found.in_turn;
  for (const OpKind kind : kAllOpKinds) {
    out.least[index_of(kind)] =
        take_least(std::move(found.held[index_of(kind)]), found.alone[index_of(kind)], found.slices);
    out.op[index_of(kind)] = pass_samples(std::move(found.alone[index_of(kind)]), found.slices);
    out.share[index_of(kind)] = pass_samples(std::move(found.shared[index_of(kind)]), found.slices);
  }
  if (schedule.has_groups())
    for (auto& samples : found.group) out.group.push_back(sample_of(std::move(samples)));
  for (auto& [stages, samples] : found.pairs) out.pairs.emplace(stages, sample_of(std::move(samples)));
  return out;
}

}  // namespace pipeloom::cost
