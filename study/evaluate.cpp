#include "study/evaluate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/io/config_keys.hpp"
#include "sim/io/file.hpp"
#include "sim/io/formats.hpp"
#include "sim/io/schedule_places.hpp"
#include "sim/simulator.hpp"
#include "sim/validate.hpp"
#include "study/messages.hpp"

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
  params.chunks = schedules::default_chunks(found.generator->requirements, config.options.variant);
  const io::RunOptions& options = config.options;
  const schedules::Requirements& requirements = found.generator->requirements;
  params.forward_only = options.forward_only;
  if (requirements.takes_waves) {
    params.waves = options.waves.value_or(config.chunks.value_or(2) / 2);
    params.chunks = 2 * params.waves;
  }
  if (config.chunks) params.chunks = *config.chunks;
  params.group_size = options.group_size;
  params.slices =
      options.slices.empty() ? requirements.default_slices : static_cast<int>(options.slices.size());
  params.updates = options.updates.value_or(requirements.default_updates);
  params.variant = options.variant;
  if (found.alias == nullptr || !found.alias->defaults) return params;
  try {
    found.alias->defaults(params);
  } catch (const ScheduleError& error) {
    throw ScheduleError(config.schedule_where, error.what());
  }
  if (config.chunks) params.chunks = *config.chunks;
  if (options.group_size) params.group_size = options.group_size;
  return params;
}

/// Options that the schedule does not know, one by one: a wish that has no effect is a mistake.
void refuse_unused_options(const io::RunConfig& config, const schedules::Generator& generator) {
  const schedules::Requirements& takes = generator.requirements;
  const struct {
    const char* name;
    bool used;
    const char* what;
  } options[] = {
      {"group_size", takes.takes_group_size, "groups of microbatches"},
      {"slices", takes.takes_slices, "sequence slices"},
      {"waves", takes.takes_waves, "waves"},
      {"updates", takes.takes_updates, "updates without a flush"},
      {"variant", !takes.variants.empty(), "variants"},
      {"file", false, "file (the schedule custom has)"},
  };
  for (const auto& option : options)
    if (const Where* where = config.options.place_of(option.name); where != nullptr && !option.used)
      throw InputError(*where, fmt::format("options.{} is given, but {} has no {}; leave it out", option.name,
                                           generator.name, option.what));
}

void refuse_contradictions(const io::RunConfig& config, const schedules::Generator& generator,
                           const schedules::Params& params) {
  refuse_unused_options(config, generator);
  const auto& variants = generator.requirements.variants;
  const Where* variant = config.options.place_of("variant");
  if (variant != nullptr && std::find(variants.begin(), variants.end(), params.variant) == variants.end())
    throw InputError::unknown_name(*variant, "variant", shortened(params.variant, 64), variants);
  if (static_cast<long long>(params.microbatches) * params.slices * params.updates > kMaxIndex)
    throw InputError(
        config.microbatches_where,
        fmt::format("microbatches * slices * updates = {} passes; at most {} are allowed",
                    static_cast<long long>(params.microbatches) * params.slices * params.updates, kMaxIndex));
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
  if (key == "options.slices") return !effective.options.slices.empty();
  if (key == "options.waves") return effective.options.waves.has_value();
  if (key == "options.updates") return effective.options.updates.has_value();
  if (key == "options.variant") return !effective.options.variant.empty();
  if (key == "options.file" || key.starts_with("options.offload") || key.starts_with("options.recompute"))
    return false;
  if (key == "costs.recompute" || key == "memory.stash_bytes") return effective.runs(OpKind::Recompute);
  if (key == "costs.offload" || key == "costs.reload") return effective.runs(OpKind::Offload);
  const auto& transfer = effective.spec.transfer;
  if (key.starts_with("costs.transfer.intra") || key.starts_with("costs.transfer.inter") ||
      key.ends_with("ranks_per_node"))
    return transfer.ranks_per_node.has_value();
  if (key == "costs.transfer.plan") return transfer.model != cost::TransferModel::Latency;
  if (key == "costs.transfer.ahead") return transfer.plan == "ahead";
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

/// Cumulative weights, from 0 to their sum; empty for whole sequences.
std::vector<std::int64_t> slice_ends(const io::RunOptions& options, int slices) {
  if (slices == 1) return {};
  std::vector<std::int64_t> ends = {0};
  for (int j = 0; j < slices; ++j)
    ends.push_back(ends.back() + (options.slices.empty() ? 1 : options.slices[static_cast<std::size_t>(j)]));
  return ends;
}

/// What the options add to any schedule: recomputation first, since a reload is for whoever needs the activations first.
std::shared_ptr<const Schedule> with_extras(std::shared_ptr<const Schedule> schedule,
                                            const io::RunOptions& options) {
  const auto refuse = [&](const char* name, const char* why) {
    throw InputError(*options.place_of(name), fmt::format("options.{} {}; leave it out", name, why));
  };
  for (const char* name : {"recompute", "offload"})
    if (schedule->is_forward_only() && options.place_of(name) != nullptr)
      refuse(name, "is for backwards, and this run has only forwards");
  if (options.recompute.on) {
    if (schedule->contains(OpKind::Recompute))
      refuse("recompute", "is given, but the schedule has its own R ops");
    schedule = std::make_shared<const Schedule>(schedules::with_recompute(*schedule, options.recompute.keep));
  }
  if (options.offload.on) {
    if (schedule->has_copies()) refuse("offload", "is given, but the schedule has its own O and L ops");
    const schedules::OffloadRule rule{options.offload.chunks.value_or(kMaxIndex), options.offload.prefetch,
                                      options.offload.min_gap};
    schedule = std::make_shared<const Schedule>(schedules::with_offload(*schedule, rule));
  }
  return schedule;
}

void take_messages(MessageRun messages, Evaluation& out) {
  out.timeline = messages.run.timeline;
  out.program = std::move(messages.program);
  out.program_run = std::move(messages.run);
  out.messages = std::move(messages.summary);
  out.facts = std::move(messages.facts);
}

void measure_timeline(const Limits& limits, Evaluation& out) {
  out.metrics =
      measure(out.timeline, out.costs, out.memory, out.steps, out.program_run ? &out.facts : nullptr);
  if (out.schedule->num_entries() > limits.critical_path_entries)
    out.warnings.push_back(fmt::format("no critical path: the run has {} entries, more than {}",
                                       out.schedule->num_entries(), limits.critical_path_entries));
  else if (out.program_run)
    out.critical_path = {out.metrics.makespan, critical_entries(*out.program_run, *out.program)};
  else
    out.critical_path = critical_path(out.timeline, out.costs);
}

Evaluation measure_run(std::shared_ptr<const Schedule> schedule, const io::RunConfig& config,
                       const Limits& limits, io::EffectiveConfig effective,
                       const FrameworkProgram& framework = {}) {
  Evaluation out;
  out.schedule = std::move(schedule);
  out.warnings = config.warnings;
  out.effective = std::move(effective);
  out.effective.stages = out.schedule->stages();
  for (const OpKind kind : kAllOpKinds)
    if (out.schedule->contains(kind)) out.effective.kinds |= 1U << index_of(kind);
  out.effective.spec = config.costs;
  out.effective.resolved = cost::resolve(config.costs, *out.schedule);
  out.effective.memory = cost::resolve_memory(config.memory, out.schedule->placement());
  const auto ends = slice_ends(config.options, out.schedule->slices());
  out.effective.resolved.costs.slice_end = ends;
  out.effective.memory.slice_end = ends;
  out.effective.step = config.step;
  collect_origins(config, out.effective);
  const auto& found = out.effective.resolved.warnings;
  out.warnings.insert(out.warnings.end(), found.begin(), found.end());

  out.costs = out.effective.resolved.costs;
  out.memory = out.effective.memory;
  out.steps = config.step;
  if (config.costs.transfer.model == cost::TransferModel::Latency)
    out.timeline = simulate(out.schedule, out.costs, out.steps);
  else
    take_messages(run_messages(out.schedule, config.costs.transfer, out.costs, out.steps, framework), out);
  out.over_limit = find_over_limit(out.timeline, out.memory);
  if (limits.with_metrics) measure_timeline(limits, out);
  return out;
}

}  // namespace

double default_max_memory() {
  return 0.75 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

io::Report Evaluation::report() const {
  return {&effective, &timeline,
          &metrics,   critical_path ? &*critical_path : nullptr,
          over_limit, messages ? &*messages : nullptr};
}

namespace {

void describe_file(const Schedule& schedule, const std::string& name, io::EffectiveConfig& effective) {
  effective.schedule = name;
  effective.ranks = schedule.ranks();
  effective.microbatches = schedule.microbatches();
  effective.chunks = schedule.placement().chunks();
  for (const char* key : {"schedule", "ranks", "microbatches", "chunks"})
    effective.origins.emplace_back(key, "schedule file");
}

/// Says that the configuration's own number, if it has one, is the file's.
void require_same(const Where& where, const char* key, int given, int found, const std::string& file) {
  if (given != 0 && given != found)
    throw InputError(where, fmt::format("{} = {}, but {} holds a schedule of {}; leave {} out", key, given,
                                        file, found, key));
}

/// options.file of the schedule `custom`.
std::shared_ptr<const Schedule> load_custom(const io::RunConfig& config, const Limits& limits,
                                            io::EffectiveConfig& effective) {
  if (config.options.file.empty())
    throw InputError(
        config.schedule_where,
        "custom is a schedule from a file; name the file in options.file (--set options.file=PATH)");
  const std::string path = io::relative_to(config.schedule_where.file, config.options.file);
  const std::string text = io::read_file(path);
  io::Imported imported = io::read_schedule(text, path);
  const Schedule& schedule = *imported.schedule;
  if (const auto found = validate(schedule); !found.empty())
    throw ScheduleError(io::SchedulePlaces(text, path).of(found.front()), found.front().message);
  require_same(config.ranks_where, "ranks", config.ranks, schedule.ranks(), path);
  require_same(config.microbatches_where, "microbatches", config.microbatches, schedule.microbatches(), path);
  require_same(config.chunks_where, "chunks", config.chunks.value_or(0), schedule.placement().chunks(), path);
  check_size(static_cast<double>(schedule.num_ops()), config.step.count, limits, path);
  describe_file(schedule, std::string(io::kCustomSchedule), effective);
  effective.options = config.options;
  if (config.options.forward_only)
    imported.schedule = std::make_shared<const Schedule>(forward_only(schedule));
  return with_extras(std::move(imported.schedule), config.options);
}

}  // namespace

std::shared_ptr<const Schedule> make_schedule(const io::RunConfig& config, const Limits& limits,
                                              io::EffectiveConfig& effective) {
  if (config.schedule == io::kCustomSchedule) return load_custom(config, limits, effective);
  const schedules::Found found = schedules::find(config.schedule, config.schedule_where);
  const schedules::Generator& generator = *found.generator;
  const schedules::Params params = params_of(config, found);
  refuse_contradictions(config, generator, params);
  const int extras = (config.options.recompute.on ? 1 : 0) + (config.options.offload.on ? 2 : 0);
  const int kinds = params.forward_only ? 1 : extras + (generator.requirements.splits_backward ? 3 : 2);
  check_size(static_cast<double>(kinds) * params.ranks * params.chunks * params.microbatches * params.slices *
                 params.updates,
             config.step.count, limits,
             fmt::format("{} with ranks = {}, chunks = {}, microbatches = {}", generator.name, params.ranks,
                         params.chunks, params.microbatches));

  effective.schedule = generator.name;
  effective.ranks = params.ranks;
  effective.microbatches = params.microbatches;
  effective.chunks = params.chunks;
  effective.options = config.options;
  if (generator.requirements.takes_group_size)
    effective.options.group_size = params.group_size.value_or(
        generator.default_group_size ? generator.default_group_size(params) : params.ranks);
  if (generator.requirements.takes_slices && config.options.slices.empty())
    effective.options.slices.assign(static_cast<std::size_t>(params.slices), 1);
  if (generator.requirements.takes_waves) effective.options.waves = params.waves;
  if (generator.requirements.takes_updates) effective.options.updates = params.updates;
  if (!generator.requirements.variants.empty())
    effective.options.variant =
        params.variant.empty() ? generator.requirements.variants.front() : params.variant;
  if (!config.chunks) effective.origins.emplace_back("chunks", origin_of(found));
  for (const char* name : {"group_size", "slices", "waves", "updates", "variant"})
    if (config.options.place_of(name) == nullptr)
      effective.origins.emplace_back(std::string("options.") + name, origin_of(found));
  auto schedule = std::make_shared<const Schedule>(schedules::make(generator, params, config.schedule_where));
  return with_extras(std::move(schedule), config.options);
}

IdleCells drawn_blanks(const io::RunConfig& config, const Schedule& schedule) {
  const io::RunOptions& options = config.options;
  if (config.schedule == io::kCustomSchedule || options.forward_only || options.recompute.on ||
      options.offload.on)
    return {};
  const schedules::Found found = schedules::find(config.schedule, config.schedule_where);
  if (!found.generator->idle_cells) return {};
  return found.generator->idle_cells(params_of(config, found), schedule);
}

Evaluation evaluate(const io::RunConfig& config, const Limits& limits) {
  io::EffectiveConfig effective;
  auto schedule = make_schedule(config, limits, effective);
  FrameworkProgram framework;
  if (config.schedule != io::kCustomSchedule)
    framework = [&config, schedule](schedules::MessageStyle style) -> std::optional<Program> {
      const schedules::Found found = schedules::find(config.schedule, config.schedule_where);
      if (!found.generator->messages) return std::nullopt;
      return found.generator->messages(params_of(config, found), schedule, style);
    };
  return measure_run(std::move(schedule), config, limits, std::move(effective), framework);
}

Evaluation evaluate_schedule(std::shared_ptr<const Schedule> schedule, const std::string& name,
                             const io::RunConfig& config, const Limits& limits) {
  require_valid(*schedule);
  if (config.options.forward_only) schedule = std::make_shared<const Schedule>(forward_only(*schedule));
  check_size(static_cast<double>(schedule->num_ops()), config.step.count, limits, name);
  io::EffectiveConfig effective;
  describe_file(*schedule, name, effective);
  effective.options.recompute = config.options.recompute;
  effective.options.offload = config.options.offload;
  effective.options.forward_only = config.options.forward_only;
  schedule = with_extras(std::move(schedule), config.options);
  return measure_run(std::move(schedule), config, limits, std::move(effective));
}

}  // namespace pipeloom::study
