#include "study/run/repeated/repeated_run.hpp"

#include <memory>
#include <utility>

#include "study/run/make_schedule.hpp"
#include "study/run/repeated/repeated_path.hpp"
#include "study/run/repeated/repeated_roots.hpp"
#include "study/run/repeated/short_runs.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// True if the run that the configuration names has more ops than this, and its schedule is not a file's.
bool is_longer(const io::Config& config, const Limits& limits, std::size_t least_ops) {
  const SchedulePlan plan = name_schedule(config);
  return plan.found.generator != nullptr &&
         size_of(plan, config, limits).ops > static_cast<double>(least_ops);
}

/// The longest chain of a run, and the causes of its idle time.
struct Walks {
  Repeated repeated;
  std::optional<CriticalPath> path;
};

/// Nullopt where the path may not go the same way in every repetition, and is to be listed. REQUIRES: `runs` has metrics.
std::optional<Walks> walks_of(const ShortRuns& runs, std::int64_t times, const Metrics& metrics,
                              const Limits& limits) {
  Walks out;
  const bool lists = metrics.num_entries <= limits.critical_path_entries;
  const auto chain = repeated_chain(runs);
  if (lists && (!chain || runs.microbatches(times) > kMaxIndex)) return std::nullopt;
  if (chain) out.repeated.path_entries = static_cast<std::size_t>(chain->count(times));
  if (lists) {
    NamedEntries named = entries_of(*chain, runs, times);
    out.path = {metrics.makespan, std::move(named.entries)};
    out.repeated.path = std::move(named.ops);
  }
  out.repeated.roots = repeated_roots(runs, times);
  return out;
}

}  // namespace

int microbatches_of(const Run& run) {
  const std::int64_t more = run.repeated ? run.repeated->times * run.repeated->microbatches : 0;
  return static_cast<int>(run.schedule->microbatches() + more);
}

std::span<const Op> path_ops(const Run& run) {
  return run.repeated ? std::span<const Op>(run.repeated->path) : run.schedule->ops();
}

std::size_t path_entries(const Run& run) {
  if (run.critical_path) return run.critical_path->entries.size();
  return run.repeated ? run.repeated->path_entries : 0;
}

std::optional<Run> evaluate_repeated(const io::Config& config, const Limits& limits, Depth depth,
                                     std::size_t least_ops) {
  if (!is_longer(config, limits, least_ops)) return std::nullopt;
  auto runs = ShortRuns::find(config, limits, depth);
  const auto times = runs ? runs->times(config.microbatches) : std::nullopt;
  if (!times) return std::nullopt;
  runs->require_fits(*times);
  std::optional<Metrics> metrics;
  if (runs->shorter().metrics) runs->extend_metrics(*times, metrics.emplace());
  const bool with_walks = metrics && depth == Depth::All && limits.critical_path_entries > 0;
  auto walks = with_walks ? walks_of(*runs, *times, *metrics, limits) : Walks();
  if (!walks) return std::nullopt;
  walks->repeated.times = *times;
  walks->repeated.peaks_early = metrics && runs->peaks_early();
  walks->repeated.microbatches = runs->repeated_microbatches();
  const auto over_limit = runs->over_limit(*times);
  const int microbatches = runs->microbatches(*times);
  auto messages = metrics ? runs->messages(*times, metrics->makespan) : nullptr;
  Run run = std::move(*runs).take_shorter();
  run.metrics = std::move(metrics);
  if (messages) run.messages = std::move(messages);
  run.critical_path = std::move(walks->path);
  run.over_limit = over_limit;
  if (run.model) {
    const TrainingTerms training = training_terms(run.model->costs, *run.schedule, microbatches);
    run.model = std::make_shared<const ModelRun>(ModelRun{run.model->costs, training});
  }
  if (with_walks && walks->repeated.path_entries == 0)
    static_cast<void>(has_path(run, run.metrics->num_entries, limits));
  run.repeated = std::make_shared<const Repeated>(std::move(walks->repeated));
  return run;
}

}  // namespace pipeloom::study
