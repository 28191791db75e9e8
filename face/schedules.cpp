#include <memory>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedules.hpp>
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/options.hpp"

namespace pipeloom {
namespace {

const schedules::Generator& generator_of(std::string_view name) {
  return *schedules::find(name).generator;
}

void require_accepted(const schedules::Generator& generator, const Params& params) {
  if (const std::string why = schedules::refusal(generator, params); !why.empty()) throw ScheduleError(why);
}

}  // namespace

const std::vector<ScheduleInfo>& all_schedules() {
  static const std::vector<ScheduleInfo> kAll = [] {
    std::vector<ScheduleInfo> all;
    for (const schedules::Generator& generator : schedules::all()) {
      ScheduleInfo info{generator.name,        {}, generator.summary, generator.source, generator.when_to_use,
                        generator.requirements};
      for (const schedules::Alias& alias : generator.aliases) info.aliases.push_back(alias.name);
      all.push_back(std::move(info));
    }
    return all;
  }();
  return kAll;
}

Params complete_params(std::string_view name, Params params, bool chunks_given) {
  const auto [generator, alias] = schedules::find(name);
  const std::optional<int> chunks = chunks_given ? std::optional(params.chunks) : std::nullopt;
  schedules::complete(*generator, params, chunks);
  if (alias != nullptr && alias->defaults) alias->defaults(params);
  if (chunks) params.chunks = *chunks;
  return params;
}

std::string refusal(std::string_view name, const Params& params) {
  return schedules::refusal(generator_of(name), params);
}

Placement placement_of(std::string_view name, const Params& params) {
  const schedules::Generator& generator = generator_of(name);
  require_accepted(generator, params);
  return generator.placement(params);
}

Schedule make_schedule(std::string_view name, const Params& params, const Terms* terms) {
  const schedules::Generator& generator = generator_of(name);
  const ScheduleOptions& options = params.options;
  if (!options.file.empty())
    throw InputError(
        "options.file is for configurations; read the file with run(), or make the schedule with "
        "ScheduleBuilder");
  schedules::Emission emission;
  Schedule schedule = terms == nullptr ? schedules::make(generator, params)
                                       : schedules::make(generator, params, *terms, emission);
  if (options.forward_only) return forward_only(schedule);
  for (const OptionStages& option : kOptionStages)
    if (const std::string why = stage_refusal(option, options, schedule.stages()); !why.empty())
      throw InputError(why);
  if (options.recompute.on) schedule = schedules::with_recompute(schedule, options.recompute);
  if (options.offload.on) schedule = schedules::with_offload(schedule, options.offload);
  return schedule;
}

}  // namespace pipeloom
