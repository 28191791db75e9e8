#include "study/plan/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <utility>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "study/run/repeated/short_runs.hpp"

namespace pipeloom::study {
namespace {

/// The part of the budget that simulations of published schedules may take, and what they may take whatever the budget is.
constexpr double kShare = 0.5;
constexpr double kAlways = 0.25;
/// The part of that which a schedule with a search of its own may take, as the plan searches orders itself, and the part that the first part of its search
/// may take where that is too little for the whole.
constexpr double kSearchShare = 0.1;
constexpr double kFirstPartShare = 0.6;
/// The part of that up to which a simulation is tried before others that promise more: plans should seldom leave out what takes little.
constexpr double kLittleShare = 1.0 / 40;
/// What all runs that a plan keeps may take.
constexpr double kMostBytes = 1e9;
/// So much longer than the budget, and so many seconds more, estimates may be wrong; and a busy machine may take so many times as long.
constexpr double kSlack = 1.25;
constexpr double kMore = 1;
constexpr double kBusy = 4;

std::string seconds_text(double seconds) {
  return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

/// What a run keeps of an op: itself, its tensor, its start and end; and what measuring takes besides.
constexpr double kBytesPerOp = 40;

/// What a pass through one of `chunks` equal stages of a rank takes, from the work of the ranks of a run.
UniformCosts costs_like(const Run& run, int chunks) {
  const Placement& placement = run.schedule->placement();
  const double passes = static_cast<double>(placement.ranks()) * chunks * placement.replicas();
  const auto mean = [&](OpKind kind) {
    double sum = 0;
    for (const Ticks ticks : run.costs->duration[index_of(kind)]) sum += static_cast<double>(ticks);
    return static_cast<Ticks>(sum / passes);
  };
  UniformCosts out;
  out.unit = run.costs->unit;
  out.forward = mean(OpKind::Forward);
  out.backward = mean(OpKind::Backward);
  out.backward_input = mean(OpKind::BackwardInput);
  out.backward_weight = mean(OpKind::BackwardWeight);
  return out;
}

/// The schedule's own closed form; 0 where it has none for these parameters.
double formula_of(const schedules::Generator& generator, const Params& params, const UniformCosts& costs) {
  for (const schedules::ClosedForm& form : generator.closed_forms)
    if (form.quantity == "makespan")
      if (const auto value = form.value(params, costs, Rank(0))) return static_cast<double>(*value);
  return 0;
}

/// The work of a rank, and what the last rank waits for its first pass and after its last one. Where weights' gradients wait, they fill the end.
double way_and_work(const Requirements& takes, const Params& params, const UniformCosts& costs) {
  const auto forward = static_cast<double>(costs.forward);
  const auto backward = takes.splits_backward
                            ? static_cast<double>(costs.backward_input + costs.backward_weight)
                            : static_cast<double>(costs.backward);
  const double work = static_cast<double>(params.microbatches) * params.chunks * (forward + backward);
  const double way = (params.ranks - 1) * (takes.splits_backward ? forward : forward + backward);
  return work + (takes.bidirectional ? way / 2 : way);
}

/// Ops that an evaluation of a run of `all` ops goes through: of long runs those of two short ones, which are looked at once more as they are compared.
double evaluated_ops(const io::Config& config, double all) {
  constexpr double kLooks = 2;
  if (all <= static_cast<double>(kLongRun)) return all;
  try {
    const auto ops = ShortRuns::first_ops(config, {}, Depth::All);
    return ops ? std::min(all, kLooks * *ops) : all;
  } catch (const Error&) {
    return all;  // its run says what is wrong
  }
}

}  // namespace

Promise promise_of(const Variant& variant, const Run* like, bool of_all) {
  Promise out;
  if (variant.config.schedule == io::kCustomSchedule) return out;
  const schedules::Found found = schedules::find(variant.config.schedule);
  const Requirements& takes = found.generator->requirements;
  Params params;
  try {
    params = params_of(variant.config, found);
  } catch (const ScheduleError&) {
    return out;  // it is refused, which costs nothing
  }
  const double passes = static_cast<double>(params.ranks) * params.chunks * params.microbatches;
  const double all = passes * (takes.splits_backward ? 3 : 2) * params.slices() * params.updates();
  const double ops = of_all ? all : evaluated_ops(variant.config, all);
  const schedules::Effort& effort = found.generator->effort;
  const bool is_short =
      !effort.first_part_variant.empty() && params.options.variant == effort.first_part_variant;
  out.first_seconds = effort.seconds(ops, effort.first_part);
  out.seconds = is_short ? out.first_seconds : effort.seconds(ops);
  out.bytes = ops * kBytesPerOp;
  out.is_search = takes.slow_search;
  if (like == nullptr || !is_worth_a_run(*found.generator, params)) return out;
  out.placement = placement_name(found.generator->placement(params));
  const UniformCosts costs = costs_like(*like, params.chunks);
  out.step = formula_of(*found.generator, params, costs);
  if (out.step == 0) out.step = way_and_work(takes, params, costs);
  return out;
}

Budget::Budget(double seconds, int threads) : seconds_(seconds), threads_(std::max(1, threads)) {}

double Budget::most() const {
  return std::max(kShare * seconds_, kAlways) * threads_;
}

bool Budget::takes_little(const Promise& promise) const {
  return promise.seconds <= kLittleShare * most();
}

double Budget::take(const Promise& promise) {
  const double most = this->most();
  const bool is_long = promise.is_search && promise.seconds > kSearchShare * most;
  const double seconds = is_long ? promise.first_seconds : promise.seconds;
  if (is_long && seconds > kFirstPartShare * most) return 0;
  if (spent_ + seconds > most || bytes_ + promise.bytes > kMostBytes) return 0;
  spent_ += seconds;
  bytes_ += promise.bytes;
  return is_long ? seconds / promise.seconds : 1;
}

std::string Budget::refusal(const Promise& promise) const {
  if (bytes_ + promise.bytes > kMostBytes)
    return fmt::format(
        "not tried: its run takes about {:.2g} GB, and what was simulated before holds {:.2g} of {:.2g} GB",
        promise.bytes / 1e9, bytes_ / 1e9, kMostBytes / 1e9);
  if (promise.is_search)
    return fmt::format(
        "not tried: its search takes about {}, and the first part of it {}, too long for the budget of {}; "
        "give "
        "a larger --budget",
        seconds_text(promise.seconds), seconds_text(promise.first_seconds), seconds_text(seconds_));
  return fmt::format(
      "not tried: it takes about {} to simulate, and others promised more for the budget of {}; give "
      "a larger --budget",
      seconds_text(promise.seconds), seconds_text(seconds_));
}

double Budget::left() const {
  return std::max(0.0, seconds_ - spent_ / threads_);
}

bool Budget::is_over() const {
  const double most = kSlack * seconds_ + kMore;
  const double worked = static_cast<double>(std::clock() - clock_begin_) / CLOCKS_PER_SEC / threads_;
  return worked > most || std::chrono::duration<double>(Clock::now() - begin_).count() > kBusy * most;
}

Made made_within(const Variant& variant, double share, const Limits& limits) {
  if (share == 1) return {variant, totals_of(variant.config, limits)};
  Made out{variant, {}};
  io::EffectiveConfig effective;
  schedules::Emission emission{.may_end_early = true};
  auto schedule = make_schedule(variant.config, limits, effective, emission);
  if (emission.ended_early) {
    out.variant = with_short_search(variant);
    effective.options.variant = out.variant.config.options.variant;
  }
  out.run = evaluate_made(std::move(schedule), out.variant.config, limits, std::move(effective));
  return out;
}

std::vector<Affordable> affordable(const std::vector<Variant>& variants, const Run* now,
                                   const std::function<bool(const std::string&)>& may_be, Budget& budget,
                                   std::vector<PlanRejected>& why) {
  std::vector<Promise> promises;
  for (const Variant& variant : variants) promises.push_back(promise_of(variant, now));
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::pair(!budget.takes_little(promises[i]), promises[i].step);
  });
  std::vector<Affordable> out;
  for (const std::size_t i : order) {
    if (variants[i].now && now != nullptr) continue;  // it is there already
    if (!may_be(promises[i].placement))
      why[i] = {variants[i].name, kOtherPlacement, Refusal::LeftOut};
    else if (const double share = budget.take(promises[i]); share > 0)
      out.push_back({i, share});
    else
      why[i] = {variants[i].name, budget.refusal(promises[i]), Refusal::NotTried};
  }
  return out;
}

void require_within(double seconds, const io::Config& config) {
  // Charts, orders and files of the answer have all ops, whatever tells its numbers.
  const Promise once = promise_of({"", config, ""}, nullptr, true);
  if (once.seconds <= kSlack * seconds + kMore) return;
  throw InputError(
      Where{"--budget"},
      fmt::format("to simulate {} once takes about {} and {:.2g} GB, and the budget is {}; give --budget "
                  "{:.0f} or more, or fewer microbatches or ranks",
                  config.schedule, seconds_text(once.seconds), once.bytes / 1e9, seconds_text(seconds),
                  std::ceil(4 * once.seconds)));
}

}  // namespace pipeloom::study
