#include "sim/engine/scenarios.hpp"

#include <algorithm>
#include <array>

#include "sim/base/table_size.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/noise_draws.hpp"
#include "sim/engine/op_draws.hpp"

namespace pipeloom {

/// kLanes scenarios under way.
struct Scenarios::Batch {
  std::array<std::uint64_t, kLanes> random = {};
  std::vector<Ticks> end;                // [position * kLanes + lane]
  std::array<double, kLanes> busy = {};  // of all ranks
  std::vector<Ticks> next_hiccup;        // [rank * kLanes + lane]
};

bool Scenarios::supports(const Schedule& schedule, const Costs& costs) {
  return !schedule.is_extended() && costs.overlap.rule != OverlapRule::Sequential;
}

Scenarios::Scenarios(const Schedule& schedule, const Costs& costs, const Noise& noise)
    : schedule_(schedule),
      costs_(costs),
      noise_(noise),
      order_(schedule, true),
      factors_(noise_factors(noise)) {
  records_.reserve(order_.num_records());
  after_.assign(static_cast<std::size_t>(schedule.ranks()), 0);
  for (std::size_t i = 0; i < order_.num_records(); ++i) {
    const FixedOrder::Step step = order_.step(i);
    const Rank rank = schedule.placement().rank_of(step.slot);
    Record record{step.previous,
                  step.producer,
                  step.row,
                  static_cast<std::uint32_t>(rank.value()),
                  arrival_delay(costs, step.kind, step.slot),
                  0,
                  0,
                  0};
    if (step.ends_entry) {
      std::size_t last = step.first_op + 1;
      while (schedule.ops()[last - 1].joined()) ++last;
      record.duration = static_cast<double>(costs.entry_duration(schedule, step.first_op, last));
      const LaneTimes lane = lane_times(costs, schedule, step.first_op, last);
      record.before = lane.before;
      record.lane = lane.before + lane.after;
      after_[rank.at()] = lane.after;
    }
    if (first_op_of_row_.size() <= step.row) first_op_of_row_.resize(step.row + std::size_t{1});
    first_op_of_row_[step.row] = step.first_op;
    records_.push_back(record);
  }
}

/// Pauses make an op longer by their share of time, rounded up to a whole pause.
void Scenarios::require_fit(int count) const {
  const double factor = *std::max_element(factors_.begin(), factors_.end());
  const bool pauses = noise_.model == NoiseModel::Hiccup;
  const auto pause = pauses ? static_cast<double>(noise_.time) : 0.0;
  double busy = 0;
  double others = 0;
  for (const Record& record : records_) {
    busy += record.duration * factor + pause;
    others += static_cast<double>(record.delay) + static_cast<double>(record.lane);
  }
  if (pauses) busy /= 1 - pause / static_cast<double>(noise_.period);
  if (busy + others >= static_cast<double>(kMaxTicks)) refuse_noise();
  if (pauses) require_few_pauses(noise_, busy, count);
}

/// The branch-free loop: values that vary between lanes lie side by side.
template <bool kHiccups>
void Scenarios::evaluate(Batch& batch) const {
  const double* const factors = factors_.data();
  Ticks* const ends = batch.end.data();
  Ticks* out = ends + (static_cast<std::size_t>(schedule_.ranks()) + 1) * kLanes;
  std::array<std::uint64_t, kLanes> random = batch.random;
  std::array<double, kLanes> busy = {};
  for (const Record& record : records_) {
    const Ticks* const previous = ends + record.previous * kLanes;
    const Ticks* const producer = ends + record.producer * kLanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      Ticks duration = drawn_duration(record.duration, factors, random[lane]);
      const Ticks start = std::max(previous[lane], producer[lane] + record.delay);
      if constexpr (kHiccups)
        duration = with_pauses(noise_, start + record.before, duration,
                               batch.next_hiccup[record.rank * kLanes + lane]);
      busy[lane] += static_cast<double>(duration);
      out[lane] = start + duration + record.lane;
    }
    out += kLanes;
  }
  batch.random = random;
  batch.busy = busy;
}

void Scenarios::walk_path(const Batch& batch, std::size_t lane, std::size_t position, ScenarioTimes& out,
                          std::vector<double>& rows) const {
  const std::size_t first = static_cast<std::size_t>(schedule_.ranks()) + 1;
  const auto end_at = [&](std::size_t at) { return batch.end[at * kLanes + lane]; };
  while (position >= first) {
    const Record& record = records_[position - first];
    const Ticks arrival = end_at(record.producer) + record.delay;
    const Ticks start = std::max(end_at(record.previous), arrival);
    rows[record.row] += static_cast<double>(end_at(position) - start - record.lane);
    // The path goes to whichever end the start waited for; to the rank's own record if both came at once.
    const bool waited = arrival > end_at(record.previous);
    if (waited && record.delay > 0) {
      const std::uint32_t from = records_[record.producer - first].rank;
      out.link_on_path[from * static_cast<std::size_t>(schedule_.ranks()) + record.rank] +=
          static_cast<double>(record.delay);
    }
    position = waited ? record.producer : record.previous;
  }
}

void Scenarios::finish(const Batch& batch, std::size_t lane, ScenarioTimes& out,
                       std::vector<double>& rows) const {
  Ticks latest = 0;
  std::size_t last = 0;
  for (std::size_t rank = 0; rank < after_.size(); ++rank) {
    const std::uint32_t position = order_.last_of_rank()[rank];
    const Ticks end = batch.end[position * kLanes + lane] - after_[rank];
    if (end <= latest) continue;
    latest = end;
    last = position;
  }
  add_step(latest, batch.busy[lane], schedule_.ranks(), out);
  walk_path(batch, lane, last, out, rows);
}

void add_on_path(const Schedule& schedule, const Costs& costs, std::size_t first, double time,
                 ScenarioTimes& out) {
  std::size_t last = first + 1;
  while (schedule.ops()[last - 1].joined()) ++last;
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(costs.op_duration(schedule, i));
  for (std::size_t i = first; i < last; ++i) {
    const Op op = schedule.ops()[i];
    const double share = sum > 0 ? static_cast<double>(costs.op_duration(schedule, i)) / sum
                                 : 1 / static_cast<double>(last - first);
    out.on_path[index_of(op.kind())][schedule.slot_of(op).at()] += time * share;
  }
}

void add_step(Ticks makespan, double busy, int ranks, ScenarioTimes& out) {
  const double whole = static_cast<double>(makespan) * static_cast<double>(ranks);
  out.makespan.push_back(makespan);
  out.bubble.push_back(whole > 0 ? 1 - busy / whole : 0.0);
}

namespace {

void run_drawn_by_op(const Schedule& schedule, const Costs& costs, const Noise& noise, int count,
                     std::uint64_t seed, const RunScenario& run, ScenarioTimes& out) {
  OpDraws draws(schedule, costs, noise);
  draws.require_fit(count);
  const EntryTimes entry_times = draws.entry_times();
  for (int i = 0; i < count; ++i) {
    draws.draw(seed, i);
    run(draws.costs(), entry_times, out);
  }
}

}  // namespace

ScenarioTimes run_each(const Schedule& schedule, const Costs& costs, const Noise& noise, int count,
                       std::uint64_t seed, const RunScenario& run) {
  ScenarioTimes out = no_times_yet(schedule);
  if (!Scenarios::supports(schedule, costs)) {
    run_drawn_by_op(schedule, costs, noise, count, seed, run, out);
    return out;
  }
  const Scenarios scenarios(schedule, costs, noise);
  scenarios.require_fit(count);
  DrawnTimes drawn;
  const bool pauses = noise.model == NoiseModel::Hiccup;
  const EntryTimes entry_times = [&](Rank rank, std::size_t first, Ticks start, Ticks /*planned*/) {
    const Ticks duration = drawn.duration[first];
    return pauses ? with_pauses(noise, start, duration, drawn.pause[rank.at()]) : duration;
  };
  for (int i = 0; i < count; ++i) {
    scenarios.draw(seed, i, drawn);
    run(costs, entry_times, out);
  }
  return out;
}

ScenarioTimes no_times_yet(const Schedule& schedule) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks());
  ScenarioTimes out;
  out.on_path.assign(kOpKinds, std::vector<double>(static_cast<std::size_t>(schedule.placement().slots())));
  out.link_on_path.assign(table_size(ranks, ranks), 0);
  return out;
}

void Scenarios::draw(std::uint64_t seed, int scenario, DrawnTimes& out) const {
  std::uint64_t stream = scenario_stream(seed, scenario);
  out.duration.resize(schedule_.num_ops());
  out.pause.assign(after_.size(), kMaxTicks);
  if (noise_.model == NoiseModel::Hiccup)
    for (std::size_t rank = 0; rank < after_.size(); ++rank)
      out.pause[rank] = first_pause(noise_, Rank(static_cast<std::int32_t>(rank)), stream);
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Ticks duration = drawn_duration(records_[i].duration, factors_.data(), stream);
    const FixedOrder::Step step = order_.step(i);
    if (step.ends_entry) out.duration[step.first_op] = duration;
  }
}

ScenarioTimes Scenarios::run(int count, std::uint64_t seed) const {
  require_fit(count);
  const auto ranks = static_cast<std::size_t>(schedule_.ranks());
  ScenarioTimes out = no_times_yet(schedule_);
  std::vector<double> rows(first_op_of_row_.size());
  Batch batch;
  batch.end.assign((ranks + 1 + records_.size()) * kLanes, 0);
  std::fill_n(batch.end.begin() + static_cast<std::ptrdiff_t>(ranks * kLanes), kLanes, -kMaxTicks);
  batch.next_hiccup.resize(ranks * kLanes);
  for (int done = 0; done < count; done += static_cast<int>(kLanes)) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      batch.random[lane] = scenario_stream(seed, done + static_cast<int>(lane));
    if (noise_.model == NoiseModel::Hiccup) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          batch.next_hiccup[rank * kLanes + lane] =
              first_pause(noise_, Rank(static_cast<std::int32_t>(rank)), batch.random[lane]);
      evaluate<true>(batch);
    } else {
      evaluate<false>(batch);
    }
    const auto lanes = std::min(kLanes, static_cast<std::size_t>(count - done));
    for (std::size_t lane = 0; lane < lanes; ++lane) finish(batch, lane, out, rows);
  }
  for (std::size_t row = 0; row < rows.size(); ++row)
    add_on_path(schedule_, costs_, first_op_of_row_[row], rows[row], out);
  return out;
}

}  // namespace pipeloom
