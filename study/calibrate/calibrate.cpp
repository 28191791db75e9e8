#include "study/calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include <pipeloom/error.hpp>
#include "study/calibrate/costs_file.hpp"
#include "study/run/evaluate.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::calibrate {
namespace {

/// Starts and ends of more ops than this take explain() seconds.
constexpr std::size_t kMostExplained = 50'000;

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
  const auto add = [&](CellName name, std::size_t i) {
    CellRest& cell = cells[name];
    const Ticks time = simulated.end_of(i) - simulated.start_of(i) - entry;
    for (int step = 0; step < measured.steps; ++step) {
      const Ticks duration = measured.end_of(i, step) - measured.start_of(i, step);
      cell.measured.push_back(duration);
      cell.simulated.push_back(time);
      cell.rest.push_back(duration - time);
    }
  };
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     const bool in_turn =
                         last - first > 1 && measured.start_of(first) != measured.start_of(first + 1);
                     if (!in_turn) return add(cell_of(schedule, first, last), first);
                     for (std::size_t i = first; i < last; ++i) add(cell_of(schedule, i, i + 1), i);
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

/// The order that ran under these costs. Nothing where it is no schedule that can run.
std::optional<Run> simulated(const Timeline& timeline, const cost::CostSpec& costs,
                             std::vector<std::string>& warnings) {
  io::Config config;
  config.costs = costs;
  Limits limits;
  limits.critical_path_entries = 0;
  limits.bound_entries = 0;
  try {
    return evaluate_schedule(timeline.schedule, "", config, limits);
  } catch (const ScheduleError& error) {
    warnings.push_back(fmt::format("the order that ran cannot be simulated: {}", error.what()));
  }
  return std::nullopt;
}

/// Nothing where it would take too long, or copies run beside the queues.
std::optional<explain::Explanation> explained(const Run& run, const Timeline& timeline) {
  const bool too_large = timeline.start.size() > kMostExplained || timeline.schedule->has_copies();
  if (too_large) return std::nullopt;
  return explain::explain({.timeline = run.timeline, .costs = run.costs, .rank_time = run.costs->rank_time},
                          timeline);
}

std::optional<Replay> replay_of(const Timeline& timeline, Calibration& calibration) {
  const auto run = simulated(timeline, calibration.costs, calibration.warnings);
  if (!run) return std::nullopt;
  Replay out;
  out.measured = cost::sample_of(calibration.measured.waits.step_times).median;
  out.simulated = span_of(run->timeline).length();
  out.residuals = residuals_of(timeline, run->timeline, calibration.costs.entry);
  out.explanation = explained(*run, timeline);
  return out;
}

/// Empty where stage s is on rank s mod p, or on two ranks.
std::vector<std::int32_t> stage_ranks(const Placement& placement) {
  std::vector<std::int32_t> ranks;
  bool in_turn = true;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage) {
    ranks.push_back(placement.rank_of(stage).value());
    in_turn = in_turn && ranks.back() == stage.value() % placement.ranks();
  }
  return in_turn || placement.replicas() > 1 ? std::vector<std::int32_t>() : ranks;
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

}  // namespace

Calibration calibrate(const Timeline& timeline, const KnownOfRun& known, std::vector<std::int32_t> layers) {
  Calibration out;
  out.measured = measure(timeline, known);
  if (!layers.empty()) out.measured.stage_ranks = stage_ranks(timeline.schedule->placement());
  out.measured.layers = std::move(layers);
  out.costs = costs_of(out.measured);
  out.orders = known_orders(*timeline.schedule);
  warn(out, timeline);
  out.replay = replay_of(timeline, out);
  return out;
}

}  // namespace pipeloom::study::calibrate
