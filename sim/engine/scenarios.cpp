#include "sim/engine/scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <pipeloom/error.hpp>
#include "sim/dependency.hpp"

namespace pipeloom {
namespace {

constexpr int kFactorBits = 12;
constexpr double kMaxPauses = 1e10;
constexpr std::size_t kFactors = std::size_t{1} << kFactorBits;

/// The value that a standard normal variable is below in a share `p` of draws. Acklam's rational approximation, relative error 1.2e-9.
double normal_quantile(double p) {
  constexpr std::array<double, 6> a = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                       1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array<double, 5> b = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                                       6.680131188771972e+01, -1.328068155288572e+01};
  constexpr std::array<double, 6> c = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                       -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array<double, 4> d = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                       3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  const auto tail = [&](double q) {
    return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
           ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
  };
  if (p < kTail) return tail(std::sqrt(-2 * std::log(p)));
  if (p > 1 - kTail) return -tail(std::sqrt(-2 * std::log(1 - p)));
  const double q = p - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

/// What a duration is multiplied by, for kFactors shares of all draws in order.
std::vector<double> factors_of(const Noise& noise) {
  std::vector<double> out(kFactors, 1.0);
  const double sigma = static_cast<double>(noise.sigma) / static_cast<double>(kUnitScale);
  for (std::size_t i = 0; i < kFactors; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kFactors);
    switch (noise.model) {
      case NoiseModel::Constant:
      case NoiseModel::Hiccup:
        break;
      case NoiseModel::Normal:
        out[i] = std::max(0.0, 1 + sigma * normal_quantile(share));
        break;
      case NoiseModel::Lognormal:
        out[i] = std::exp(sigma * normal_quantile(share));
        break;
      case NoiseModel::Empirical:
        out[i] =
            static_cast<double>(
                noise.factors[static_cast<std::size_t>(share * static_cast<double>(noise.factors.size()))]) /
            static_cast<double>(kUnitScale);
        break;
    }
  }
  // Rounded, so that the last digit of a mathematics library does not show.
  for (double& factor : out) factor = std::ldexp(std::nearbyint(std::ldexp(factor, 30)), -30);
  return out;
}

/// To the nearest tick: std::llround is a call, which takes as long as all the rest of the loop.
inline Ticks nearest(double ticks) {
  constexpr double kHalf = 0.5;
  return static_cast<Ticks>(ticks + kHalf);
}

/// splitmix64: seeds of scenarios that have nothing in common.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

/// Knuth's linear congruential generator: its upper bits are good, and only those are used.
inline std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state;
}

}  // namespace

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
    : schedule_(schedule), costs_(costs), noise_(noise), order_(schedule, true), factors_(factors_of(noise)) {
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
                  0};
    if (step.ends_entry) {
      std::size_t last = step.first_op + 1;
      while (schedule.ops()[last - 1].joined()) ++last;
      record.duration = static_cast<double>(costs.entry_duration(schedule, step.first_op, last));
      const LaneTimes lane = lane_times(costs, schedule, step.first_op, last);
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
  const auto period = static_cast<double>(noise_.period);
  const auto pause = pauses ? static_cast<double>(noise_.time) : 0.0;
  double busy = 0;
  double others = 0;
  for (const Record& record : records_) {
    busy += record.duration * factor + pause;
    others += static_cast<double>(record.delay) + static_cast<double>(record.lane);
  }
  if (pauses) busy /= 1 - pause / period;
  if (busy + others >= static_cast<double>(kMaxTicks))
    throw InputError(
        "with costs.noise a step may take more than 2^62 ticks; use less noise or a larger time unit");
  if (pauses && busy / period * count > kMaxPauses)
    throw InputError(
        fmt::format("costs.noise means {:.1e} pauses in all scenarios; at most {:.0e} are simulated: use a "
                    "longer period or fewer scenarios",
                    busy / period * count, kMaxPauses));
}

/// The branch-free loop: what varies between lanes lies side by side.
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
      // One multiplication, then to the nearest tick: the same on every machine.
      const double drawn = record.duration * factors[next(random[lane]) >> (64 - kFactorBits)];
      auto duration = nearest(drawn);
      const Ticks start = std::max(previous[lane], producer[lane] + record.delay);
      if constexpr (kHiccups) {
        Ticks& hiccup = batch.next_hiccup[record.rank * kLanes + lane];
        // A pause that begins while the op runs makes it longer, so that the next pause may fall into it too. Pauses in idle time pass.
        if (hiccup < start) hiccup += (start - hiccup + noise_.period - 1) / noise_.period * noise_.period;
        for (; duration > 0 && start + duration > hiccup; hiccup += noise_.period) duration += noise_.time;
      }
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
  out.makespan.push_back(latest);
  const double whole = static_cast<double>(latest) * static_cast<double>(after_.size());
  out.bubble.push_back(whole > 0 ? 1 - batch.busy[lane] / whole : 0.0);
  walk_path(batch, lane, last, out, rows);
}

void Scenarios::share_rows(const std::vector<double>& rows, ScenarioTimes& out) const {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t first = first_op_of_row_[row];
    std::size_t last = first + 1;
    while (schedule_.ops()[last - 1].joined()) ++last;
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(costs_.op_duration(schedule_, i));
    for (std::size_t i = first; i < last; ++i) {
      const Op op = schedule_.ops()[i];
      const double share = sum > 0 ? static_cast<double>(costs_.op_duration(schedule_, i)) / sum
                                   : 1 / static_cast<double>(last - first);
      out.on_path[index_of(op.kind())][schedule_.slot_of(op).at()] += rows[row] * share;
    }
  }
}

ScenarioTimes Scenarios::run(int count, std::uint64_t seed) const {
  require_fit(count);
  const auto ranks = static_cast<std::size_t>(schedule_.ranks());
  ScenarioTimes out;
  out.on_path.assign(kOpKinds, std::vector<double>(static_cast<std::size_t>(schedule_.placement().slots())));
  out.link_on_path.assign(ranks * ranks, 0);
  std::vector<double> rows(first_op_of_row_.size());
  const std::uint64_t own = mixed(seed);
  Batch batch;
  batch.end.assign((ranks + 1 + records_.size()) * kLanes, 0);
  std::fill_n(batch.end.begin() + static_cast<std::ptrdiff_t>(ranks * kLanes), kLanes, -kMaxTicks);
  batch.next_hiccup.resize(ranks * kLanes);
  for (int done = 0; done < count; done += static_cast<int>(kLanes)) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      batch.random[lane] = mixed(own + static_cast<std::uint64_t>(done) + lane);
    if (noise_.model == NoiseModel::Hiccup) {
      for (std::size_t rank = 0; rank < ranks; ++rank)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          const bool has_them =
              noise_.ranks.empty() || std::find(noise_.ranks.begin(), noise_.ranks.end(),
                                                Rank(static_cast<std::int32_t>(rank))) != noise_.ranks.end();
          const auto phase =
              static_cast<Ticks>((next(batch.random[lane]) >> 1) % static_cast<std::uint64_t>(noise_.period));
          batch.next_hiccup[rank * kLanes + lane] = has_them ? phase : kMaxTicks;
        }
      evaluate<true>(batch);
    } else {
      evaluate<false>(batch);
    }
    const auto lanes = std::min(kLanes, static_cast<std::size_t>(count - done));
    for (std::size_t lane = 0; lane < lanes; ++lane) finish(batch, lane, out, rows);
  }
  share_rows(rows, out);
  return out;
}

}  // namespace pipeloom
