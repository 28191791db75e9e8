#include "study/run/repeated/short_runs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/memory_sums.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/time_limits.hpp"
#include "sim/memory.hpp"
#include "study/run/repeated/extended.hpp"
#include "study/run/repeated/repeated_bound.hpp"
#include "study/run/repeated/repeated_period.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// Most blocks of a repetition that is looked for: with latencies the state of a pipeline may come again only when each rank has run as many as are in flight.
std::size_t most_blocks(const Schedule& schedule) {
  return std::max<std::size_t>(32, static_cast<std::size_t>(schedule.ranks()));
}
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

bool has_messages(const io::Config& config) {
  return config.costs.transfer.model != cost::TransferModel::Latency;
}

/// True if the configuration may take all microbatches alike. Steps that overlap are told where transfers only delay.
bool is_uniform(const io::Config& config) {
  const cost::CostSpec& costs = config.costs;
  return (!has_messages(config) || config.step.rule == StepRule::Barrier) &&
         costs.microbatch_scale.array.empty() && !costs.microbatch_scale.table &&
         !names_microbatches(costs.table) && !names_microbatches(costs.exceptions) &&
         !costs.model.documents.per_microbatch;
}

MessageRules rules_of(const Run& run) {
  return message_rules(run.effective->costs.transfer);
}

/// The largest of the ranks' numbers.
Ticks most(const Metrics& metrics, Ticks RankMetrics::*number) {
  Ticks most = 0;
  for (const RankMetrics& rank : metrics.ranks) most = std::max(most, rank.*number);
  return most;
}

/// The plan of another number of microbatches.
Params with_microbatches(Params params, std::int64_t microbatches) {
  params.microbatches = static_cast<int>(microbatches);
  return params;
}

bool has_listed_groups(const Params& params) {
  return params.options.group_size && params.options.group_size->is_list();
}

/// Microbatches after which queues, and with messages the rules of their framework, repeat. REQUIRES: options of `params` are those in force.
int block_of(const schedules::Generator& generator, const Params& params, const io::Config& config) {
  const int period = generator.period(params);
  const bool has_rules = has_messages(config) && generator.messages && params.options.group_size;
  return has_rules ? std::lcm(period, params.options.group_size->largest()) : period;
}

/// The run's microbatches; where ops have no numbers for as many, fewer, by whole periods.
std::int64_t numbered(const Params& params, int period) {
  const std::int64_t most = kMaxIndex / (std::int64_t{params.slices()} * params.updates());
  const std::int64_t over = std::max<std::int64_t>(0, params.microbatches - most);
  return params.microbatches - (over + period - 1) / period * period;
}

}  // namespace

/// Looks for two short runs.
class ShortRuns::Search {
 public:
  Search(const io::Config& config, Limits limits, Depth depth, int worthwhile)
      : config_(config), limits_(std::move(limits)), depth_(depth), worthwhile_(worthwhile) {
    limits_.with_all_steps = false;
    if (!limits_.max_memory) limits_.max_memory = default_max_memory();
    *limits_.max_memory /= kSizesHeld;
  }

  /// Messages that hang or are mispaired are the whole run's to tell.
  std::optional<ShortRuns> find() {
    if (!prepare()) return std::nullopt;
    if (!has_messages(config_)) return find_size();
    try {
      return find_size();
    } catch (const MessageProblem&) {
      return std::nullopt;
    }
  }

  /// Ops of the first two runs; nullopt if there are none.
  std::optional<double> first_ops() {
    if (!prepare() || !is_worthwhile(2 * first_size() + period_)) return std::nullopt;
    return size_of({plan_.found, with_microbatches(plan_.params, 2 * first_size() + period_), nullptr},
                   config_, limits_)
        .ops;
  }

 private:
  [[nodiscard]] bool is_worthwhile(std::int64_t microbatches) const {
    return microbatches * worthwhile_ <= plan_.params.microbatches;
  }

  /// False where no two runs can tell this one.
  bool prepare() {
    if (!is_uniform(config_)) return false;
    plan_ = name_schedule(config_);
    if (plan_.found.generator == nullptr || !plan_.found.generator->period) return false;
    const schedules::Generator& generator = *plan_.found.generator;
    if (has_listed_groups(plan_.params)) return false;  // takes() simulates them
    period_ = generator.period(plan_.params);
    if (!schedules::takes(generator, with_microbatches(plan_.params, numbered(plan_.params, period_))))
      return false;
    plan_.params.options = schedules::options_in_force(generator, plan_.params);
    if (has_listed_groups(plan_.params)) return false;
    period_ = block_of(generator, plan_.params, config_);
    return true;
  }

  /// The number of microbatches that is tried first: whole periods fewer than the run's.
  [[nodiscard]] int first_size() const {
    const int size = kFirstMicrobatches * plan_.params.ranks + 4 * period_;
    const int rest = (plan_.params.microbatches - size) % period_;
    return size + rest + (rest < 0 ? period_ : 0);
  }

  /// The schedule of that number of microbatches; null where it refuses, or needs more memory than there is.
  [[nodiscard]] std::shared_ptr<const Schedule> make(std::int64_t microbatches) const {
    SchedulePlan plan{plan_.found, with_microbatches(plan_.params, microbatches), nullptr};
    const RunSize size = size_of(plan, config_, limits_);
    if (size.ops > kMostOps || !fits(size, limits_)) return nullptr;
    if (!schedules::takes(*plan.found.generator, plan.params)) return nullptr;
    schedules::Emission unused;
    return make_planned(plan, config_, limits_, unused);
  }

  std::optional<ShortRuns> find_size() {
    int size = first_size();
    for (int tries = 0; tries < kMostSizes && is_worthwhile(2 * size + period_); ++tries) {
      const auto shorter = make(size);
      const auto longer = shorter ? make(size + period_) : nullptr;
      if (longer)
        if (auto queues = RepeatingQueues::find(*shorter, *longer))
          if (auto found = try_size(*std::move(queues), size, shorter, longer)) return found;
      size += (size / period_ + 1) * period_;
    }
    return std::nullopt;
  }

  std::optional<ShortRuns> try_size(RepeatingQueues queues, int size,
                                    const std::shared_ptr<const Schedule>& shorter,
                                    const std::shared_ptr<const Schedule>& longer) const {
    Run run = evaluate_shorter(shorter);
    const auto found = find_repetition(queues, run);
    if (!found) return std::nullopt;
    const auto& [repetition, ahead] = *found;
    // A whole repetition before the last cut, which the next one repeats; and the rest of the run in whole repetitions.
    const auto blocks = static_cast<std::int64_t>(repetition.blocks);
    std::int64_t more =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(repetition.first + ahead) + 2 * blocks -
                                      static_cast<std::int64_t>(queues.blocks()));
    const std::int64_t rest = (plan_.params.microbatches - size) / period_;
    more += (rest - more) % blocks;
    const std::int64_t base_size = size + more * period_;
    const std::int64_t next_size = base_size + blocks * period_;
    if (more < 0 || !is_worthwhile(base_size + next_size)) return std::nullopt;
    if (more > 0) {
      const auto base = make(base_size);
      if (!base) return std::nullopt;
      run = evaluate_shorter(base);
    }
    const auto next = more == 0 && blocks == 1 ? longer : make(next_size);
    if (!next) return std::nullopt;
    LongerRun more_run = measure(run, next);
    RepeatedCuts cuts{std::move(queues), repetition, 0};
    cuts.last = cuts.queues.blocks() + static_cast<std::size_t>(more) - ahead;
    ShortRuns out(std::move(run), std::move(more_run), std::move(cuts),
                  {plan_.found, with_microbatches(plan_.params, base_size), nullptr}, period_, config_);
    if (!out.take_messages() || !out.take_facts(limits_, depth_)) return std::nullopt;
    return out;
  }

  /// A repetition, and the blocks after a cut that must repeat too.
  struct Found {
    Repetition repetition;
    std::size_t ahead = 0;
  };
  [[nodiscard]] static std::optional<Found> find_repetition(const RepeatingQueues& queues, const Run& run) {
    std::optional<Repetition> repetition;
    std::size_t ahead = 0;
    if (!run.program) {
      repetition = queues.repetition(*run.schedule, run.timeline.end, most_blocks(*run.schedule));
    } else if (const auto recorded = RecordedMessages::of(*run.program, *run.costs, rules_of(run), queues)) {
      repetition = recorded->repetition(queues.blocks(), most_blocks(*run.schedule));
      ahead = recorded->reach(queues.blocks());
    }
    return repetition ? std::optional(Found{*repetition, ahead}) : std::nullopt;
  }

  [[nodiscard]] Run evaluate_shorter(const std::shared_ptr<const Schedule>& schedule) const {
    io::EffectiveConfig effective;
    describe_plan(plan_, config_, effective);
    effective.microbatches = config_.microbatches;
    return evaluate_made(schedule, config_, limits_, std::move(effective), Depth::Metrics);
  }

  /// The same costs for another size of the schedule.
  [[nodiscard]] LongerRun measure(const Run& run, const std::shared_ptr<const Schedule>& schedule) const {
    const io::Config& config = run.model ? run.model->costs.config : config_;
    LongerRun out{schedule, *run.costs, {}, {}, {}, {}};
    if (!out.costs.per_op.empty()) {
      cost::ResolvedCosts resolved = cost::resolve(config.costs, *schedule);
      out.costs = std::move(resolved.costs);
      out.costs.slice_end = run.costs->slice_end;
      cost::bind_costs(out.costs, resolved.ops, *schedule);
    }
    Steps one = config.step;
    one.count = 1;
    if (run.program)
      out.messages = run_messages(schedule, config.costs.transfer, out.costs, one,
                                  framework_program(config, out.schedule));
    out.timeline = out.messages ? out.messages->run.timeline : simulate(schedule, out.costs, one);
    out.over_limit = find_over_limit(out.timeline, *run.memory);
    if (limits_.with_metrics)
      out.metrics = measure_times(out.timeline, out.costs, *run.memory, run.effective->step,
                                  out.messages ? &out.messages->facts : nullptr);
    return out;
  }

  const io::Config& config_;
  Limits limits_;
  Depth depth_;
  int worthwhile_;
  SchedulePlan plan_;
  int period_ = 0;
};

ShortRuns::ShortRuns(Run shorter, LongerRun longer, RepeatedCuts cuts, SchedulePlan plan, int period,
                     io::Config config)
    : shorter_(std::move(shorter)),
      longer_(std::move(longer)),
      cuts_(std::move(cuts)),
      plan_(std::move(plan)),
      period_(period),
      config_(std::move(config)) {}

std::optional<ShortRuns> ShortRuns::find(const io::Config& config, const Limits& limits, Depth depth,
                                         int worthwhile) {
  return Search(config, limits, depth, worthwhile).find();
}

std::optional<double> ShortRuns::first_ops(const io::Config& config, const Limits& limits, Depth depth) {
  return Search(config, limits, depth, kWorthwhile).first_ops();
}

/// False where the longer run's messages are not the shorter one's and a repetition.
bool ShortRuns::take_messages() {
  if (!shorter_.program) return true;
  const MessageRules rules = rules_of(shorter_);
  const auto one = RecordedMessages::of(*shorter_.program, *shorter_.costs, rules, cuts_.queues);
  const auto more = RecordedMessages::of(longer_.messages->program, longer_.costs, rules, cuts_.queues);
  if (!one || !more || !one->is_repeated_in(*more, cuts_.last, cuts_.repetition.blocks)) return false;
  messages_ = {*shorter_.messages, longer_.messages->summary, one->free_makespan(), more->free_makespan()};
  return true;
}

/// False where a number may not grow by the same with every repetition.
bool ShortRuns::take_facts(const Limits& limits, Depth depth) {
  const auto sums = [](const Schedule& schedule, const Costs& costs) {
    return Sums{easy_sum_of_times(schedule, costs), sum_of_times(schedule, costs)};
  };
  shorter_sums_ = sums(*shorter_.schedule, *shorter_.costs);
  longer_sums_ = sums(*longer_.schedule, longer_.costs);
  if (!grow_alike()) return false;
  if (shorter_.effective->step.rule == StepRule::PostValidation && !repeated_period(*this, 0)) return false;
  return depth != Depth::All || !shorter_.metrics ||
         take_bounds(shorter_, longer_, cuts_, limits.stop, shorter_.metrics->lower_bound,
                     longer_.metrics->lower_bound);
}

bool ShortRuns::grow_alike() const {
  const auto& over = shorter_.over_limit;
  const auto& next = longer_.over_limit;
  if (over.has_value() != next.has_value()) return false;
  if (over) {
    const int shift = next->op.microbatch().value() - over->op.microbatch().value();
    if (over->op.kind() != next->op.kind() || over->op.stage() != next->op.stage() ||
        over->op.slice() != next->op.slice() || shift < 0 || shift > repeated_microbatches() ||
        over->rank != next->rank || over->bytes != next->bytes)
      return false;
  }
  if (!shorter_.metrics) return true;
  const auto is_alike = [](const RankMetrics& one, const RankMetrics& more) {
    return one.memory.peak_live == more.memory.peak_live && one.memory.peak_bytes == more.memory.peak_bytes &&
           one.memory.peak_activation_bytes == more.memory.peak_activation_bytes &&
           one.memory.peak_host_bytes == more.memory.peak_host_bytes && one.first_start == more.first_start;
  };
  return std::equal(shorter_.metrics->ranks.begin(), shorter_.metrics->ranks.end(),
                    longer_.metrics->ranks.begin(), longer_.metrics->ranks.end(), is_alike);
}

std::optional<std::int64_t> ShortRuns::times(int microbatches) const {
  const std::int64_t more = std::int64_t{microbatches} - plan_.params.microbatches;
  const std::int64_t repetition = std::int64_t{period_} * static_cast<std::int64_t>(cuts_.repetition.blocks);
  if (more < 0 || more % repetition != 0) return std::nullopt;
  const std::int64_t times = more / repetition;
  if (const auto& over = shorter_.over_limit;
      over && extended(over->op.microbatch().value(), longer_.over_limit->op.microbatch().value(), times) >=
                  kMaxIndex)
    return std::nullopt;
  const schedules::Generator& generator = *plan_.found.generator;
  Params params = with_microbatches(params_of(config_, plan_.found), microbatches);
  if (!schedules::takes(generator, with_microbatches(params, numbered(params, period_)))) return std::nullopt;
  params.options = schedules::options_in_force(generator, params);
  const bool is_same =
      params.options == plan_.params.options && block_of(generator, params, config_) == period_;
  return is_same ? std::optional(times) : std::nullopt;
}

void ShortRuns::require_fits(std::int64_t times) const {
  const io::Config& config = shorter_.model ? shorter_.model->costs.config : config_;
  cost::require_summable(config.memory, *shorter_.memory, *shorter_.schedule, config.step.count,
                         microbatches(times));
  if (extended(shorter_sums_.easy, longer_sums_.easy, times) < kMaxTicks) return;
  if (extended(shorter_sums_.exact, longer_sums_.exact, times) >= kMaxTicks) refuse_times();
}

std::optional<OverLimit> ShortRuns::over_limit(std::int64_t times) const {
  if (!shorter_.over_limit) return std::nullopt;
  OverLimit over = *shorter_.over_limit;
  const auto microbatch = static_cast<std::int32_t>(
      extended(over.op.microbatch().value(), longer_.over_limit->op.microbatch().value(), times));
  const Op op(over.op.kind(), over.op.stage(), Microbatch(microbatch));
  over.op = over.op.is_sliced() ? op.with_slice(over.op.slice()) : op;
  return over;
}

bool ShortRuns::peaks_early() const {
  const Schedule& shorter = *shorter_.schedule;
  const Schedule& longer = *longer_.schedule;
  if (shorter.placement().replicas() > 1) return false;
  for (Rank rank{0}; rank < Rank(shorter.ranks()); ++rank) {
    const std::size_t place = shorter_.metrics->ranks[rank.at()].memory.peak_op - shorter.queue_begin(rank);
    const std::size_t other = longer_.metrics->ranks[rank.at()].memory.peak_op - longer.queue_begin(rank);
    if (place != other || place >= cuts_.queues.cut(rank, cuts_.last)) return false;
  }
  return true;
}

void ShortRuns::extend_metrics(std::int64_t times, Metrics& metrics) const {
  const Metrics& shorter = *shorter_.metrics;
  const Metrics& longer = *longer_.metrics;
  const auto all = [times](auto one, auto more) {
    return static_cast<decltype(one)>(
        extended(static_cast<std::int64_t>(one), static_cast<std::int64_t>(more), times));
  };
  metrics = shorter;
  metrics.makespan = all(shorter.makespan, longer.makespan);
  metrics.num_ops = all(shorter.num_ops, longer.num_ops);
  metrics.num_entries = all(shorter.num_entries, longer.num_entries);
  metrics.lower_bound.value = all(shorter.lower_bound.value, longer.lower_bound.value);
  for (std::size_t r = 0; r < metrics.ranks.size(); ++r) {
    RankMetrics& rank = metrics.ranks[r];
    rank.busy = all(rank.busy, longer.ranks[r].busy);
    rank.last_end = all(rank.last_end, longer.ranks[r].last_end);
    rank.idle = metrics.makespan - rank.busy;
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      rank.idle_causes.of(cause) = all(rank.idle_causes.of(cause), longer.ranks[r].idle_causes.of(cause));
    }
  }
  add_totals(metrics);
  const Steps& steps = shorter_.effective->step;
  const Ticks longest = later(most(metrics, &RankMetrics::last_end), steps.optimizer);
  if (TickSum::times(longest, steps.count) > kMaxTicks) refuse_times();
  RunFacts facts;
  if (steps.rule == StepRule::PostValidation) facts.period = repeated_period(*this, times).value();
  add_step_times(metrics, *shorter_.schedule, *shorter_.costs, steps, &facts);
}

std::shared_ptr<const MessageSummary> ShortRuns::messages(std::int64_t times, Ticks makespan) const {
  return messages_ ? std::make_shared<const MessageSummary>(messages_->extended(times, makespan)) : nullptr;
}

void ShortRuns::drop_times() {
  for (Timeline* timeline : {&shorter_.timeline, &longer_.timeline}) {
    timeline->start = {};
    timeline->end = {};
  }
  longer_.messages.reset();
  shorter_.program_run.reset();
  shorter_.program.reset();
}

}  // namespace pipeloom::study
