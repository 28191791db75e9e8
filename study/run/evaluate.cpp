#include "study/run/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/analysis/bounds.hpp"
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/memory_sums.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/time_limits.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/memory.hpp"
#include "sim/messages/program_engine.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/messages.hpp"
#include "study/run/model_costs.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "study/run/run_bound.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// Between two passes.
void end_if_stopped(const Limits& limits) {
  if (limits.stop && limits.stop()) throw Stopped();
}

RunFacts take_messages(MessageRun messages, Run& out) {
  out.timeline = messages.run.timeline;
  out.program = std::make_shared<const Program>(std::move(messages.program));
  out.program_run = std::make_shared<const ProgramRun>(std::move(messages.run));
  out.messages = std::make_shared<const MessageSummary>(std::move(messages.summary));
  return std::move(messages.facts);
}

/// Refuses times that may exceed kMaxTicks. No step takes longer than the first, whose ranks all start at once: if `count` of those fit, all do.
void require_steps_fit(const Timeline& timeline, const Steps& steps) {
  const Ticks longest = later(span_of(timeline).end, steps.optimizer);
  if (timeline.steps < steps.count && TickSum::times(longest, steps.count) > kMaxTicks) refuse_times();
}

/// Times and bytes of this schedule's ops.
std::shared_ptr<const Terms> terms_of(const Schedule& schedule, const io::Config& config,
                                      cost::ResolvedCosts& resolved) {
  auto terms = std::make_shared<Terms>();
  terms->costs = std::move(resolved.costs);
  terms->memory = cost::resolve_memory(config.memory, schedule.placement());
  terms->costs.slice_end = slice_ends(config.options, schedule.slices());
  cost::bind_costs(terms->costs, resolved.ops, schedule);
  terms->memory.slice_end = terms->costs.slice_end;
  cost::require_summable(config.memory, terms->memory, schedule, config.step.count, schedule.microbatches());
  return terms;
}

/// The configuration in force for this schedule; `said` is what make_schedule() filled in.
std::shared_ptr<const io::EffectiveConfig> effective_of(const Run& run, const io::Config& config,
                                                        const cost::ResolvedCosts& resolved,
                                                        const std::vector<cost::Origin>& estimated,
                                                        io::EffectiveConfig said) {
  take_resolved(said, config, resolved, *run.costs, *run.memory, *run.schedule);
  std::vector<cost::Origin> origins = resolved.origins;
  origins.insert(origins.end(), estimated.begin(), estimated.end());
  collect_origins(said, config, origins);
  return std::make_shared<const io::EffectiveConfig>(std::move(said));
}

Run measure_run(std::shared_ptr<const Schedule> schedule, const io::Config& given, const Limits& limits,
                io::EffectiveConfig said, Depth depth, const FrameworkProgram& framework = {}) {
  Run out;
  end_if_stopped(limits);
  if (auto costs = model_costs(given, *schedule)) {
    const TrainingTerms training = training_terms(*costs, *schedule, schedule->microbatches());
    out.model = std::make_shared<const ModelRun>(ModelRun{*std::move(costs), training});
  }
  const io::Config& config = out.model ? out.model->costs.config : given;
  out.schedule = std::move(schedule);
  for (const auto* warnings : {&config.warnings, &std::as_const(said.warnings)})
    out.warnings.insert(out.warnings.end(), warnings->begin(), warnings->end());
  if (out.model) {
    const auto& ignored = out.model->costs.setting.model->warnings;
    out.warnings.insert(out.warnings.end(), ignored.begin(), ignored.end());
    const auto& asked = out.model->costs.setting.model->recompute;
    if (asked && !given.given.has("options.recompute"))
      out.warnings.push_back(
          fmt::format("{}: recomputation is said there, and is not taken: options.recompute says it for this "
                      "run; give it, or none",
                      out.model->costs.setting.model->where.file));
  }
  cost::ResolvedCosts resolved = cost::resolve(config.costs, *out.schedule);
  const auto terms = terms_of(*out.schedule, config, resolved);
  out.costs = {terms, &terms->costs};
  out.memory = {terms, &terms->memory};
  out.effective =
      effective_of(out, config, resolved, out.model ? out.model->costs.origins : std::vector<cost::Origin>(),
                   std::move(said));
  out.warnings.insert(out.warnings.end(), resolved.warnings.begin(), resolved.warnings.end());

  Steps simulated = config.step;
  simulated.count = simulated_steps(config, limits);
  std::optional<RunFacts> facts;
  if (config.costs.transfer.model == cost::TransferModel::Latency)
    out.timeline = simulate(out.schedule, *out.costs, simulated, limits.stop);
  else
    facts = take_messages(run_messages(out.schedule, config.costs.transfer, *out.costs, simulated, framework),
                          out);
  end_if_stopped(limits);
  require_steps_fit(out.timeline, config.step);
  out.over_limit = find_over_limit(out.timeline, *out.memory);
  if (!limits.with_metrics) return out;
  out.metrics =
      measure_times(out.timeline, *out.costs, *out.memory, out.effective->step, facts ? &*facts : nullptr);
  if (depth == Depth::All) add_bound_and_path(out, limits);
  return out;
}

}  // namespace

bool has_path(Run& run, std::size_t entries, const Limits& limits) {
  if (limits.critical_path_entries == 0) return false;
  if (entries <= limits.critical_path_entries) return true;
  run.warnings.push_back(fmt::format("no critical path: the run has {} entries, more than {}", entries,
                                     limits.critical_path_entries));
  return false;
}

void add_bound_and_path(Run& run, const Limits& limits) {
  end_if_stopped(limits);
  const Steps& steps = run.effective->step;
  const std::size_t entries = run.schedule->num_entries();
  const bool with_bound = entries <= limits.bound_entries;
  const bool with_path = has_path(run, entries, limits);
  if (with_path && run.program_run)
    run.critical_path = {run.metrics->makespan, critical_entries(*run.program_run, *run.program)};
  if (with_bound)
    run.metrics->lower_bound =
        run.program_run
            ? lower_bound(*run.schedule, *run.costs, steps, run.metrics->makespan)
            : run_bound(*run.schedule, *run.costs, *run.memory, steps, run.metrics->makespan, limits.stop);
  end_if_stopped(limits);
  if (with_path && !run.program_run) run.critical_path = critical_path(run.timeline, *run.costs);
}

Run evaluate(const io::Config& config, const Limits& limits, Depth depth) {
  if (limits.totals_only)
    if (auto run = evaluate_repeated(config, limits, depth)) return *std::move(run);
  io::EffectiveConfig effective;
  auto schedule = make_schedule(config, limits, effective);
  return evaluate_made(std::move(schedule), config, limits, std::move(effective), depth);
}

Run evaluate_made(std::shared_ptr<const Schedule> schedule, const io::Config& config, const Limits& limits,
                  io::EffectiveConfig effective, Depth depth) {
  const std::shared_ptr<const Schedule> made = std::move(schedule);
  const FrameworkProgram framework = framework_program(config, made);
  return measure_run(made, config, limits, std::move(effective), depth, framework);
}

Run evaluate_schedule(std::shared_ptr<const Schedule> schedule, const std::string& name,
                      const io::Config& config, const Limits& limits, Depth depth) {
  end_if_stopped(limits);
  require_valid(*schedule);
  if (config.options.forward_only) schedule = std::make_shared<const Schedule>(forward_only(*schedule));
  check_size(size_of(*schedule, config, limits), limits, name);
  io::EffectiveConfig effective;
  describe_file(*schedule, name, effective);
  effective.options.recompute = config.options.recompute;
  effective.options.offload = config.options.offload;
  effective.options.forward_only = config.options.forward_only;
  schedule = with_extras(std::move(schedule), config);
  // The name in the configuration is that of another order; its framework has no rule for this one.
  io::Config nameless = config;
  nameless.schedule.clear();
  return measure_run(std::move(schedule), nameless, limits, std::move(effective), depth);
}

}  // namespace pipeloom::study
