#include "study/run/repeated_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/memory_sums.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/repetition.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/time_limits.hpp"
#include "sim/memory.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/run_bound.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// A run is worth shortening where it has this multiple of the microbatches of both short ones.
constexpr int kWorthwhile = 4;
/// Most blocks of a repetition that is looked for.
constexpr std::size_t kMostBlocks = 32;
/// Microbatches of the first size to try, by rank; each further size has twice as many.
constexpr int kFirstMicrobatches = 3;
/// Sizes to try: what has not repeated within 24 microbatches for each rank seldom does, and the whole run then waits for the tries.
constexpr int kMostSizes = 4;
/// Ops of a short run: RepeatingQueues numbers them in 32 bits.
constexpr double kMostOps = 1e8;
/// Short runs that are there at once, with what is known of their ops.
constexpr double kSizesHeld = 4;

bool names_microbatches(const cost::CostRows& rows) {
  return rows != nullptr && std::any_of(rows->begin(), rows->end(),
                                        [](const cost::CostRow& row) { return row.microbatch.has_value(); });
}

/// True if the configuration may take all microbatches alike, in steps that start together, with transfers that only delay.
bool is_uniform(const io::Config& config) {
  const cost::CostSpec& costs = config.costs;
  return costs.transfer.model == cost::TransferModel::Latency && config.step.rule == StepRule::Barrier &&
         costs.microbatch_scale.array.empty() && !costs.microbatch_scale.table &&
         !names_microbatches(costs.table) && !names_microbatches(costs.exceptions) &&
         !costs.model.documents.per_microbatch;
}

/// One size of the run, and its numbers.
struct Sized {
  std::shared_ptr<const Schedule> schedule;
  Costs costs;
  Timeline timeline;
};

/// The cuts of the shorter run at which its state repeats.
struct Cuts {
  const RepeatingQueues& queues;
  Repetition repetition;
  std::size_t last = 0;

  [[nodiscard]] bool is_before(const Schedule& schedule, std::size_t op, std::size_t cut) const {
    const Rank rank = schedule.home_of(schedule.ops()[op]);
    return op - schedule.queue_begin(rank) < queues.cut(rank, cut);
  }
};

/// A number of a run that has `times` repetitions more than one of which it is `shorter`, where one more makes it `longer`.
std::int64_t extended(std::int64_t shorter, std::int64_t longer, std::int64_t times) {
  const TickSum sum =
      TickSum(shorter) + TickSum::of(TickSum::Wide{longer - shorter} * static_cast<TickSum::Wide>(times));
  if (sum > kMaxTicks) refuse_times();
  return static_cast<std::int64_t>(sum.value());
}

/// The numbers of microbatches in two sizes of a schedule, replica by replica. They shift alike, but where the last microbatches are too few for all replicas
/// to have as many: those of the shorter one then have other numbers in the whole run.
class MicrobatchShifts {
 public:
  MicrobatchShifts(const Schedule& shorter, const Schedule& longer, const Cuts& cuts)
      : shorter_(shorter), longer_(longer), cuts_(cuts) {
    for (std::size_t replica = 0; replica < of_size_.size(); ++replica) {
      const auto few = of(shorter, replica);
      const auto more = of(longer, replica);
      if (few.empty()) continue;
      of_size_.at(replica) = more.front() - few.front();
      of_repetition_.at(replica) = more.at(more.size() - few.size()) - more.front();
    }
  }

  /// True if the entry at `first`, which comes before a cut, has the numbers that all of its replicas' have; `repeats` asks for those one repetition later too.
  [[nodiscard]] bool is_regular(std::size_t first, bool repeats) const {
    for (std::size_t index = first;; ++index) {
      const Op op = shorter_.ops()[index];
      const std::size_t replica = shorter_.replica_of(op.microbatch()).at();
      const Rank rank = shorter_.home_of(op);
      const std::size_t place = index - shorter_.queue_begin(rank);
      const std::int32_t same = longer_.queue(rank)[place].microbatch().value();
      if (same - op.microbatch().value() != of_size_.at(replica)) return false;
      const std::size_t block = cuts_.repetition.blocks * cuts_.queues.block_ops(rank);
      if (repeats &&
          longer_.queue(rank)[place + block].microbatch().value() - same != of_repetition_.at(replica))
        return false;
      if (!op.joined()) return true;
    }
  }

 private:
  static std::vector<std::int32_t> of(const Schedule& schedule, std::size_t replica) {
    std::vector<std::int32_t> out;
    for (Microbatch k{0}; k < Microbatch(schedule.microbatches()); ++k)
      if (schedule.replica_of(k).at() == replica) out.push_back(k.value());
    return out;
  }

  const Schedule& shorter_;
  const Schedule& longer_;
  const Cuts& cuts_;
  std::array<std::int32_t, 2> of_size_ = {};
  std::array<std::int32_t, 2> of_repetition_ = {};
};

/// Writes the entries of a shorter run's chain as those of the whole run, which has `times` repetitions more at the last cut.
class PathWriter {
 public:
  PathWriter(const Schedule& shorter, const Schedule& longer, const Cuts& cuts, Repeated& repeated)
      : shorter_(shorter), longer_(longer), cuts_(cuts), repeated_(repeated) {}

  /// The entry that begins at op `first` of the shorter run, `time` repetitions later.
  void add(std::size_t first, std::int64_t time) {
    entries_.push_back(repeated_.path.size());
    for (std::size_t op = first;; ++op) {
      repeated_.path.push_back(whole(op, time));
      if (!shorter_.ops()[op].joined()) break;
    }
  }
  [[nodiscard]] std::vector<std::size_t> entries() && { return std::move(entries_); }

 private:
  /// Numbers of microbatches shift with the repetitions that come before an op, and, where replicas count on from each other, with all of them.
  [[nodiscard]] Op whole(std::size_t index, std::int64_t time) const {
    const Op op = shorter_.ops()[index];
    const Rank rank = shorter_.home_of(op);
    const std::size_t place = index - shorter_.queue_begin(rank);
    const auto queue = longer_.queue(rank);
    const std::size_t block = cuts_.repetition.blocks * cuts_.queues.block_ops(rank);
    const auto shift = [&](std::size_t other) {
      return std::int64_t{queue[other].microbatch().value()} - op.microbatch().value();
    };
    const bool after = !cuts_.is_before(shorter_, index, cuts_.last);
    std::int64_t microbatch = op.microbatch().value();
    if (after)
      microbatch += repeated_.times * shift(place + block);
    else
      microbatch +=
          repeated_.times * shift(place) + (time > 0 ? time * (shift(place + block) - shift(place)) : 0);
    Op out(op.kind(), op.stage(), Microbatch(static_cast<std::int32_t>(microbatch)));
    if (op.is_sliced()) out = out.with_slice(op.slice());
    return out.with_joined(op.joined()).with_turn(op.in_turn());
  }

  const Schedule& shorter_;
  const Schedule& longer_;
  const Cuts& cuts_;
  Repeated& repeated_;
  std::vector<std::size_t> entries_;
};

/// True if both ops are the same one, some blocks apart.
bool is_repeated(const Schedule& schedule, std::size_t earlier, std::size_t later, const Cuts& cuts) {
  const Rank rank = schedule.home_of(schedule.ops()[earlier]);
  return rank == schedule.home_of(schedule.ops()[later]) &&
         later - earlier == cuts.repetition.blocks * cuts.queues.block_ops(rank);
}

/// The largest of the ranks' numbers.
Ticks most(const Metrics& metrics, Ticks RankMetrics::*number) {
  Ticks most = 0;
  for (const RankMetrics& rank : metrics.ranks) most = std::max(most, rank.*number);
  return most;
}

/// Finds a run from short ones.
class Shortened {
 public:
  Shortened(const io::Config& config, Limits limits, Depth depth)
      : config_(config), limits_(std::move(limits)), depth_(depth) {
    limits_.with_all_steps = false;
    if (!limits_.max_memory) limits_.max_memory = default_max_memory();
    *limits_.max_memory /= kSizesHeld;
  }

  /// Nullopt where the run is not worth shortening, or does not repeat.
  std::optional<Run> run(std::size_t least_ops) {
    if (!is_uniform(config_)) return std::nullopt;
    plan_ = name_schedule(config_);
    if (plan_.found.generator == nullptr) return std::nullopt;
    const schedules::Generator& generator = *plan_.found.generator;
    // Groups and copies make chains from one microbatch to the next, so that bounds need not grow alike with every block.
    const bool is_tied = generator.requirements.overlaps || config_.options.offload.on;
    if (depth_ == Depth::All && is_tied) return std::nullopt;
    if (!generator.period || size_of(plan_, config_, limits_).ops <= static_cast<double>(least_ops))
      return std::nullopt;
    period_ = generator.period(plan_.params);
    if (!schedules::takes(generator, with_microbatches(numbered()))) return std::nullopt;
    plan_.params.options = schedules::options_in_force(generator, plan_.params);
    if (plan_.params.options.group_size && plan_.params.options.group_size->is_list()) return std::nullopt;
    return find();
  }

 private:
  [[nodiscard]] bool is_worthwhile(std::int64_t microbatches) const {
    return microbatches * kWorthwhile <= plan_.params.microbatches;
  }

  /// The run's microbatches; where ops have no numbers for as many, fewer, by whole periods.
  [[nodiscard]] std::int64_t numbered() const {
    const Params& params = plan_.params;
    const std::int64_t most = kMaxIndex / (std::int64_t{params.slices()} * params.updates());
    const std::int64_t over = std::max<std::int64_t>(0, params.microbatches - most);
    return params.microbatches - (over + period_ - 1) / period_ * period_;
  }
  [[nodiscard]] Params with_microbatches(std::int64_t microbatches) const {
    Params params = plan_.params;
    params.microbatches = static_cast<int>(microbatches);
    return params;
  }

  /// The schedule of that number of microbatches; null where it refuses, or needs more memory than there is.
  [[nodiscard]] std::shared_ptr<const Schedule> make(std::int64_t microbatches) const {
    SchedulePlan plan{plan_.found, with_microbatches(microbatches), nullptr};
    const RunSize size = size_of(plan, config_, limits_);
    if (size.ops > kMostOps || !fits(size, limits_)) return nullptr;
    if (!schedules::takes(*plan.found.generator, plan.params)) return nullptr;
    schedules::Emission unused;
    return make_planned(plan, config_, limits_, unused);
  }

  std::optional<Run> find() {
    const int m = plan_.params.microbatches;
    int size = kFirstMicrobatches * plan_.params.ranks + 4 * period_;
    size += (m - size) % period_ + ((m - size) % period_ < 0 ? period_ : 0);
    for (int tries = 0; tries < kMostSizes && is_worthwhile(2 * size + period_); ++tries) {
      const auto shorter = make(size);
      const auto longer = shorter ? make(size + period_) : nullptr;
      if (longer)
        if (const auto queues = RepeatingQueues::find(*shorter, *longer))
          if (auto run = try_size(*queues, size, shorter, longer)) return run;
      size += (size / period_ + 1) * period_;
    }
    return std::nullopt;
  }

  std::optional<Run> try_size(const RepeatingQueues& queues, int size,
                              const std::shared_ptr<const Schedule>& shorter,
                              const std::shared_ptr<const Schedule>& longer) {
    Run run = evaluate_shorter(shorter);
    const auto repetition = queues.repetition(run.timeline.end, kMostBlocks);
    if (!repetition) return std::nullopt;
    // A whole repetition before the last cut, which the next one repeats; and the rest of the run in whole repetitions.
    const auto blocks = static_cast<std::int64_t>(repetition->blocks);
    std::int64_t more = std::max<std::int64_t>(0, static_cast<std::int64_t>(repetition->first) + 2 * blocks -
                                                      static_cast<std::int64_t>(queues.blocks()));
    const std::int64_t rest = (plan_.params.microbatches - size) / period_;
    more += (rest - more) % blocks;
    repeated_.times = (rest - more) / blocks;
    repeated_.microbatches = static_cast<int>(blocks) * queues.period();
    const std::int64_t base_size = size + more * period_;
    const std::int64_t next_size = base_size + blocks * period_;
    if (!is_worthwhile(base_size + next_size)) return std::nullopt;
    if (more > 0) {
      const auto base = make(base_size);
      if (!base) return std::nullopt;
      run = evaluate_shorter(base);
    }
    const auto next = more == 0 && blocks == 1 ? longer : make(next_size);
    if (!next) return std::nullopt;
    const Sized more_run = measure(run, next);
    return extend(std::move(run), more_run,
                  Cuts{queues, *repetition, queues.blocks() + static_cast<std::size_t>(more)});
  }

  Run evaluate_shorter(const std::shared_ptr<const Schedule>& schedule) const {
    io::EffectiveConfig effective;
    describe_plan(plan_, config_, effective);
    effective.microbatches = config_.microbatches;
    return evaluate_made(schedule, config_, limits_, std::move(effective), Depth::Metrics);
  }

  /// The same costs for another size of the schedule.
  Sized measure(const Run& run, const std::shared_ptr<const Schedule>& schedule) const {
    const io::Config& config = run.model ? run.model->costs.config : config_;
    Sized out{schedule, *run.costs, {}};
    if (!out.costs.per_op.empty()) {
      cost::ResolvedCosts resolved = cost::resolve(config.costs, *schedule);
      out.costs = std::move(resolved.costs);
      out.costs.slice_end = run.costs->slice_end;
      cost::bind_costs(out.costs, resolved.ops, *schedule);
    }
    Steps one = config.step;
    one.count = 1;
    out.timeline = simulate(schedule, out.costs, one);
    return out;
  }

  std::optional<Run> extend(Run run, const Sized& longer, const Cuts& cuts) const {
    Repeated repeated = repeated_;
    const Steps& steps = run.effective->step;
    require_fits(run, longer);
    if (!extend_over_limit(run, longer)) return std::nullopt;
    if (limits_.with_metrics) {
      const Metrics more = measure_times(longer.timeline, longer.costs, *run.memory, steps);
      if (depth_ == Depth::All && !extend_bound(run, longer, more)) return std::nullopt;
      if (!extend_metrics(run, more, steps)) return std::nullopt;
      if (depth_ == Depth::All && !extend_path(run, longer, cuts, repeated)) return std::nullopt;
    }
    if (run.model) {
      const TrainingTerms training = training_terms(run.model->costs, *run.schedule, microbatches_of(run));
      run.model = std::make_shared<const ModelRun>(ModelRun{run.model->costs, training});
    }
    run.repeated = std::make_shared<const Repeated>(std::move(repeated));
    return run;
  }

  /// Of the whole run, of which `run` shows less.
  [[nodiscard]] int microbatches_of(const Run& run) const {
    return static_cast<int>(
        all(run.schedule->microbatches(), run.schedule->microbatches() + repeated_.microbatches));
  }
  [[nodiscard]] std::int64_t all(std::int64_t shorter, std::int64_t longer) const {
    return extended(shorter, longer, repeated_.times);
  }

  /// Refuses what the whole run would be refused for: bytes, and times, that cannot be added up.
  void require_fits(const Run& run, const Sized& longer) const {
    cost::require_summable(config_.memory, *run.memory, *run.schedule, config_.step.count,
                           microbatches_of(run));
    const auto whole = [this](TickSum shorter, TickSum more) {
      return shorter + TickSum::of((more - shorter).value() * static_cast<TickSum::Wide>(repeated_.times));
    };
    if (whole(easy_sum_of_times(*run.schedule, *run.costs),
              easy_sum_of_times(*longer.schedule, longer.costs)) < kMaxTicks)
      return;
    if (whole(sum_of_times(*run.schedule, *run.costs), sum_of_times(*longer.schedule, longer.costs)) >=
        kMaxTicks)
      refuse_times();
  }

  /// The op that the same one of a run is, `times` repetitions later; nullopt if it is not the same.
  [[nodiscard]] std::optional<Op> extended_op(Op shorter, Op longer) const {
    if (shorter.kind() != longer.kind() || shorter.stage() != longer.stage() ||
        shorter.slice() != longer.slice())
      return std::nullopt;
    const int shift = longer.microbatch().value() - shorter.microbatch().value();
    if (shift < 0 || shift > repeated_.microbatches) return std::nullopt;
    const std::int64_t microbatch = all(shorter.microbatch().value(), longer.microbatch().value());
    if (microbatch >= kMaxIndex) return std::nullopt;
    Op out(shorter.kind(), shorter.stage(), Microbatch(static_cast<std::int32_t>(microbatch)));
    return shorter.is_sliced() ? out.with_slice(shorter.slice()) : out;
  }

  bool extend_over_limit(Run& run, const Sized& longer) const {
    const auto more = find_over_limit(longer.timeline, *run.memory);
    if (run.over_limit.has_value() != more.has_value()) return false;
    if (!more) return true;
    OverLimit& over = *run.over_limit;
    const auto op = extended_op(over.op, more->op);
    if (!op || over.rank != more->rank || over.bytes != more->bytes) return false;
    over.op = *op;
    return true;
  }

  bool extend_metrics(Run& run, const Metrics& more, const Steps& steps) const {
    Metrics& metrics = *run.metrics;
    const auto count = [this](std::size_t shorter, std::size_t longer) {
      return static_cast<std::size_t>(
          all(static_cast<std::int64_t>(shorter), static_cast<std::int64_t>(longer)));
    };
    metrics.makespan = all(metrics.makespan, more.makespan);
    metrics.num_ops = count(metrics.num_ops, more.num_ops);
    metrics.num_entries = count(metrics.num_entries, more.num_entries);
    for (std::size_t r = 0; r < metrics.ranks.size(); ++r)
      if (!extend_rank(metrics.ranks[r], more.ranks[r], metrics.makespan)) return false;
    add_totals(metrics);
    const Ticks longest = later(most(metrics, &RankMetrics::last_end), steps.optimizer);
    if (TickSum::times(longest, steps.count) > kMaxTicks) refuse_times();
    add_step_times(metrics, *run.schedule, *run.costs, steps);
    return true;
  }

  bool extend_rank(RankMetrics& rank, const RankMetrics& more, Ticks makespan) const {
    const RankMemory& memory = rank.memory;
    if (memory.peak_live != more.memory.peak_live || memory.peak_bytes != more.memory.peak_bytes ||
        memory.peak_activation_bytes != more.memory.peak_activation_bytes ||
        memory.peak_host_bytes != more.memory.peak_host_bytes || rank.first_start != more.first_start)
      return false;
    rank.busy = all(rank.busy, more.busy);
    rank.last_end = all(rank.last_end, more.last_end);
    rank.idle = makespan - rank.busy;
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      rank.idle_causes.of(cause) = all(rank.idle_causes.of(cause), more.idle_causes.of(cause));
    }
    return rank.idle_causes.total() == rank.idle;
  }

  /// The bound grows as the makespan does, which no bound can pass; or as the work of the busiest rank, and no bound grows faster where ranks have no
  /// limit. REQUIRES: microbatches run alone.
  bool extend_bound(Run& run, const Sized& longer, const Metrics& more) const {
    const Steps& steps = run.effective->step;
    const auto bound_of = [&](const Schedule& schedule, const Costs& costs, Ticks makespan) {
      return run_bound(schedule, costs, *run.memory, steps, makespan, limits_.stop);
    };
    const LowerBound bound = bound_of(*run.schedule, *run.costs, run.metrics->makespan);
    const LowerBound next = bound_of(*longer.schedule, longer.costs, more.makespan);
    const Ticks growth = next.value - bound.value;
    const bool with_makespan = growth == more.makespan - run.metrics->makespan;
    const bool with_work = run.memory->limit.empty() &&
                           growth == most(more, &RankMetrics::busy) - most(*run.metrics, &RankMetrics::busy);
    if (bound.name != next.name || !(with_makespan || with_work)) return false;
    run.metrics->lower_bound = {all(bound.value, next.value), bound.name};
    return true;
  }

  /// The chain goes back from the end, and from where it crosses a cut as it crossed the one before, it goes the same way in every repetition.
  bool extend_path(Run& run, const Sized& longer, const Cuts& cuts, Repeated& repeated) const {
    if (!has_path(run, run.metrics->num_entries, limits_)) return true;
    if (microbatches_of(run) > kMaxIndex) return false;
    const Schedule& schedule = *run.schedule;
    const std::vector<std::size_t> chain = critical_path(run.timeline, *run.costs).entries;
    const auto crossing = [&](std::size_t cut) {
      return std::partition_point(chain.begin(), chain.end(),
                                  [&](std::size_t op) { return cuts.is_before(schedule, op, cut); }) -
             chain.begin();
    };
    const MicrobatchShifts shifts(schedule, *longer.schedule, cuts);
    const auto is_regular = [&](std::ptrdiff_t begin, std::ptrdiff_t end, bool repeats) {
      return std::all_of(chain.begin() + begin, chain.begin() + end,
                         [&](std::size_t op) { return shifts.is_regular(op, repeats); });
    };
    const auto blocks = static_cast<std::ptrdiff_t>(cuts.repetition.blocks);
    for (auto cut = static_cast<std::ptrdiff_t>(cuts.last);
         cut - blocks >= static_cast<std::ptrdiff_t>(cuts.repetition.first); cut -= blocks) {
      const auto to = crossing(static_cast<std::size_t>(cut));
      const auto from = crossing(static_cast<std::size_t>(cut - blocks));
      if (from == 0 ||
          !is_repeated(schedule, chain[static_cast<std::size_t>(from - 1)],
                       chain[static_cast<std::size_t>(to - 1)], cuts) ||
          !is_regular(0, from, false) || !is_regular(from, to, true))
        continue;
      PathWriter out(schedule, *longer.schedule, cuts, repeated);
      for (std::ptrdiff_t i = 0; i < to; ++i) out.add(chain[static_cast<std::size_t>(i)], 0);
      for (std::int64_t time = 1; time <= repeated_.times; ++time)
        for (std::ptrdiff_t i = from; i < to; ++i) out.add(chain[static_cast<std::size_t>(i)], time);
      for (std::size_t i = static_cast<std::size_t>(to); i < chain.size(); ++i)
        out.add(chain[i], repeated_.times);
      run.critical_path = {run.metrics->makespan, std::move(out).entries()};
      return true;
    }
    return false;
  }

  const io::Config& config_;
  Limits limits_;
  Depth depth_;
  SchedulePlan plan_;
  int period_ = 0;
  Repeated repeated_;
};

}  // namespace

std::span<const Op> path_ops(const Run& run) {
  return run.repeated ? std::span<const Op>(run.repeated->path) : run.schedule->ops();
}

std::optional<Run> evaluate_repeated(const io::Config& config, const Limits& limits, Depth depth,
                                     std::size_t least_ops) {
  return Shortened(config, limits, depth).run(least_ops);
}

}  // namespace pipeloom::study
