#include "sim/engine/op_draws.hpp"

#include <algorithm>
#include <cstddef>

#include <pipeloom/error.hpp>
#include "sim/engine/noise_draws.hpp"
#include "sim/engine/simulator.hpp"

namespace pipeloom {

OpDraws::OpDraws(const Schedule& schedule, const Costs& costs, const Noise& noise)
    : schedule_(schedule), noise_(noise), factors_(noise_factors(noise)), drawn_(costs) {
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) op_.push_back(costs.op_duration(schedule, i));
  drawn_.per_op = op_;
  if (noise.model == NoiseModel::Hiccup) pause_.resize(static_cast<std::size_t>(schedule.ranks()));
  if (costs.overlap.rule != OverlapRule::Explicit || !schedule.has_groups()) return;
  group_.resize(op_.size());
  for_each_entry(schedule, 0, op_.size(), [&](std::size_t first, std::size_t last) {
    if (last - first > 1) group_[first] = costs.entry_duration(schedule, first, last);
  });
  drawn_group_ = group_;
}

/// An op of d with pauses of t each p takes at most (d + t) / (1 - t / p).
void OpDraws::require_fit(int count) const {
  const bool pauses = !pause_.empty();
  const double factor = *std::max_element(factors_.begin(), factors_.end());
  const double pause = pauses ? static_cast<double>(noise_.time) : 0.0;
  const double share = pauses ? pause / static_cast<double>(noise_.period) : 0.0;
  bool fits = true;
  double busy = 0;
  const auto longest = [&](Ticks duration) {
    const double ticks = (static_cast<double>(duration) * factor + pause) / (1 - share);
    fits = fits && ticks < static_cast<double>(kMaxTicks);
    return fits ? static_cast<Ticks>(ticks) + 1 : duration;
  };
  Costs costs = drawn_;
  for (std::size_t i = 0; i < op_.size(); ++i) {
    costs.per_op[i] = longest(op_[i]);
    busy += static_cast<double>(costs.per_op[i]);
  }
  for (std::vector<Ticks>* table : {&costs.overlap.duration, &costs.overlap.pairs, &costs.per_group})
    for (Ticks& duration : *table) duration = longest(duration);
  if (!fits || !times_fit_easily(schedule_, costs)) refuse_noise();
  if (pauses) require_few_pauses(noise_, busy, count);
}

void OpDraws::draw(std::uint64_t seed, int scenario) {
  std::uint64_t stream = scenario_stream(seed, scenario);
  for (std::size_t rank = 0; rank < pause_.size(); ++rank)
    pause_[rank] = first_pause(noise_, Rank(static_cast<std::int32_t>(rank)), stream);
  for (std::size_t i = 0; i < op_.size(); ++i) {
    if (!group_.empty() && group_[i] != 0) {
      std::uint64_t same = stream;
      drawn_group_[i] =
          std::max(drawn_.entry, drawn_duration(static_cast<double>(group_[i]), factors_.data(), same));
    }
    drawn_.per_op[i] =
        std::max(drawn_.entry, drawn_duration(static_cast<double>(op_[i]), factors_.data(), stream));
  }
}

EntryTimes OpDraws::entry_times() {
  if (group_.empty() && pause_.empty()) return {};
  return [this](Rank rank, std::size_t first, Ticks start, Ticks planned) {
    if (!group_.empty() && group_[first] != 0) planned = drawn_group_[first];
    return pause_.empty() ? planned : with_pauses(noise_, start, planned, pause_[rank.at()]);
  };
}

}  // namespace pipeloom
