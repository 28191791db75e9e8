#include "study/evaluate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "schedules/generator.hpp"
#include "sim/io/config_keys.hpp"
#include "sim/simulator.hpp"
#include "sim/validate.hpp"

namespace pipeloom::study {
namespace {

// Bytes per op while a run is evaluated: the op itself, engine and measuring scratch; per op and step two times; and the
// dependency graph on which bound and critical path are found.
constexpr double kBytesPerOp = 8 + 32;
constexpr double kBytesPerTime = 16;
constexpr double kBytesPerGraphEntry = 128;

void check_size(double ops, int steps, const Limits& limits, const std::string& what) {
  const double need =
      ops * (kBytesPerOp + kBytesPerTime * steps + (limits.with_metrics ? kBytesPerGraphEntry : 0));
  const double limit = limits.max_memory.value_or(default_max_memory());
  if (need > limit)
    throw InputError::too_large(fmt::format("{} ({:.3g} ops)", what, ops * steps), need, limit);
}

schedules::Params params_of(const io::RunConfig& config, const schedules::Found& found) {
  schedules::Params params;
  params.ranks = config.ranks;
  params.microbatches = config.microbatches;
  params.chunks = found.generator->requirements.default_chunks;
  params.forward_only = config.options.forward_only;
  if (config.chunks) params.chunks = *config.chunks;
  params.group_size = config.options.group_size;
  if (found.alias == nullptr || !found.alias->defaults) return params;
  try {
    found.alias->defaults(params);
  } catch (const ScheduleError& error) {
    throw ScheduleError(config.schedule_where, error.what());
  }
  if (config.chunks) params.chunks = *config.chunks;
  if (config.options.group_size) params.group_size = config.options.group_size;
  return params;
}

void refuse_contradictions(const io::RunConfig& config, const schedules::Generator& generator,
                           const schedules::Params& params) {
  if (config.options.group_size && !generator.requirements.takes_group_size)
    throw InputError(
        config.options.group_size_where,
        fmt::format("options.group_size is given, but {} has no groups of microbatches; leave it out",
                    generator.name));
  const auto stages = static_cast<long long>(params.ranks) * params.chunks;
  if (stages > kMaxIndex)
    throw InputError(config.chunks ? config.chunks_where : config.ranks_where,
                     fmt::format("ranks * chunks = {} stages; at most {} are allowed", stages, kMaxIndex));
}

std::string origin_of(const schedules::Found& found) {
  return found.alias == nullptr ? "default" : fmt::format("default of {}", found.alias->name);
}

using Origins = std::vector<cost::Origin>;

void set_origin(Origins& origins, const std::string& key, const std::string& text) {
  const auto same = [&key](const cost::Origin& origin) { return origin.first == key; };
  const auto found = std::find_if(origins.begin(), origins.end(), same);
  if (found == origins.end())
    origins.emplace_back(key, text);
  else
    found->second = text;
}

/// Keys that the effective configuration does not show, because they do not hold, have no origin either.
bool is_shown(const io::EffectiveConfig& effective, std::string_view key) {
  const auto* row = io::find_config_key(key);
  if (row == nullptr) return false;
  if (key == "options.group_size") return effective.options.group_size.has_value();
  const auto& transfer = effective.spec.transfer;
  if (key.starts_with("costs.transfer.intra") || key.starts_with("costs.transfer.inter") ||
      key.ends_with("ranks_per_node"))
    return transfer.ranks_per_node.has_value();
  if (key == "costs.transfer.bandwidth_gbps") return transfer.link.bits_per_second.has_value();
  return row->type != io::KeyType::Scales;
}

/// Defaults of the input, then what schedule and costs added to them, in the order of the table of keys.
void collect_origins(const io::RunConfig& config, io::EffectiveConfig& effective) {
  Origins all;
  for (const auto& key : config.defaulted) set_origin(all, key, "default");
  for (const auto& [key, text] : effective.origins) set_origin(all, key, text);
  for (const auto& [key, text] : effective.resolved.origins) set_origin(all, key, text);
  effective.origins.clear();
  for (const auto& row : io::config_keys())
    for (auto& origin : all)
      if (origin.first == row.path && is_shown(effective, row.path))
        effective.origins.push_back(std::move(origin));
}

Evaluation measure_run(std::shared_ptr<const Schedule> schedule, const io::RunConfig& config,
                       const Limits& limits, io::EffectiveConfig effective) {
  Evaluation out;
  out.schedule = std::move(schedule);
  out.warnings = config.warnings;
  out.effective = std::move(effective);
  out.effective.stages = out.schedule->stages();
  out.effective.spec = config.costs;
  out.effective.resolved = cost::resolve(config.costs, *out.schedule);
  out.effective.memory = cost::resolve_memory(config.memory, out.schedule->placement());
  out.effective.step = config.step;
  collect_origins(config, out.effective);
  const auto& found = out.effective.resolved.warnings;
  out.warnings.insert(out.warnings.end(), found.begin(), found.end());

  out.costs = out.effective.resolved.costs;
  out.memory = out.effective.memory;
  out.steps = config.step;
  out.timeline = simulate(out.schedule, out.costs, out.steps);
  out.over_limit = find_over_limit(out.timeline, out.memory);
  if (!limits.with_metrics) return out;
  out.metrics = measure(out.timeline, out.costs, out.memory, out.steps);
  if (out.schedule->num_entries() <= limits.critical_path_entries)
    out.critical_path = critical_path(out.timeline, out.costs);
  else
    out.warnings.push_back(fmt::format("no critical path: the run has {} entries, more than {}",
                                       out.schedule->num_entries(), limits.critical_path_entries));
  return out;
}

}  // namespace

double default_max_memory() {
  return 0.75 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

io::Report Evaluation::report() const {
  return {&effective, &timeline, &metrics, critical_path ? &*critical_path : nullptr, over_limit};
}

std::shared_ptr<const Schedule> make_schedule(const io::RunConfig& config, const Limits& limits,
                                              io::EffectiveConfig& effective) {
  const schedules::Found found = schedules::find(config.schedule, config.schedule_where);
  const schedules::Generator& generator = *found.generator;
  const schedules::Params params = params_of(config, found);
  refuse_contradictions(config, generator, params);
  const int kinds = params.forward_only ? 1 : generator.requirements.splits_backward ? 3 : 2;
  check_size(static_cast<double>(kinds) * params.ranks * params.chunks * params.microbatches,
             config.step.count, limits,
             fmt::format("{} with ranks = {}, chunks = {}, microbatches = {}", generator.name, params.ranks,
                         params.chunks, params.microbatches));

  effective.schedule = generator.name;
  effective.ranks = params.ranks;
  effective.microbatches = params.microbatches;
  effective.chunks = params.chunks;
  effective.options = config.options;
  if (generator.requirements.takes_group_size)
    effective.options.group_size = params.group_size.value_or(params.ranks);
  if (!config.chunks) effective.origins.emplace_back("chunks", origin_of(found));
  if (!config.options.group_size) effective.origins.emplace_back("options.group_size", origin_of(found));
  return std::make_shared<const Schedule>(schedules::make(generator, params, config.schedule_where));
}

Evaluation evaluate(const io::RunConfig& config, const Limits& limits) {
  io::EffectiveConfig effective;
  auto schedule = make_schedule(config, limits, effective);
  return measure_run(std::move(schedule), config, limits, std::move(effective));
}

Evaluation evaluate_schedule(std::shared_ptr<const Schedule> schedule, const std::string& name,
                             const io::RunConfig& config, const Limits& limits) {
  require_valid(*schedule);
  if (config.options.forward_only) schedule = std::make_shared<const Schedule>(forward_only(*schedule));
  check_size(static_cast<double>(schedule->num_ops()), config.step.count, limits, name);
  io::EffectiveConfig effective;
  effective.schedule = name;
  effective.ranks = schedule->ranks();
  effective.microbatches = schedule->microbatches();
  effective.chunks = schedule->placement().chunks();
  effective.options.forward_only = config.options.forward_only;
  for (const char* key : {"schedule", "ranks", "microbatches", "chunks"})
    effective.origins.emplace_back(key, "schedule file");
  return measure_run(std::move(schedule), config, limits, std::move(effective));
}

}  // namespace pipeloom::study
