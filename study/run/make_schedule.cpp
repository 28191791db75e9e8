#include "study/run/make_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/schedule_places.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::study {
namespace {

/// Options that the schedule does not know, one by one: a wish that has no effect is a mistake.
void refuse_unused_options(const io::RunConfig& config, const schedules::Generator& generator) {
  static constexpr std::pair<const char*, const char*> kOptions[] = {
      {"group_size", "groups of microbatches"},
      {"slices", "sequence slices"},
      {"waves", "waves"},
      {"updates", "updates without a flush"},
      {"variant", "variants"},
      {"memory_limit", "memory limit of its own (memory.limit_bytes is for all schedules)"},
      {"file", "file (the schedule custom has)"},
  };
  for (const auto& [name, what] : kOptions)
    if (const Where* where = config.options.place_of(name);
        where != nullptr && !schedules::takes_option(generator.requirements, name))
      throw InputError(*where, fmt::format("options.{} is given, but {} has no {}; leave it out", name,
                                           generator.name, what));
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
        fmt::format("microbatches * slices * updates = {} passes; at most {} are allowed: take fewer",
                    static_cast<long long>(params.microbatches) * params.slices * params.updates, kMaxIndex));
  const auto stages = static_cast<long long>(params.ranks) * params.chunks;
  if (stages > kMaxIndex)
    throw InputError(
        config.chunks ? config.chunks_where : config.ranks_where,
        fmt::format("ranks * chunks = {} stages; at most {} are allowed: take fewer", stages, kMaxIndex));
}

/// What ops cost and hold where the schedule puts them, before their order is known. A schedule that is refused anyway has none.
std::shared_ptr<const Terms> resolve_terms(const io::RunConfig& config, const SchedulePlan& plan) {
  const schedules::Generator& generator = *plan.found.generator;
  if (!schedules::refusal(generator, plan.params).empty()) return nullptr;
  const Placement placement = generator.placement(plan.params);
  cost::Shape shape{&placement, 0, plan.params.microbatches};
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
    shape.kinds |= 1U << index_of(kind);
  return std::make_shared<const Terms>(
      Terms{cost::resolve(config.costs, shape).costs, cost::resolve_memory(config.memory, placement)});
}

/// Where the user finds what a schedule refuses: its limit, if its order depends on one.
const Where& place_of_refusal(const io::RunConfig& config, const SchedulePlan& plan) {
  if (plan.terms == nullptr) return config.schedule_where;
  if (const Where* where = config.options.place_of("memory_limit")) return *where;
  const bool by_limit = !plan.params.memory_limit && config.memory.limit;
  return by_limit ? config.memory.limit->where : config.schedule_where;
}

std::string origin_of(const schedules::Found& found) {
  return found.alias == nullptr ? "default" : fmt::format("default of {}", found.alias->name);
}

/// What the search for an order says about itself: the limit and where it is from, and the setting that won.
void describe_search(const io::RunConfig& config, const SchedulePlan& plan,
                     const schedules::Emission& emission, io::EffectiveConfig& effective) {
  const Where* place = config.options.place_of("memory_limit");
  const bool given = place != nullptr;
  const schedules::Alias* alias = plan.found.alias;
  const bool by_alias = !given && plan.params.memory_limit;
  if (plan.params.memory_limit)
    effective.options.memory_limit = {plan.params.memory_limit->bytes,
                                      plan.params.memory_limit->microbatches};
  const std::string whose = given                 ? "given: "
                            : by_alias            ? alias->name + ": "
                            : config.memory.limit ? ""
                                                  : "default: ";
  effective.origins.emplace_back("options.memory_limit", whose + emission.limit);
  if (!emission.setting.empty()) {
    const std::string variant =
        config.options.place_of("variant") != nullptr ? "given" : origin_of(plan.found);
    effective.origins.emplace_back("options.variant", fmt::format("{}; {} won", variant, emission.setting));
  }
  effective.warnings.insert(effective.warnings.end(), emission.warnings.begin(), emission.warnings.end());
  if (place == nullptr || alias == nullptr || !alias->defaults) return;
  schedules::Params usual;
  alias->defaults(usual);
  if (usual.memory_limit)
    effective.warnings.push_back(
        fmt::format("{}: options.memory_limit holds, not the limit that the name {} stands for",
                    place->text(), alias->name));
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
  if (const auto found = validate(schedule); !found.empty()) {
    const Where where = io::SchedulePlaces(text, path).of(found.front());
    if (only_hangs(found)) throw HangError(where, found.front().message);
    throw ScheduleError(where, found.front().message);
  }
  require_same(config.ranks_where, "ranks", config.ranks, schedule.ranks(), path);
  require_same(config.microbatches_where, "microbatches", config.microbatches, schedule.microbatches(), path);
  require_same(config.chunks_where, "chunks", config.chunks.value_or(0), schedule.placement().chunks(), path);
  check_size(size_of(schedule, config, limits), limits, path);
  describe_file(schedule, std::string(io::kCustomSchedule), effective);
  effective.options = config.options;
  if (config.options.forward_only)
    imported.schedule = std::make_shared<const Schedule>(forward_only(schedule));
  return with_extras(std::move(imported.schedule), config.options);
}

}  // namespace

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
  const io::MemoryLimitOption& limit = options.memory_limit;
  const bool has_limit = limit.bytes || limit.microbatches;
  if (has_limit) params.memory_limit = schedules::MemoryLimit{limit.bytes, limit.microbatches};
  if (found.alias == nullptr || !found.alias->defaults) return params;
  const auto given = params.memory_limit;
  try {
    found.alias->defaults(params);
  } catch (const ScheduleError& error) {
    throw ScheduleError(config.schedule_where, error.what());
  }
  if (config.chunks) params.chunks = *config.chunks;
  if (options.group_size) params.group_size = options.group_size;
  if (has_limit) params.memory_limit = given;
  return params;
}

void describe_file(const Schedule& schedule, const std::string& name, io::EffectiveConfig& effective) {
  effective.schedule = name;
  effective.ranks = schedule.ranks();
  effective.microbatches = schedule.microbatches();
  effective.chunks = schedule.placement().chunks();
  for (const char* key : {"schedule", "ranks", "microbatches", "chunks"})
    effective.origins.emplace_back(key, "schedule file");
}

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

SchedulePlan plan_schedule(const io::RunConfig& config, const Limits& limits) {
  if (config.schedule == io::kCustomSchedule) return {};
  SchedulePlan plan;
  plan.found = schedules::find(config.schedule, config.schedule_where);
  plan.params = params_of(config, plan.found);
  const schedules::Generator& generator = *plan.found.generator;
  const schedules::Params& params = plan.params;
  refuse_contradictions(config, generator, params);
  const int extras = (config.options.recompute.on ? 1 : 0) + (config.options.offload.on ? 2 : 0);
  const int kinds = params.forward_only ? 1 : extras + (generator.requirements.splits_backward ? 3 : 2);
  const double ops = static_cast<double>(kinds) * params.ranks * params.chunks * params.microbatches *
                     params.slices * params.updates;
  const RunSize size{ops, static_cast<double>(params.ranks) * params.chunks, simulated_steps(config, limits),
                     walk_of(config, generator.requirements.overlaps || config.options.offload.on)};
  if (!fits(size, limits))
    check_size(size, limits,
               fmt::format("{} with ranks = {}, chunks = {}, microbatches = {}", generator.name, params.ranks,
                           params.chunks, params.microbatches));
  if (generator.requirements.needs_terms) plan.terms = resolve_terms(config, plan);
  return plan;
}

std::shared_ptr<const Schedule> make_planned(const SchedulePlan& plan, const io::RunConfig& config,
                                             const Limits& limits, schedules::Emission& emission) {
  io::EffectiveConfig unused;
  if (plan.found.generator == nullptr) return load_custom(config, limits, unused);
  emission.progress = limits.progress;
  auto schedule = std::make_shared<const Schedule>(schedules::make(*plan.found.generator, plan.params,
                                                                   plan.terms ? *plan.terms : Terms(),
                                                                   emission, place_of_refusal(config, plan)));
  return with_extras(std::move(schedule), config.options);
}

std::shared_ptr<const Schedule> make_schedule(const io::RunConfig& config, const Limits& limits,
                                              io::EffectiveConfig& effective) {
  const SchedulePlan plan = plan_schedule(config, limits);
  if (plan.found.generator == nullptr) return load_custom(config, limits, effective);
  const schedules::Generator& generator = *plan.found.generator;
  const schedules::Params& params = plan.params;

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
  if (!config.chunks) effective.origins.emplace_back("chunks", origin_of(plan.found));
  for (const char* name : {"group_size", "slices", "waves", "updates", "variant"})
    if (config.options.place_of(name) == nullptr)
      effective.origins.emplace_back(std::string("options.") + name, origin_of(plan.found));
  schedules::Emission emission;
  auto schedule = make_planned(plan, config, limits, emission);
  if (plan.terms != nullptr) describe_search(config, plan, emission, effective);
  return schedule;
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

}  // namespace pipeloom::study
