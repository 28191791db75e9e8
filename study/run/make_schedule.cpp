#include "study/run/make_schedule.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <pipeloom/error.hpp>
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/json/file.hpp"
#include "sim/options.hpp"
#include "study/run/model_costs.hpp"

namespace pipeloom::study {

namespace {

constexpr std::string_view kLimitKey = "options.memory_limit";

/// Options that the schedule does not know, one by one: a wish that has no effect is a mistake.
void refuse_unused_options(const io::Config& config, const schedules::Generator& generator) {
  for (const io::Key& key : io::config_keys())
    if (key.option && config.given.has(io::id_of(key)) &&
        !schedules::takes_option(generator.requirements, *key.option))
      throw InputError(config.place_of(key.path), fmt::format("{} is given, but {} has no {}; leave it out",
                                                              key.path, generator.name, key.noun));
}

void refuse_contradictions(const io::Config& config, const schedules::Generator& generator,
                           const Params& params) {
  refuse_unused_options(config, generator);
  const auto& variants = generator.requirements.variants;
  const std::string& variant = params.options.variant;
  if (config.given.has("options.variant") &&
      std::find(variants.begin(), variants.end(), variant) == variants.end())
    throw InputError::unknown_name(config.place_of("options.variant"), "variant", shortened(variant, 64),
                                   variants);
}

/// Numbers of which an op has no room.
void refuse_numbers(const io::Config& config, const Params& params) {
  const auto passes = static_cast<long long>(params.microbatches) * params.slices() * params.updates();
  if (passes > kMaxIndex)
    throw InputError(
        config.place_of("microbatches"),
        fmt::format("microbatches * slices * updates = {} passes; at most {} are allowed: take fewer", passes,
                    kMaxIndex));
  const auto stages = static_cast<long long>(params.ranks) * params.chunks;
  if (stages > kMaxIndex)
    throw InputError(
        config.place_of(config.chunks ? "chunks" : "ranks"),
        fmt::format("ranks * chunks = {} stages; at most {} are allowed: take fewer", stages, kMaxIndex));
}

/// Times and bytes of ops on the schedule's placement, before their order is known; null for a schedule that is refused anyway.
std::shared_ptr<const Terms> resolve_terms(const io::Config& given, const SchedulePlan& plan) {
  const schedules::Generator& generator = *plan.found.generator;
  if (!schedules::takes(generator, plan.params)) return nullptr;
  const Placement placement = generator.placement(plan.params);
  cost::Shape shape{&placement, 0, plan.params.microbatches};
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
    shape.kinds |= 1U << index_of(kind);
  const std::optional<ModelCosts> estimated = model_costs(given, placement, generator.requirements);
  const io::Config& config = estimated ? estimated->config : given;
  return std::make_shared<const Terms>(
      Terms{cost::resolve(config.costs, shape).costs, cost::resolve_memory(config.memory, placement)});
}

/// The place that a refusal of the schedule names: the limit, if its order depends on one.
const Where& place_of_refusal(const io::Config& config, const SchedulePlan& plan) {
  const Where& schedule = config.place_of("schedule");
  if (plan.terms == nullptr) return schedule;
  if (config.given.has(kLimitKey)) return config.place_of(kLimitKey);
  const bool by_limit = !plan.params.options.memory_limit.given() && config.memory.limit;
  return by_limit ? config.memory.limit->where : schedule;
}

std::string origin_of(const schedules::Found& found) {
  return found.alias == nullptr ? "default" : fmt::format("default of {}", found.alias->name);
}

/// Adds to `effective` the limit of the search for an order, the limit's origin, and the setting that won.
void describe_search(const io::Config& config, const SchedulePlan& plan, const schedules::Emission& emission,
                     io::EffectiveConfig& effective) {
  const bool given = config.given.has(kLimitKey);
  const schedules::Alias* alias = plan.found.alias;
  const bool by_alias = !given && plan.params.options.memory_limit.given();
  const std::string whose = given                 ? "given: "
                            : by_alias            ? alias->name + ": "
                            : config.memory.limit ? ""
                                                  : "default: ";
  effective.origins.emplace_back(kLimitKey, whose + emission.limit);
  if (!emission.setting.empty()) {
    const std::string variant = config.given.has("options.variant") ? "given" : origin_of(plan.found);
    effective.origins.emplace_back("options.variant", fmt::format("{}; {} won", variant, emission.setting));
  }
  effective.warnings.insert(effective.warnings.end(), emission.warnings.begin(), emission.warnings.end());
  if (!given || alias == nullptr || !alias->defaults) return;
  Params usual;
  alias->defaults(usual);
  if (usual.options.memory_limit.given())
    effective.warnings.push_back(fmt::format("{}: {} holds, not the limit that the name {} stands for",
                                             config.place_of(kLimitKey).text(), kLimitKey, alias->name));
}

/// Says that the configuration's own number, if it has one, is the file's.
void require_same(const Where& where, const char* key, int given, int found, const std::string& file) {
  if (given != 0 && given != found)
    throw InputError(where, fmt::format("{} = {}, but {} holds a schedule of {}; leave {} out", key, given,
                                        file, found, key));
}

/// options.file of the schedule `custom`.
std::shared_ptr<const Schedule> load_custom(const io::Config& config, const Limits& limits,
                                            io::EffectiveConfig& effective) {
  if (config.options.file.empty())
    throw InputError(
        config.place_of("schedule"),
        "custom is a schedule from a file; name the file in options.file (--set options.file=PATH)");
  const std::string path = io::relative_to(config.place_of("schedule").file, config.options.file);
  const std::string text = io::read_file(path);
  io::Imported imported = io::read_schedule(text, path);
  const Schedule& schedule = *imported.schedule;
  if (const auto found = validate(schedule); !found.empty()) {
    const Where where = io::SchedulePlaces(text, path).of(found.front());
    if (only_hangs(found)) throw HangError(where, found.front().message);
    throw ScheduleError(where, found.front().message);
  }
  const auto require = [&](const char* key, int given, int found) {
    require_same(config.place_of(key), key, given, found, path);
  };
  require("ranks", config.ranks, schedule.ranks());
  require("microbatches", config.microbatches, schedule.microbatches());
  require("chunks", config.chunks.value_or(0), schedule.placement().chunks());
  check_size(size_of(schedule, config, limits), limits, path);
  describe_file(schedule, std::string(io::kCustomSchedule), effective);
  effective.options = config.options;
  if (config.options.forward_only)
    imported.schedule = std::make_shared<const Schedule>(forward_only(schedule));
  return with_extras(std::move(imported.schedule), config);
}

}  // namespace

Params params_of(const io::Config& config, const schedules::Found& found) {
  Params params{config.ranks, config.microbatches, 1, config.options};
  // Weights decide what slices cost, not their places.
  std::fill(params.options.slices.begin(), params.options.slices.end(), 1);
  schedules::complete(*found.generator, params, config.chunks);
  if (found.alias == nullptr || !found.alias->defaults) return params;
  try {
    found.alias->defaults(params);
  } catch (const ScheduleError& error) {
    throw ScheduleError(config.place_of("schedule"), error.what());
  }
  if (config.chunks) params.chunks = *config.chunks;
  if (config.options.group_size) params.options.group_size = config.options.group_size;
  if (config.options.memory_limit.given()) params.options.memory_limit = config.options.memory_limit;
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
                                            const io::Config& config) {
  const ScheduleOptions& options = config.options;
  const auto refuse = [&](std::string_view key, const char* why) {
    throw InputError(config.place_of(key), fmt::format("{} {}; leave it out", key, why));
  };
  for (const std::string_view key : {"options.recompute", "options.offload"})
    if (schedule->is_forward_only() && config.given.has(key))
      refuse(key, "is for backwards, and this run has only forwards");
  for (const OptionStages& option : kOptionStages)
    if (const std::string why = stage_refusal(option, options, schedule->stages()); !why.empty())
      throw InputError(config.place_of(option.key), why + "; name others, or leave it out");
  if (options.recompute.on) {
    if (schedule->contains(OpKind::Recompute))
      refuse("options.recompute", "is given, but the schedule has its own R ops");
    schedule = std::make_shared<const Schedule>(schedules::with_recompute(*schedule, options.recompute));
  }
  if (options.offload.on) {
    if (schedule->has_copies())
      refuse("options.offload", "is given, but the schedule has its own O and L ops");
    schedule = std::make_shared<const Schedule>(schedules::with_offload(*schedule, options.offload));
  }
  return schedule;
}

SchedulePlan name_schedule(const io::Config& config) {
  if (config.schedule == io::kCustomSchedule) return {};
  SchedulePlan plan;
  plan.found = schedules::find(config.schedule, config.place_of("schedule"));
  plan.params = params_of(config, plan.found);
  refuse_contradictions(config, *plan.found.generator, plan.params);
  return plan;
}

RunSize size_of(const SchedulePlan& plan, const io::Config& config, const Limits& limits) {
  const schedules::Generator& generator = *plan.found.generator;
  const Params& params = plan.params;
  const int extras = (config.options.recompute.on ? 1 : 0) + (config.options.offload.on ? 2 : 0);
  const int kinds =
      params.options.forward_only ? 1 : extras + (generator.requirements.splits_backward ? 3 : 2);
  const double ops = static_cast<double>(kinds) * params.ranks * params.chunks * params.microbatches *
                     params.slices() * params.updates();
  return {ops, static_cast<double>(params.ranks) * params.chunks, simulated_steps(config, limits),
          walk_of(config, generator.requirements.overlaps || config.options.offload.on)};
}

SchedulePlan plan_schedule(const io::Config& config, const Limits& limits) {
  SchedulePlan plan = name_schedule(config);
  if (plan.found.generator == nullptr) return plan;
  const schedules::Generator& generator = *plan.found.generator;
  const Params& params = plan.params;
  refuse_numbers(config, params);
  const RunSize size = size_of(plan, config, limits);
  if (!fits(size, limits))
    check_size(size, limits,
               fmt::format("{} with ranks = {}, chunks = {}, microbatches = {}", generator.name, params.ranks,
                           params.chunks, params.microbatches));
  if (generator.requirements.needs_terms) plan.terms = resolve_terms(config, plan);
  return plan;
}

std::shared_ptr<const Schedule> make_planned(const SchedulePlan& plan, const io::Config& config,
                                             const Limits& limits, schedules::Emission& emission) {
  io::EffectiveConfig unused;
  if (plan.found.generator == nullptr) return load_custom(config, limits, unused);
  emission.progress = limits.progress;
  auto schedule = std::make_shared<const Schedule>(schedules::make(*plan.found.generator, plan.params,
                                                                   plan.terms ? *plan.terms : Terms(),
                                                                   emission, place_of_refusal(config, plan)));
  return with_extras(std::move(schedule), config);
}

void describe_plan(const SchedulePlan& plan, const io::Config& config, io::EffectiveConfig& effective) {
  const schedules::Generator& generator = *plan.found.generator;
  const Params& params = plan.params;
  effective.schedule = generator.name;
  effective.ranks = params.ranks;
  effective.microbatches = params.microbatches;
  effective.chunks = params.chunks;
  effective.options = schedules::options_in_force(generator, params);
  if (!config.options.slices.empty()) effective.options.slices = config.options.slices;
  if (!config.chunks) effective.origins.emplace_back("chunks", origin_of(plan.found));
  for (const io::Key& key : io::config_keys())
    if (key.option && key.read != nullptr && key.has_origin && !config.given.has(io::id_of(key)))
      effective.origins.emplace_back(key.path, origin_of(plan.found));
}

std::shared_ptr<const Schedule> make_schedule(const io::Config& config, const Limits& limits,
                                              io::EffectiveConfig& effective) {
  schedules::Emission emission;
  return make_schedule(config, limits, effective, emission);
}

std::shared_ptr<const Schedule> make_schedule(const io::Config& config, const Limits& limits,
                                              io::EffectiveConfig& effective, schedules::Emission& emission) {
  const SchedulePlan plan = plan_schedule(config, limits);
  if (plan.found.generator == nullptr) return load_custom(config, limits, effective);
  describe_plan(plan, config, effective);
  auto schedule = make_planned(plan, config, limits, emission);
  if (plan.terms != nullptr) describe_search(config, plan, emission, effective);
  return schedule;
}

IdleCells drawn_blanks(const io::Config& config, const Schedule& schedule) {
  const ScheduleOptions& options = config.options;
  if (config.schedule == io::kCustomSchedule || options.forward_only || options.recompute.on ||
      options.offload.on)
    return {};
  const schedules::Found found = schedules::find(config.schedule, config.place_of("schedule"));
  if (!found.generator->idle_cells) return {};
  return found.generator->idle_cells(params_of(config, found), schedule);
}

namespace {

/// Bytes per op in addition to its times: those that are kept, and those that measuring adds.
struct BytesPerOp {
  double kept;
  double measuring;
};
constexpr std::array<BytesPerOp, 3> kBytesOfWalk = {{
    {8 + 8, 0},     // the op, its tensor's producer, cells
    {8 + 8, 40},    // an order of all entries, with the chains before and after each
    {8 + 32, 128},  // the program, its run, and its graph of waits
}};
constexpr double kBytesPerTime = 16;
// The engine's data for a stage: its ops, rings of tensors, costs, bytes, metrics.
constexpr double kBytesPerStage = 1536;

double bytes_needed(const RunSize& size, const Limits& limits) {
  const BytesPerOp& walk = kBytesOfWalk[static_cast<std::size_t>(size.walk)];
  const double of_times = (kBytesPerTime + limits.bytes_per_time) * size.steps;
  const double of_measures = limits.with_metrics ? walk.measuring : 0;
  return size.ops * (walk.kept + of_times + of_measures) + size.stages * kBytesPerStage;
}

double text_written(const RunSize& size, double bytes_per_time) {
  return size.ops * size.steps * bytes_per_time;
}

/// "1f1b (6.4e+07 ops, 3 steps)".
std::string described(const std::string& what, const RunSize& size) {
  const std::string steps = size.steps > 1 ? fmt::format(", {} steps", size.steps) : "";
  return fmt::format("{} ({:.3g} ops{})", what, size.ops, steps);
}

/// The machine is asked only where the limits do not say.
double allowed_bytes(const Limits& limits) {
  return limits.max_memory ? *limits.max_memory : default_max_memory();
}

constexpr auto kMostText = static_cast<double>(io::kMaxTimelineBytes);

}  // namespace

double default_max_memory() {
  return 0.75 * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

Walk walk_of(const io::Config& config, bool has_groups_or_copies) {
  if (config.costs.transfer.model != cost::TransferModel::Latency) return Walk::Messages;
  return has_groups_or_copies ? Walk::Order : Walk::Queues;
}

int simulated_steps(const io::Config& config, const Limits& limits) {
  const bool repeats = config.costs.transfer.model == cost::TransferModel::Latency;
  return limits.with_all_steps || !repeats ? config.step.count : 1;
}

RunSize size_of(const Schedule& schedule, const io::Config& config, const Limits& limits) {
  const bool ties = schedule.has_groups() || schedule.has_copies() || config.options.offload.on;
  return {static_cast<double>(schedule.num_ops()), static_cast<double>(schedule.placement().slots()),
          simulated_steps(config, limits), walk_of(config, ties)};
}

bool fits(const RunSize& size, const Limits& limits) {
  return text_written(size, limits.text_per_time) <= kMostText &&
         bytes_needed(size, limits) <= allowed_bytes(limits);
}

void check_text(const RunSize& size, double bytes_per_time, const std::string& what) {
  const double text = text_written(size, bytes_per_time);
  if (text <= kMostText) return;
  throw InputError(
      fmt::format("{} would fill a file of about {}; at most {} are written, as no more is read: "
                  "take fewer steps, microbatches or ranks, or draw a picture",
                  described(what, size), estimated_bytes_text(text), estimated_bytes_text(kMostText)));
}

void check_size(const RunSize& size, const Limits& limits, const std::string& what) {
  if (fits(size, limits)) return;
  check_text(size, limits.text_per_time, what);
  throw InputError::too_large(described(what, size), bytes_needed(size, limits), allowed_bytes(limits));
}

}  // namespace pipeloom::study
