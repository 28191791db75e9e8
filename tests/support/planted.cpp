#include "support/planted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "schedules/generator.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "study/explain/robust.hpp"
#include "study/explain/words.hpp"

namespace pipeloom::test {
namespace {

using study::explain::Cause;
using study::explain::CauseKind;
using Random = std::mt19937_64;

double uniform(Random& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11U) * 0x1p-53);
}
std::size_t pick(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random() % count);
}
/// Box and Muller's: the standard's own distribution differs from library to library.
double gauss(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random, 0, 1)));
  return radius * std::cos(2 * 3.14159265358979323846 * uniform(random, 0, 1));
}

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

/// A schedule as the generator sees it: entries and what their ops wait for.
struct Net {
  const Schedule* schedule = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> entries;  // op indices
  std::vector<std::vector<std::size_t>> queues;              // [rank] entries
  std::vector<std::size_t> entry_of;                         // [op]
  std::vector<std::optional<std::size_t>> producer;          // [op], an op
  std::vector<Ticks> latency;                                // [op]
  std::vector<int> sends;                                    // [entry]
  std::vector<int> receives;
  std::vector<int> cell;  // [entry]

  [[nodiscard]] Rank rank_of(std::size_t op) const { return schedule->rank_of_op(op); }
};

Net net_of(const Schedule& schedule, const Costs& costs) {
  Net net;
  net.schedule = &schedule;
  net.entry_of.resize(schedule.num_ops());
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    auto& queue = net.queues.emplace_back();
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     for (std::size_t i = first; i < last; ++i) net.entry_of[i] = net.entries.size();
                     queue.push_back(net.entries.size());
                     net.entries.emplace_back(first, last);
                   });
  }
  net.sends.assign(net.entries.size(), 0);
  net.receives.assign(net.entries.size(), 0);
  const DependencyMap producers(schedule);
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const std::uint32_t from = producers.producer_of(i);
    const Op op = schedule.ops()[i];
    net.latency.push_back(arrival_delay(costs, op.kind(), schedule.slot_of(op)));
    net.producer.push_back(from == DependencyMap::kNone ? std::nullopt : std::optional<std::size_t>(from));
    if (from == DependencyMap::kNone || net.rank_of(from) == net.rank_of(i)) continue;
    ++net.sends[net.entry_of[from]];
    ++net.receives[net.entry_of[i]];
  }
  return net;
}

/// What one step is made of.
struct Conditions {
  std::vector<double> factor;  // [op]
  std::vector<Ticks> paused;   // [entry] later
  std::vector<Ticks> longer;   // [entry]
  std::vector<Ticks> latency;  // [op]
  std::vector<std::vector<std::size_t>> queues;
  Ticks rank_time = 0;
  std::vector<Ticks> launch = {};  // [entry] before it, if the rank is free only if `launch_hides`
  bool launch_hides = false;
};

struct Step {
  std::vector<Ticks> start;  // [op]
  std::vector<Ticks> end;
  Ticks length = 0;
};

/// Nothing if it hangs.
std::optional<Step> play(const Net& net, const Costs& costs, const Conditions& with) {
  const Schedule& schedule = *net.schedule;
  Step step{std::vector<Ticks>(schedule.num_ops(), 0), std::vector<Ticks>(schedule.num_ops(), -1)};
  std::vector<Ticks> lane(net.entries.size(), 0);
  std::vector<std::size_t> at(net.queues.size(), 0);
  std::vector<Ticks> free(net.queues.size(), 0);
  std::size_t done = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < net.queues.size(); ++r)
      while (at[r] < with.queues[r].size()) {
        const std::size_t e = with.queues[r][at[r]];
        const auto [first, last] = net.entries[e];
        const Ticks launch = with.launch.empty() ? 0 : with.launch[e];
        Ticks ready = free[r] + (with.launch_hides ? launch : 0);
        bool waits = false;
        double duration = 0;
        for (std::size_t i = first; i < last; ++i) {
          duration += static_cast<double>(costs.op_duration(schedule, i)) * with.factor[i];
          if (!net.producer[i]) continue;
          const std::size_t from = *net.producer[i];
          waits = waits || step.end[from] < 0;
          if (net.rank_of(from) != net.rank_of(i))
            ready = std::max(ready, lane[net.entry_of[from]] + with.latency[i]);
        }
        if (waits) break;
        const Ticks start =
            ready + (with.launch_hides ? 0 : launch) + with.rank_time * net.receives[e] + with.paused[e];
        const Ticks end = start + std::llround(duration) + with.longer[e];
        for (std::size_t i = first; i < last; ++i) {
          step.start[i] = start;
          step.end[i] = end;
        }
        lane[e] = free[r] = end + with.rank_time * net.sends[e];
        ++at[r];
        ++done;
        moved = true;
      }
  }
  if (done != net.entries.size()) return std::nullopt;
  step.length = *std::max_element(step.end.begin(), step.end.end()) -
                *std::min_element(step.start.begin(), step.start.end());
  return step;
}

bool meets(const Planted& cause, Rank rank, Op op) {
  return (!cause.rank || *cause.rank == rank) && (!cause.stage || *cause.stage == op.stage()) &&
         (!cause.microbatch || *cause.microbatch == op.microbatch()) &&
         (!cause.op_kind || *cause.op_kind == op.kind());
}

bool is_of_ops(CauseKind kind) {
  return kind == CauseKind::Rank || kind == CauseKind::Stage || kind == CauseKind::Microbatch ||
         kind == CauseKind::Op;
}

struct Plot {
  Random random;
  PlantedWorld world;
  std::shared_ptr<const Schedule> schedule = {};
  std::shared_ptr<const Costs> costs = {};
  Net net = {};
  Ticks forward = 0;
  std::vector<Planted> causes = {};
  std::vector<double> cell_shift = {};  // [op]

  [[nodiscard]] Conditions plain() const {
    return {std::vector<double>(schedule->num_ops(), 1),
            std::vector<Ticks>(net.entries.size(), 0),
            std::vector<Ticks>(net.entries.size(), 0),
            net.latency,
            net.queues,
            0};
  }
  /// bit i: cause i; the bit behind the last: costs that are wrong.
  [[nodiscard]] Conditions with(unsigned set) const;
  void add(Conditions& to, const Planted& cause) const;
  /// Causes, and costs that are wrong.
  [[nodiscard]] std::size_t players() const { return causes.size() + (cell_shift.empty() ? 0 : 1); }
  [[nodiscard]] Ticks length(unsigned set) const { return play(net, *costs, with(set))->length; }
  Planted invent();
  /// Launches and collections of one step.
  void pause(Conditions& to);
  /// Latencies of one step, whatever causes add.
  void draw_latencies(Conditions& to);
  void measure_truth();
  void measure_spreads(PlantedRun& run);
  /// [op]: log of what the predicted costs of its cell are wrong by.
  std::vector<double> draw_shifts();
  /// What such costs make of the causes' log factors for whoever knows their ops and sees both together: least squares.
  [[nodiscard]] std::vector<double> seen_in(const std::vector<double>& log_shifts) const;
  /// Whether two causes are one: "rank 2" and "stage 2" where it holds that stage alone.
  [[nodiscard]] bool of_same_ops(const Planted& a, const Planted& b) const;
};

void Plot::pause(Conditions& to) {
  if (world.launch > 0) {
    to.launch_hides = world.launch_hides;
    const auto mean = static_cast<double>(world.launch);
    for (std::size_t e = 0; e < net.entries.size(); ++e)
      to.launch.push_back(
          std::llround(world.heavy ? mean * std::exp(gauss(random) - 0.5) : uniform(random, 0, 2 * mean)));
  }
  if (world.collections == 0) return;
  for (Ticks& paused : to.paused)
    if (uniform(random, 0, 1) < world.collections)
      paused += std::llround(uniform(random, 0.2, 1) * static_cast<double>(forward));
}

void Plot::draw_latencies(Conditions& to) {
  if (world.most_latency > 0) {
    const auto least = static_cast<double>(world.least_latency);
    const auto most = static_cast<double>(world.most_latency);
    for (Ticks& latency : to.latency)
      if (latency > 0) latency += std::llround(uniform(random, least, most) - (least + most) / 2);
  }
  for (Ticks& latency : to.latency)
    latency = std::llround(static_cast<double>(latency) * std::exp(world.jitter * gauss(random)));
}

std::vector<double> Plot::draw_shifts() {
  std::vector<std::array<double, kOpKinds>> of_slot(static_cast<std::size_t>(schedule->placement().slots()));
  for (auto& slot : of_slot)
    for (double& of : slot) of = world.wrong_costs * gauss(random);
  std::vector<double> shifts;
  for (const Op op : schedule->ops())
    shifts.push_back(of_slot[schedule->slot_of(op).at()][index_of(op.kind())]);
  return shifts;
}

std::vector<double> Plot::seen_in(const std::vector<double>& log_shifts) const {
  const std::size_t n = causes.size();
  std::vector<double> matrix(n * n, 0);
  std::vector<double> right(n, 0);
  for (std::size_t op = 0; op < schedule->num_ops(); ++op) {
    // Causes of microbatches are seen within cells.
    const auto covers = [&](const Planted& cause) {
      return is_of_ops(cause.kind) && !cause.microbatch && meets(cause, net.rank_of(op), schedule->ops()[op]);
    };
    for (std::size_t i = 0; i < n; ++i) {
      if (!covers(causes[i])) continue;
      right[i] += log_shifts[op];
      for (std::size_t k = 0; k < n; ++k) matrix[i * n + k] += covers(causes[k]) ? 1 : 0;
    }
  }
  return study::explain::solve(std::move(matrix), std::move(right));
}

bool Plot::of_same_ops(const Planted& a, const Planted& b) const {
  if (!is_of_ops(a.kind) || !is_of_ops(b.kind)) return false;
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (meets(a, net.rank_of(i), schedule->ops()[i]) != meets(b, net.rank_of(i), schedule->ops()[i]))
      return false;
  return true;
}

void Plot::add(Conditions& to, const Planted& cause) const {
  if (is_of_ops(cause.kind)) {
    for (std::size_t i = 0; i < schedule->num_ops(); ++i)
      if (meets(cause, net.rank_of(i), schedule->ops()[i])) to.factor[i] *= cause.factor;
  } else if (cause.kind == CauseKind::Link) {
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      if (!net.producer[i]) continue;
      const Rank from = net.rank_of(*net.producer[i]);
      const Rank at = net.rank_of(i);
      if (from == at) continue;
      if ((from == *cause.from && at == *cause.to) || (from == *cause.to && at == *cause.from))
        to.latency[i] += cause.added;
    }
  } else if (cause.kind == CauseKind::MessageTime) {
    to.rank_time += cause.added;
  } else if (cause.kind == CauseKind::Hiccup) {
    for (std::size_t i = 0; i < cause.entries.size(); ++i)
      (i % 2 == 0 ? to.longer : to.paused)[cause.entries[i]] += cause.added;
  } else {
    auto& queue = to.queues[cause.rank->at()];
    std::swap(*std::find(queue.begin(), queue.end(), cause.entries[0]),
              *std::find(queue.begin(), queue.end(), cause.entries[1]));
  }
}

Conditions Plot::with(unsigned set) const {
  Conditions conditions = plain();
  for (std::size_t i = 0; i < causes.size(); ++i)
    if ((set >> i & 1U) != 0) add(conditions, causes[i]);
  if (!cell_shift.empty() && (set >> causes.size() & 1U) != 0)
    for (std::size_t i = 0; i < conditions.factor.size(); ++i) conditions.factor[i] *= cell_shift[i];
  return conditions;
}

Planted Plot::invent() {
  const double size = world.size;
  const auto rank = Rank(static_cast<std::int32_t>(pick(random, net.queues.size())));
  const double factor = 1 + size * uniform(random, 0.1, 0.6);
  const auto lost = static_cast<Ticks>(size * uniform(random, 0.3, 3) * static_cast<double>(forward));
  switch (pick(random, 8)) {
    case 0:
      return {.kind = CauseKind::Rank, .rank = rank, .factor = factor};
    case 1: {
      const OpKind of =
          schedule->ops()[schedule->queue_begin(rank) + pick(random, schedule->queue(rank).size())].kind();
      return {.kind = CauseKind::Rank, .rank = rank, .op_kind = of, .factor = factor};
    }
    case 2: {
      const auto stage =
          Stage(static_cast<std::int32_t>(pick(random, static_cast<std::size_t>(schedule->stages()))));
      const bool split = schedule->contains(OpKind::BackwardWeight) && !schedule->has_groups();
      const OpKind of = split ? OpKind::BackwardWeight : OpKind::Backward;
      return {.kind = CauseKind::Stage, .stage = stage, .op_kind = of, .factor = factor};
    }
    case 3: {
      const auto stage =
          Stage(static_cast<std::int32_t>(pick(random, static_cast<std::size_t>(schedule->stages()))));
      return {.kind = CauseKind::Stage, .stage = stage, .factor = factor};
    }
    case 4: {
      const auto microbatch = Microbatch(
          static_cast<std::int32_t>(pick(random, static_cast<std::size_t>(schedule->microbatches()))));
      return {.kind = CauseKind::Microbatch,
              .microbatch = microbatch,
              .factor = 1 + size * uniform(random, 0.2, 1)};
    }
    case 5: {
      Rank from = rank;
      Rank to = rank;
      while (from == to) {
        const std::size_t op = pick(random, schedule->num_ops());
        if (!net.producer[op]) continue;
        from = net.rank_of(*net.producer[op]);
        to = net.rank_of(op);
      }
      if (to < from) std::swap(from, to);
      return {.kind = CauseKind::Link, .from = from, .to = to, .added = lost / 3};
    }
    case 6: {
      if (pick(random, 2) == 0) return {.kind = CauseKind::MessageTime, .added = lost / 20};
      Planted order{.kind = CauseKind::Order, .rank = rank};
      for (;;) {
        const auto& queue = net.queues[rank.at()];
        const std::size_t at = pick(random, queue.size() - 1);
        order.entries = {queue[at], queue[at + 1]};
        Conditions changed = plain();
        add(changed, order);
        if (play(net, *costs, changed)) return order;
      }
    }
    default: {
      Planted hiccup{.kind = CauseKind::Hiccup, .rank = rank, .added = std::max(lost, forward / 4)};
      const std::size_t count = 1 + pick(random, 3);
      while (hiccup.entries.size() < count) {
        const std::size_t entry = net.queues[rank.at()][pick(random, net.queues[rank.at()].size())];
        if (std::find(hiccup.entries.begin(), hiccup.entries.end(), entry) == hiccup.entries.end())
          hiccup.entries.push_back(entry);
      }
      return hiccup;
    }
  }
}

/// Shapley's values of `players`, by all their orders. `lengths` by set of them.
std::vector<double> shares_of(std::size_t players, const std::vector<double>& lengths) {
  std::vector<std::size_t> order(players);
  for (std::size_t i = 0; i < players; ++i) order[i] = i;
  std::vector<double> shares(players, 0);
  double orders = 0;
  do {
    unsigned set = 0;
    for (const std::size_t i : order) {
      const unsigned more = set | 1U << i;
      shares[i] += lengths[more] - lengths[set];
      set = more;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& share : shares) share /= orders;
  return shares;
}

void Plot::measure_truth() {
  std::vector<double> lengths;
  for (unsigned set = 0; set < 1U << players(); ++set) lengths.push_back(static_cast<double>(length(set)));
  const std::vector<double> shares = shares_of(players(), lengths);
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].truth = shares[i];
}

double spread(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

void Plot::measure_spreads(PlantedRun& run) {
  constexpr int kDraws = 16;
  if (world.sigma == 0 && world.jitter == 0 && world.wrong_costs == 0) return;
  std::vector<std::vector<double>> effects(causes.size() + 1);
  const unsigned all = (1U << players()) - 1;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> noise(schedule->num_ops());
    for (double& of : noise) of = std::exp(world.sigma * gauss(random));
    std::vector<double> late(schedule->num_ops());
    for (double& of : late) of = std::exp(world.jitter * gauss(random));
    const std::vector<double> shifts =
        world.wrong_costs > 0 ? draw_shifts() : std::vector<double>(schedule->num_ops(), 0);
    const std::vector<double> seen = seen_in(shifts);
    // What a cause is seen too large by, the costs of its cells are seen too small by.
    const auto noisy = [&](unsigned set, bool as_seen) {
      Conditions conditions = with(set);
      for (std::size_t op = 0; op < noise.size(); ++op) {
        for (std::size_t i = 0; as_seen && i < causes.size(); ++i) {
          if (seen[i] == 0 || !meets(causes[i], net.rank_of(op), schedule->ops()[op])) continue;
          if ((set >> i & 1U) != 0) conditions.factor[op] *= std::exp(seen[i]);
          if ((set >> causes.size() & 1U) != 0) conditions.factor[op] /= std::exp(seen[i]);
        }
        conditions.factor[op] *= noise[op];
        conditions.latency[op] = std::llround(static_cast<double>(conditions.latency[op]) * late[op]);
      }
      return static_cast<double>(play(net, *costs, conditions)->length);
    };
    effects.back().push_back(noisy(all, false));
    std::vector<double> lengths;
    for (unsigned set = 0; set <= all; ++set) lengths.push_back(noisy(set, true));
    const std::vector<double> shares = shares_of(players(), lengths);
    for (std::size_t i = 0; i < causes.size(); ++i) effects[i].push_back(shares[i]);
  }
  const double steps = std::sqrt(static_cast<double>(world.steps));
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].sd = spread(effects[i]) / steps;
  run.step_sd = spread(effects.back()) / steps;
}

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

/// Other names count where the explanation lists them.
bool names(const Cause& found, const Planted& cause) {
  if (is_of_ops(cause.kind)) {
    if (!is_of_ops(found.kind)) return false;
    const study::explain::OpSet planted{cause.rank, cause.stage, cause.microbatch, cause.op_kind};
    if (study::explain::OpSet{found.rank, found.stage, found.microbatch, found.op_kind} == planted)
      return true;
    const std::string text = study::explain::text_of(planted);
    return std::find(found.equivalent.begin(), found.equivalent.end(), text) != found.equivalent.end();
  }
  if (found.kind != cause.kind) return false;
  if (cause.kind == CauseKind::Link)
    return (found.from == cause.from && found.to == cause.to) ||
           (found.from == cause.to && found.to == cause.from);
  return cause.kind != CauseKind::Hiccup || found.rank == cause.rank;
}

/// Whether the pauses that it names were there, for the most part.
bool were_paused(const PlantedRun& run, const Cause& found) {
  if (found.kind == CauseKind::Pause) return run.launches;
  if (found.kind != CauseKind::Hiccup) return false;
  Ticks lost = 0;
  const Schedule& schedule = *run.measured.schedule;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    if (schedule.rank_of_op(i) == *found.rank &&
        std::find(found.ops.begin(), found.ops.end(), schedule.ops()[i]) != found.ops.end())
      lost += run.lost[i];
  return 2 * lost >= *found.added;
}

/// Whether it names an op, a message or a rank that something was planted on, if by another name.
bool touches(const PlantedRun& run, const Cause& found, const Planted& cause) {
  if (is_of_ops(found.kind) != is_of_ops(cause.kind))
    return cause.kind == CauseKind::Hiccup && found.rank == cause.rank;
  if (!is_of_ops(found.kind)) return found.kind == cause.kind && (!found.rank || found.rank == cause.rank);
  const study::explain::OpSet named{found.rank, found.stage, found.microbatch, found.op_kind};
  const Schedule& schedule = *run.measured.schedule;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    if (named.has(schedule.rank_of_op(i), schedule.ops()[i]) &&
        meets(cause, schedule.rank_of_op(i), schedule.ops()[i]))
      return true;
  return false;
}

bool is_rest(CauseKind kind) {
  return kind == CauseKind::Costs || kind == CauseKind::Noise || kind == CauseKind::Unexplained;
}

}  // namespace

PlantedRun plant(std::uint64_t seed, const PlantedWorld& world) {
  Plot plot{.random = Random(seed * 7919 + 13), .world = world};
  Random& random = plot.random;
  const Shape shape = kShapes[pick(random, kShapes.size())];
  PlantedRun run;
  run.shape = fmt::format("{} p {} v {} m {}", shape.schedule, shape.ranks, shape.chunks, shape.microbatches);
  Params params{.ranks = shape.ranks, .microbatches = shape.microbatches, .chunks = shape.chunks};
  plot.schedule =
      std::make_shared<const Schedule>(schedules::make(*schedules::find(shape.schedule).generator, params));
  plot.forward = 10'000'000'000 / shape.chunks;  // 10 ms a rank
  Costs costs = uniform_costs(
      plot.schedule->placement(),
      {.forward = plot.forward,
       .backward = 2 * plot.forward,
       .backward_input = plot.forward,
       .backward_weight = plot.forward * 9 / 10,
       .delay = world.most_latency > 0 ? (world.least_latency + world.most_latency) / 2 : plot.forward / 20,
       .unit = TimeUnit::Microsecond});
  for (auto& kind : costs.duration)
    for (Ticks& ticks : kind) ticks = std::llround(static_cast<double>(ticks) * uniform(random, 0.95, 1.05));
  const Slot last = plot.schedule->placement().slot_of(Stage(plot.schedule->stages() - 1), Replica(0));
  for (auto& kind : costs.duration)
    kind[last.at()] = std::llround(static_cast<double>(kind[last.at()]) * world.last_stage);
  plot.costs = std::make_shared<const Costs>(costs);
  plot.net = net_of(*plot.schedule, *plot.costs);
  run.forward = plot.forward;
  run.predicted.timeline = simulate(plot.schedule, costs);
  run.predicted.costs = plot.costs;

  const std::size_t count = world.causes < 0 ? 1 + pick(random, 3) : static_cast<std::size_t>(world.causes);
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
  plot.measure_truth();
  plot.measure_spreads(run);

  run.measured = {
      .schedule = plot.schedule, .steps = world.steps, .unit = TimeUnit::Microsecond, .start = {}, .end = {}};
  run.launches = world.launch > 0 || world.early_end > 0;
  run.lost.assign(plot.schedule->num_ops(), 0);
  std::vector<Ticks> offsets;
  for (int r = 0; r < shape.ranks; ++r)
    offsets.push_back(
        std::llround(world.clocks * static_cast<double>(plot.forward) * uniform(random, -1, 1)));
  Ticks begin = 0;
  for (int s = 0; s < world.steps; ++s) {
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
      run.measured.end.push_back(step.end[i] + by - early);
      const std::size_t e = plot.net.entry_of[i];
      run.lost[i] +=
          conditions.paused[e] - planted[e] + (conditions.launch.empty() ? 0 : conditions.launch[e]);
    }
    begin += step.length + plot.forward;
  }
  run.causes = std::move(plot.causes);
  for (Planted& cause : run.causes) cause.text = text_of(cause);
  return run;
}

Verdict judge(const PlantedRun& run, const study::explain::Explanation& found) {
  Verdict verdict;
  const auto wrong = [&](const std::string& why) {
    verdict.right = false;
    verdict.why += "  " + why + "\n";
  };
  const double part = 0.005 * static_cast<double>(found.predicted);
  struct Match {
    double truth;
    double amount;
    double sd;
  };
  std::vector<Match> matches;
  std::vector<bool> is_planted(found.causes.size(), false);
  for (const Planted& cause : run.causes) {
    double amount = 0;
    double stated_sd = 0;
    bool named = false;
    for (std::size_t i = 0; i < found.causes.size(); ++i) {
      if (!names(found.causes[i], cause)) continue;
      named = true;
      is_planted[i] = true;
      amount += static_cast<double>(found.causes[i].amount);
      stated_sd = std::hypot(stated_sd, found.causes[i].sd);
    }
    if (std::abs(cause.truth) < std::max(part, 2 * cause.sd)) continue;
    if (!named) {
      wrong("missed: " + cause.text);
      continue;
    }
    verdict.amounts.push_back({cause.kind, cause.truth, amount, cause.sd, stated_sd});
    const double error = std::abs(amount - cause.truth);
    if (error <= 0.1 * std::abs(cause.truth)) ++verdict.within_tenth;
    if (error <= std::max(0.1 * std::abs(cause.truth), 2 * cause.sd))
      ++verdict.within;
    else
      verdict.why +=
          fmt::format("  amount {:.3f} for {:.3f} of {}\n", amount / 1e9, cause.truth / 1e9, cause.text);
    matches.push_back({std::abs(cause.truth), std::abs(amount), cause.sd});
  }
  for (const Match& a : matches)
    for (const Match& b : matches)
      if (a.truth > 1.1 * b.truth && a.truth - b.truth > 2 * std::max(a.sd, b.sd) && a.amount < b.amount)
        wrong("order of amounts");
  for (std::size_t i = 0; i < found.causes.size(); ++i) {
    const Cause& cause = found.causes[i];
    if (is_planted[i] || is_rest(cause.kind) || were_paused(run, cause)) continue;
    if (std::abs(static_cast<double>(cause.amount)) < std::max(part, 2 * run.step_sd)) continue;
    verdict.false_name = true;
    const bool touched = std::any_of(run.causes.begin(), run.causes.end(),
                                     [&](const Planted& planted) { return touches(run, cause, planted); });
    verdict.invented = verdict.invented || !touched;
    wrong((touched ? "not planted: " : "invented: ") + cause.text);
  }
  return verdict;
}

std::string told(const PlantedRun& run, const study::explain::Explanation& found) {
  std::string text = fmt::format("{}, step {:.2f} -> {:.2f} ms, sigma {:.4f}, costs {:.3f}\n", run.shape,
                                 static_cast<double>(found.predicted) / 1e9,
                                 static_cast<double>(found.measured) / 1e9, found.sigma, found.cost_sigma);
  for (const Planted& cause : run.causes)
    text += fmt::format("  planted {:9.3f} +- {:.3f}  {}\n", cause.truth / 1e9, cause.sd / 1e9, cause.text);
  const auto list = [&](const char* what, const std::vector<Cause>& causes) {
    for (const Cause& cause : causes) {
      text += fmt::format("  {} {:9.3f} +- {:.3f}  {}", what, static_cast<double>(cause.amount) / 1e9,
                          cause.sd / 1e9, cause.text);
      for (const std::string& other : cause.equivalent) text += " | " + other;
      text += '\n';
    }
  };
  list("named  ", found.causes);
  list("hidden ", found.hidden);
  return text;
}

}  // namespace pipeloom::test
