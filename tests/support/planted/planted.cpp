#include "support/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/formats/timeline_rows.hpp"
#include "study/explain/named_causes.hpp"
#include "support/planted/plot.hpp"

namespace pipeloom::test {
namespace {

using study::explain::Cause;
using study::explain::CauseKind;

struct Shape {
  const char* schedule;
  int ranks;
  int chunks;
  int microbatches;
};
constexpr std::array<Shape, 16> kShapes = {{{"1f1b", 4, 1, 8},
                                            {"1f1b", 4, 1, 16},
                                            {"1f1b", 8, 1, 16},
                                            {"1f1b", 8, 1, 32},
                                            {"zb-h1", 4, 1, 8},
                                            {"zb-h1", 8, 1, 16},
                                            {"zb-h1", 8, 1, 32},
                                            {"interleaved-1f1b", 4, 2, 8},
                                            {"interleaved-1f1b", 8, 2, 16},
                                            {"interleaved-1f1b", 4, 4, 16},
                                            {"interleaved-1f1b", 8, 2, 32},
                                            {"zbv", 4, 2, 8},
                                            {"zbv", 4, 2, 16},
                                            {"zbv", 8, 2, 16},
                                            {"dualpipe-v", 4, 2, 16},
                                            {"dualpipe-v", 8, 2, 24}}};

std::string text_of(const Planted& cause) {
  Cause same{.kind = cause.kind,
             .rank = cause.rank,
             .stage = cause.stage,
             .microbatch = cause.microbatch,
             .op_kind = cause.op_kind,
             .from = cause.from,
             .to = cause.to,
             .both_ways = true,
             .factor = cause.factor,
             .added = cause.added};
  if (cause.kind == CauseKind::Order) same.ranks = {*cause.rank};
  return study::explain::text_of(same, TimeUnit::Microsecond);
}

/// The schedule's times as predicted: 10 ms of forwards a rank, cells apart by up to 5 %.
Costs costs_for(Plot& plot) {
  const PlantedWorld& world = plot.world;
  const Placement& placement = plot.schedule->placement();
  Costs costs = uniform_costs(
      placement,
      {.forward = plot.forward,
       .backward = 2 * plot.forward,
       .backward_input = plot.forward,
       .backward_weight = plot.forward * 9 / 10,
       .delay = world.most_latency > 0 ? (world.least_latency + world.most_latency) / 2 : plot.forward / 20,
       .unit = TimeUnit::Microsecond});
  for (auto& kind : costs.duration)
    for (Ticks& ticks : kind)
      ticks = std::llround(static_cast<double>(ticks) * uniform(plot.random, 0.95, 1.05));
  const Slot last = placement.slot_of(Stage(plot.schedule->stages() - 1), Replica(0));
  for (auto& kind : costs.duration)
    kind[last.at()] = std::llround(static_cast<double>(kind[last.at()]) * world.last_stage);
  return costs;
}

/// Without those that make the schedule hang. Two of the same ops become one.
void invent_causes(Plot& plot) {
  const PlantedWorld& world = plot.world;
  const std::size_t count =
      world.causes < 0 ? 1 + pick(plot.random, 3) : static_cast<std::size_t>(world.causes);
  for (std::size_t planted = 0; planted < count;) {
    Planted cause = plot.invent();
    const auto twice = [&](const Planted& other) {
      return other.kind == cause.kind &&
             (!is_of_ops(cause.kind) || (other.rank == cause.rank && other.stage == cause.stage &&
                                         other.microbatch == cause.microbatch));
    };
    if (std::any_of(plot.causes.begin(), plot.causes.end(), twice)) continue;
    ++planted;
    const auto same = std::find_if(plot.causes.begin(), plot.causes.end(),
                                   [&](const Planted& other) { return plot.of_same_ops(other, cause); });
    if (same == plot.causes.end())
      plot.causes.push_back(cause);
    else
      same->factor *= cause.factor;
  }
  if (world.wrong_costs > 0)
    for (const double log_shift : plot.draw_shifts()) plot.cell_shift.push_back(std::exp(log_shift));
  while (!play(plot.net, *plot.costs, plot.with(~0U))) plot.causes.pop_back();
}

/// Plays one step behind the others. Returns when the next one may begin.
Ticks add_step(Plot& plot, const std::vector<Ticks>& offsets, Ticks begin, PlantedRun& run) {
  const PlantedWorld& world = plot.world;
  Random& random = plot.random;
  Conditions conditions = plot.with(~0U);
  for (double& factor : conditions.factor) factor *= std::exp(world.sigma * gauss(random));
  plot.draw_latencies(conditions);
  const std::vector<Ticks> planted = conditions.paused;
  plot.pause(conditions);
  const Step step = *play(plot.net, *plot.costs, conditions);
  for (std::size_t i = 0; i < plot.schedule->num_ops(); ++i) {
    const Ticks by = begin + (world.clocks > 0 ? offsets[plot.net.rank_of(i).at()] : 0);
    run.measured.start.push_back(step.start[i] + by);
    const auto early = static_cast<Ticks>(
        world.early_end > 0 ? uniform(random, 0, 1) * static_cast<double>(world.early_end) : 0);
    const std::size_t e = plot.net.entry_of[i];
    // Overlapped ops end together.
    const bool is_joined = i > 0 && plot.net.entry_of[i - 1] == e;
    run.measured.end.push_back(is_joined ? run.measured.end.back() : step.end[i] + by - early);
    run.lost[i] += conditions.paused[e] - planted[e] + (conditions.launch.empty() ? 0 : conditions.launch[e]);
  }
  return begin + step.length + plot.forward;
}

}  // namespace

PlantedRun plant(std::uint64_t seed, const PlantedWorld& world) {
  Plot plot{.random = Random(seed * 7919 + 13), .world = world};
  const Shape shape = kShapes[pick(plot.random, kShapes.size())];
  PlantedRun run;
  run.shape = fmt::format("{} p {} v {} m {}", shape.schedule, shape.ranks, shape.chunks, shape.microbatches);
  const Params params{.ranks = shape.ranks, .microbatches = shape.microbatches, .chunks = shape.chunks};
  plot.schedule =
      std::make_shared<const Schedule>(schedules::make(*schedules::find(shape.schedule).generator, params));
  plot.forward = 10'000'000'000 / shape.chunks;
  plot.costs = std::make_shared<const Costs>(costs_for(plot));
  plot.net = net_of(*plot.schedule, *plot.costs);
  run.forward = plot.forward;
  run.predicted.timeline = simulate(plot.schedule, *plot.costs);
  run.predicted.costs = plot.costs;
  invent_causes(plot);
  plot.measure_truth();
  plot.measure_spreads(run);

  run.measured = {
      .schedule = plot.schedule, .steps = world.steps, .unit = TimeUnit::Microsecond, .start = {}, .end = {}};
  Conditions even = plot.with(~0U);
  plot.pause_evenly(even);
  run.even_step = play(plot.net, *plot.costs, even)->length;
  run.launches = world.launch > 0 || world.early_end > 0;
  run.lost.assign(plot.schedule->num_ops(), 0);
  std::vector<Ticks> offsets;
  for (int r = 0; r < shape.ranks; ++r)
    offsets.push_back(
        std::llround(world.clocks * static_cast<double>(plot.forward) * uniform(plot.random, -1, 1)));
  Ticks begin = 0;
  for (int s = 0; s < world.steps; ++s) begin = add_step(plot, offsets, begin, run);
  run.causes = std::move(plot.causes);
  for (Planted& cause : run.causes) cause.text = text_of(cause);
  return run;
}

Timeline as_read(const Timeline& measured) {
  const Schedule& schedule = *measured.schedule;
  io::TimelineRows rows;
  rows.unit = measured.unit;
  for (int step = 0; step < measured.steps; ++step)
    for (std::size_t i = 0; i < schedule.num_ops(); ++i)
      rows.rows.push_back({.op = schedule.ops()[i],
                           .start = measured.start_of(i, step),
                           .end = measured.end_of(i, step),
                           .rank = schedule.rank_of_op(i).value(),
                           .step = step});
  return io::timeline_of(std::move(rows), "measured").timeline;
}

}  // namespace pipeloom::test
