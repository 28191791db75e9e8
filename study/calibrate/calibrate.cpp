#include "study/calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/tick_sum.hpp"
#include "study/calibrate/costs_file.hpp"
#include "study/calibrate/pairs.hpp"
#include "study/explain/amounts.hpp"
#include "study/run/evaluate.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::calibrate {
namespace {

/// Starts and ends of more ops than this take explain() seconds.
constexpr std::size_t kMostExplained = 50'000;
/// Another transfer model is kept where it leaves at most this part of what the one before it leaves.
constexpr double kMostLeft = 0.2;
/// A latency fitted to the step is another than the measured one by no more than this part of it, and by this part of a usual op.
constexpr double kMostApart = 0.3;
constexpr double kSmallOfOp = 0.002;
/// Of fewer messages some latency or other gives the step under any model.
constexpr std::int64_t kFewestMessages = 8;

/// Durations of one kind on one stage.
struct CellRest {
  std::vector<Ticks> measured;
  std::vector<Ticks> simulated;
  std::vector<Ticks> rest;
};

/// (stage, kind, kOpKinds for groups)
using CellName = std::pair<int, std::size_t>;

CellName cell_of(const Schedule& schedule, std::size_t first, std::size_t last) {
  const auto ops = schedule.ops();
  if (last - first == 1) return {ops[first].stage().value(), index_of(ops[first].kind())};
  return {ops[first].stage().value(), kOpKinds};
}

/// `entry` is what the simulation puts into every op and the measurement between them.
std::vector<Residual> residuals_of(const Timeline& measured, const Timeline& simulated, Ticks entry) {
  const Schedule& schedule = *measured.schedule;
  std::map<CellName, CellRest> cells;
  const auto add = [&](std::size_t first, std::size_t last) {
    CellRest& cell = cells[cell_of(schedule, first, last)];
    const Ticks time = simulated.end_of(last - 1) - simulated.start_of(first) - entry;
    for (int step = 0; step < measured.steps; ++step) {
      const Ticks duration = measured.end_of(last - 1, step) - measured.start_of(first, step);
      cell.measured.push_back(duration);
      cell.simulated.push_back(time);
      cell.rest.push_back(duration - time);
    }
  };
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const bool in_turn = last - first > 1 &&
                                          measured.start_of(first) != measured.start_of(first + 1) &&
                                          simulated.start_of(first) != simulated.start_of(first + 1);
                     if (!in_turn) return add(first, last);
                     for (std::size_t i = first; i < last; ++i) add(i, i + 1);
                   });
  std::vector<Residual> out;
  for (auto& [name, cell] : cells) {
    Residual& one = out.emplace_back();
    one.stage = name.first;
    if (name.second < kOpKinds) one.kind = kAllOpKinds[name.second];
    one.measured = cost::sample_of(std::move(cell.measured));
    one.time = cost::sample_of(std::move(cell.simulated)).median;
    one.rest = cost::sample_of(std::move(cell.rest));
  }
  return out;
}

/// The order that ran under these costs. Throws as evaluate_schedule() does.
Run simulated(const Timeline& timeline, const cost::CostSpec& costs) {
  io::Config config;
  config.costs = costs;
  Limits limits;
  limits.critical_path_entries = 0;
  limits.bound_entries = 0;
  return evaluate_schedule(timeline.schedule, "", config, limits);
}

/// Nothing where it would take too long, or ranks wait for more than messages.
std::optional<explain::Explanation> explained(const Run& run, const Timeline& timeline) {
  if (timeline.start.size() > kMostExplained || !waits_for_messages_alone(*timeline.schedule))
    return std::nullopt;
  return explain::explain({.timeline = run.timeline, .costs = run.costs, .rank_time = run.costs->rank_time},
                          timeline);
}

/// Costs have time that is lost before an entry as part of its own: it is none of the op's.
void begin_after_lost_time(const std::vector<LostTime>& lost, Timeline& timeline) {
  for (const LostTime& one : lost)
    for (std::size_t i = one.first; i < one.last; ++i) timeline.start[i] += one.time;
}

/// The simulated order has groups as the file's schedule has them; what is explained are their parts.
Replay replay_of(const Timeline& timeline, const Measurements& measured, const cost::CostSpec& costs) {
  Run run = simulated(timeline, costs);
  Replay out;
  out.measured = cost::sample_of(measured.waits.step_times).median;
  out.simulated = span_of(run.timeline).length();
  if (!measured.single.before.empty()) begin_after_lost_time(measured.waits.lost, run.timeline);
  out.residuals = residuals_of(timeline, run.timeline, costs.entry - measured.constant);
  const Timeline apart = with_parts_apart(timeline);
  run.timeline.schedule = apart.schedule;
  out.explanation = explained(run, apart);
  return out;
}

/// The costs under another transfer model, with the one latency of all links with which the step takes as long as the measured one. Nothing
/// where it takes longer without any. Throws as evaluate_schedule() does.
std::optional<cost::CostSpec> with_model(const Timeline& timeline, Ticks measured, cost::CostSpec costs,
                                         cost::TransferModel model) {
  costs.transfer = {};
  costs.transfer.model = model;
  // What `auto` is for an order without a framework: the file then says the same for a schedule that has one.
  costs.transfer.plan = model == cost::TransferModel::Blocking ? "step" : "at-sender";
  const auto step_under = [&](Ticks latency) {
    costs.transfer.link.latency = latency;
    return span_of(simulated(timeline, costs).timeline).length();
  };
  // Steps are no shorter for longer messages. No message takes the whole step.
  Ticks least = 0;
  Ticks most = measured;
  if (step_under(least) > measured) return std::nullopt;
  while (most - least > 1) {
    const Ticks middle = least + (most - least) / 2;
    (step_under(middle) <= measured ? least : most) = middle;
  }
  costs.transfer.link.latency = least;
  return costs;
}

Ticks mean_step(const Waits& waits) {
  TickSum sum;
  for (const Ticks step : waits.step_times) sum += TickSum::times(step, 1);
  return static_cast<Ticks>(sum.value() / static_cast<std::int64_t>(waits.step_times.size()));
}

/// Makes `value` as large as off(), which grows with it, stays at or below 0, from `least` to below `most`; `least` where it never is.
template <class Off>
void fit(Ticks& value, Ticks least, Ticks most, Off&& off) {
  while (most - least > 1) {
    value = least + (most - least) / 2;
    (off() <= 0 ? least : most) = value;
  }
  value = least;
}

/// Of pauses that differ from op to op and from step to step the means do not add up to the step: ranks wait for the one that paused longest, and pauses of
/// ranks that wait anyway cost nothing. `entry` is then as long as makes the simulated step the mean one; where that is too long without it, what messages take of
/// ranks is less. Throws as evaluate_schedule() does.
void fit_pauses(const Timeline& timeline, Calibration& calibration) {
  constexpr double kNear = 0.001;
  constexpr double kFar = 0.25;
  const Waits& waits = calibration.measured.waits;
  if (!waits.uneven || timeline.steps < 2 || timeline.start.size() > kMostExplained) return;
  const Ticks mean = mean_step(waits);
  cost::CostSpec costs = calibration.costs;
  const auto off = [&] { return span_of(simulated(timeline, costs).timeline).length() - mean; };
  const Ticks before = off();
  const auto part = std::abs(static_cast<double>(before)) / static_cast<double>(mean);
  if (part < kNear || part > kFar) return;
  // One op at least takes `entry` of the step.
  if (before < 0)
    fit(costs.entry, costs.entry, costs.entry - before, off);
  else
    fit(costs.entry, calibration.measured.constant, costs.entry, off);
  if (off() > 0) fit(costs.transfer.rank_time, 0, costs.transfer.rank_time, off);
  if (off() > 0) return;
  const auto text = [&](Ticks time) { return time_text(time, timeline.unit); };
  const bool is_less = costs.transfer.rank_time < calibration.costs.transfer.rank_time;
  calibration.warnings.push_back(fmt::format(
      "pauses between ops are uneven ({} in the mean, steps {} apart): `entry` is {}{}, with which the "
      "simulated step is the mean one, and a single step may be as far from it as these are",
      text(waits.between), text(cost::sample_of(waits.step_times).spread), text(costs.entry),
      is_less ? fmt::format(" and `rank_time` {}", text(costs.transfer.rank_time)) : ""));
  calibration.costs = std::move(costs);
}

/// What lies between most entries that stand back to back and send or receive.
Ticks usual_gap(const Waits& waits) {
  const BackToBack* most = nullptr;
  for (const BackToBack& one : waits.back_to_back)
    if (one.messages > 0 && (most == nullptr || one.gap.count > most->gap.count)) most = &one;
  return most != nullptr ? most->gap.median : 0;
}

/// Whether messages take about this long, as far as ranks waited for some: of ranks that block it is the gap between their entries. A latency fitted to
/// the step alone takes what is no message's as well.
bool is_seen(const Measurements& measured, cost::TransferModel model, Ticks latency) {
  const std::optional<Ticks> usual = usual_latency(measured.waits.links);
  const auto is_near = [&](Ticks seen) {
    const double most =
        kMostApart * static_cast<double>(seen) + kSmallOfOp * static_cast<double>(measured.usual_entry);
    return std::abs(static_cast<double>(latency - seen)) <= most;
  };
  if (model == cost::TransferModel::Blocking) return is_near(usual_gap(measured.waits));
  return !usual || is_near(*usual);
}

/// Whether there are messages enough for a latency that is fitted to the step to be no accident.
bool tells_models_apart(const Timeline& timeline) {
  const Schedule& schedule = *timeline.schedule;
  const std::int64_t of_microbatch = 2 * (std::int64_t{schedule.stages()} - 1);
  return of_microbatch * schedule.microbatches() * timeline.steps >= kFewestMessages;
}

/// How far the times for which ranks are idle before entries are from the simulated ones, in all. Of several steps the medians count.
double idle_apart(const Timeline& timeline, const cost::CostSpec& costs) {
  const Run run = simulated(timeline, costs);
  const Schedule& schedule = *timeline.schedule;
  double apart = 0;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    std::optional<std::size_t> before;
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const auto previous = std::exchange(before, last - 1);
                     if (!previous) return;
                     std::vector<Ticks> idle;
                     for (int step = 0; step < timeline.steps; ++step)
                       idle.push_back(timeline.start_of(first, step) - timeline.end_of(*previous, step));
                     const Ticks expected = run.timeline.start[first] - run.timeline.end[*previous];
                     apart +=
                         std::abs(static_cast<double>(cost::sample_of(std::move(idle)).median - expected));
                   });
  }
  return apart;
}

/// Messages that a rank waits for, or that are prefetched, where they and gaps then make hardly a difference. Little less is no evidence: the
/// latency is fitted to the step, and forecasts from measured runs come out no better with what leaves half.
void try_other_models(const Timeline& timeline, Calibration& calibration) {
  using cost::TransferModel;
  const auto& explanation = calibration.replay->explanation;
  const bool has_lost = !calibration.measured.waits.lost.empty();
  if (!explanation || !tells_models_apart(timeline)) return;
  if (!has_lost && !explain::may_be_of_other_model(*explanation)) return;
  // Time that is lost before ops under one model may be what messages take under the other.
  const auto left = [&](const Replay& replay, const cost::CostSpec& costs) {
    return has_lost ? idle_apart(timeline, costs) : static_cast<double>(waiting_of(*replay.explanation));
  };
  const double first = left(*calibration.replay, calibration.costs);
  const Ticks measured = calibration.replay->measured;
  for (const TransferModel model : {TransferModel::Async, TransferModel::Blocking}) {
    try {
      auto costs = with_model(timeline, measured, calibration.costs, model);
      if (!costs || !is_seen(calibration.measured, model, *costs->transfer.link.latency)) continue;
      Replay other = replay_of(timeline, calibration.measured, *costs);
      if (left(other, *costs) >= kMostLeft * left(*calibration.replay, calibration.costs)) continue;
      calibration.replay = std::move(other);
      calibration.costs = std::move(*costs);
    } catch (const ScheduleError&) {
      continue;  // this order cannot run so
    }
  }
  if (calibration.costs.transfer.model == TransferModel::Latency) return;
  const auto text = [&](double ticks) { return time_text(std::llround(ticks), timeline.unit); };
  calibration.warnings.push_back(
      fmt::format("messages are those of the transfer model `{}`, with the latency that gives the measured "
                  "step: {} {} then, and {} under `latency`",
                  name_of(calibration.costs.transfer.model),
                  has_lost ? "the times for which ranks are idle before ops are off by"
                           : "they and gaps make a difference of",
                  text(left(*calibration.replay, calibration.costs)), text(first)));
}

/// The row that names the op before which time is lost, or the group by its forward; nothing for a group that has no time of its own.
std::optional<cost::CostRow> row_of_lost(const Schedule& schedule, const LostTime& lost, bool in_turn) {
  const auto parts = schedule.ops().subspan(lost.first, in_turn ? 1 : lost.last - lost.first);
  const auto is_forward = [](Op op) { return op.kind() == OpKind::Forward; };
  if (parts.size() > 1 && std::ranges::count_if(parts, is_forward) != 1) return std::nullopt;
  const Op op = parts.size() > 1 ? *std::ranges::find_if(parts, is_forward) : parts.front();
  cost::CostRow row;
  row.kind = op.kind();
  row.stage = op.stage().value();
  row.microbatch = op.microbatch().value();
  row.of_group = parts.size() > 1;
  if (op.is_sliced() && !row.of_group) row.slice = op.slice();
  return row;
}

bool names_the_same(const cost::CostRow& a, const cost::CostRow& b) {
  return std::tie(a.kind, a.rank, a.stage, a.microbatch, a.slice, a.of_group) ==
             std::tie(b.kind, b.rank, b.stage, b.microbatch, b.slice, b.of_group) &&
         a.is_factor == b.is_factor;
}

/// Puts time that is lost before single entries into theirs. Throws as evaluate_schedule() does.
void take_lost_time(const Timeline& timeline, Calibration& calibration) {
  SingleOps& single = calibration.measured.single;
  const Run run = simulated(timeline, calibration.costs);
  single.before.assign(single.rows.size(), 0);
  const auto& overlap = calibration.costs.overlap;
  const bool in_turn = overlap && overlap->rule == OverlapRule::Sequential;
  for (const LostTime& lost : calibration.measured.waits.lost) {
    std::optional<cost::CostRow> row = row_of_lost(*timeline.schedule, lost, in_turn);
    if (!row) continue;
    const std::size_t last = row->of_group ? lost.last - 1 : lost.first;
    row->number =
        run.timeline.end_of(last) - run.timeline.start_of(lost.first) - calibration.costs.entry + lost.time;
    const auto same = std::ranges::find_if(
        single.rows, [&](const cost::CostRow& one) { return names_the_same(one, *row); });
    single.before.resize(
        std::max(single.before.size(), static_cast<std::size_t>(same - single.rows.begin()) + 1));
    single.before[static_cast<std::size_t>(same - single.rows.begin())] = lost.time;
    if (same != single.rows.end())
      *same = *row;
    else
      single.rows.push_back(*row);
  }
  calibration.costs.exceptions = std::make_shared<const std::vector<cost::CostRow>>(single.rows);
}

void replay(const Timeline& timeline, Calibration& calibration) {
  const bool has_lost = !calibration.measured.waits.lost.empty();
  try {
    if (!has_lost) fit_pauses(timeline, calibration);
    calibration.replay = replay_of(timeline, calibration.measured, calibration.costs);
  } catch (const ScheduleError& error) {
    calibration.warnings.push_back(fmt::format("the order that ran cannot be simulated: {}", error.what()));
    return;
  }
  try_other_models(timeline, calibration);
  // Under another model messages may be what ranks lost their time to.
  if (!has_lost || calibration.costs.transfer.model != cost::TransferModel::Latency) return;
  take_lost_time(timeline, calibration);
  fit_pauses(timeline, calibration);
  calibration.replay = replay_of(timeline, calibration.measured, calibration.costs);
}

void warn(Calibration& calibration, const Timeline& timeline) {
  const Measurements& measured = calibration.measured;
  const auto say = [&](std::string line) { calibration.warnings.push_back(std::move(line)); };
  for (std::string& line : unmeasured(measured)) say(std::move(line));
  if (measured.single.left_out > 0)
    say(fmt::format("{} ops that differ from their stage's are left out: the {} largest are exceptions",
                    measured.single.left_out, kMostExceptions));
  if (timeline.steps == 1 && !measured.single.rows.empty())
    say("one step was measured: what single ops took more may be of this step alone; measure several to "
        "tell");
  if (timeline.schedule->has_copies())
    say("copies run beside the queues, so that gaps say nothing about messages: their time is left out");
  if (timeline.schedule->shares_output())
    say("S and T wait for all ranks at once, so that gaps say nothing about messages: their time is left "
        "out");
  const bool has_links = !measured.waits.links.empty();
  if (has_links && !usual_latency(measured.waits.links))
    say("no rank ever waited for a message: their latency is not known, and left out");
  const ClockFit& clocks = measured.waits.clocks;
  if (!clocks.loose.empty()) {
    std::vector<int> ranks;
    for (const Rank rank : clocks.loose) ranks.push_back(rank.value());
    say(fmt::format("no messages both ways tie the clocks of ranks {} to that of rank 0",
                    fmt::join(ranks, ", ")));
  }
}

void find_constant(Calibration& calibration, const Placement& placement, const OtherRun& other) {
  calibration.constant = chunk_constant(calibration.measured, placement, other);
  if (calibration.constant->median > 0) return take_off(calibration.measured, calibration.constant->median);
  calibration.warnings.push_back(fmt::format(
      "ops of {} and of this run take time by their layers alone: nothing is taken off for `entry`",
      other.file));
}

}  // namespace

Calibration calibrate(const Timeline& timeline, const KnownOfRun& known,
                      const std::optional<OtherRun>& other) {
  Calibration out;
  out.measured = measure(timeline, known);
  if (other) find_constant(out, timeline.schedule->placement(), *other);
  out.costs = costs_of(out.measured);
  out.orders = known_orders(*timeline.schedule);
  warn(out, timeline);
  replay(timeline, out);
  return out;
}

}  // namespace pipeloom::study::calibrate
