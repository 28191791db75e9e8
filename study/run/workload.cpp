#include "study/run/workload.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/config/key.hpp"
#include "sim/kinds.hpp"
#include "study/run/make_schedule.hpp"

namespace pipeloom::study {
namespace {

using cost::StageNumbers;

bool is_scalar(const StageNumbers& numbers) {
  return numbers.form == StageNumbers::Form::Scalar;
}

std::int64_t times(std::int64_t number, int factor) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(number, std::int64_t{factor}, &out) ? kMaxTicks : std::min(out, kMaxTicks);
}

/// The keys of StageNumbers that memory.per is for.
constexpr std::array kSizes = {&cost::MemorySpec::activation, &cost::MemorySpec::released_at_input,
                               &cost::MemorySpec::static_bytes, &cost::MemorySpec::stash};

/// Bytes of stages that are a v0-th of a rank, for stages of any size. Tables cannot be dealt out again: they stay as they are.
void give_bytes_per_rank(io::Config& config, int v0) {
  cost::MemorySpec& memory = config.memory;
  if (memory.per != cost::Per::Stage) return;
  io::mark_given(config, "memory.per");
  if (!std::ranges::all_of(kSizes, [&](auto size) { return is_scalar(memory.*size); })) return;
  for (const auto size : kSizes) (memory.*size).scalar = times((memory.*size).scalar, v0);
  if (v0 > 1) io::mark_given(config, "memory.activation_bytes");
  memory.per = cost::Per::Rank;
}

/// A duration that a run has where no op costs are given, in the configuration's unit.
struct UsualCost {
  OpKind kind;
  const char* key;
  int units;
};
constexpr std::array kUsualCosts = {UsualCost{OpKind::Forward, "costs.forward", 1},
                                    UsualCost{OpKind::Backward, "costs.backward", 2},
                                    UsualCost{OpKind::BackwardInput, "costs.backward_input", 1},
                                    UsualCost{OpKind::BackwardWeight, "costs.backward_weight", 1}};

void state_usual_costs(io::Config& config) {
  for (const UsualCost& usual : kUsualCosts) {
    config.costs.duration[index_of(usual.kind)] =
        StageNumbers::all(usual.units * ticks_per(config.costs.unit), usual.key);
    io::mark_given(config, usual.key);
  }
}

/// Costs of stages that are a v0-th of a rank, for stages of any size.
void give_costs_per_rank(io::Config& config, int v0) {
  cost::CostSpec& costs = config.costs;
  if (costs.per != cost::Per::Stage) return;
  const auto is_dealt = [](const auto& numbers) { return !numbers || is_scalar(*numbers); };
  if (!std::ranges::all_of(costs.duration, is_dealt)) return;
  const auto is_given = [&](OpKind kind) {
    return !kCopies.has(kind) && costs.duration[index_of(kind)].has_value();
  };
  if (std::ranges::none_of(kAllOpKinds, is_given)) state_usual_costs(config);
  for (auto& numbers : costs.duration)
    if (numbers) numbers->scalar = times(numbers->scalar, v0);
  if (costs.overlap && is_scalar(costs.overlap->duration))
    costs.overlap->duration.scalar = times(costs.overlap->duration.scalar, v0);
  // A memory.per that follows costs.per would change with it.
  if (!config.given.has("memory.per")) io::mark_given(config, "memory.per");
  costs.per = cost::Per::Rank;
  io::mark_given(config, "costs.per");
}

/// The numbers of stages of which a rank has v0, so that they are right for any other number of stages.
void give_per_rank(io::Config& config, int v0) {
  // A model's numbers follow from the stages.
  if (!config.costs.model.model.empty()) return;
  // Where layers are given costs are dealt out by them.
  if (config.costs.layers.counts.empty()) give_costs_per_rank(config, v0);
  give_bytes_per_rank(config, v0);
}

void drop_foreign_options(io::Config& config, const Requirements& takes) {
  for (const io::Key& key : io::config_keys()) {
    if (!key.option) continue;
    // A variant and a file are of one schedule only.
    const bool own = key.option == Option::Variant || key.option == Option::File;
    if (own || !schedules::takes_option(takes, *key.option)) io::reset_option(config, key.path);
  }
}

void reset_chunks(io::Config& config) {
  config.chunks.reset();
  config.given.drop(io::id_of(*io::find_config_key("chunks")));
}

bool is_now(const io::Config& config, const schedules::Generator* generator) {
  return !config.schedule.empty() && config.schedule != io::kCustomSchedule &&
         schedules::find(config.schedule).generator == generator;
}

/// The shape is the file's.
io::Config as_custom(io::Config config) {
  config.schedule = io::kCustomSchedule;
  io::mark_given(config, "schedule");
  config.ranks = 0;
  config.microbatches = 0;
  reset_chunks(config);
  for (const char* key : {"ranks", "microbatches"}) config.given.drop(io::id_of(*io::find_config_key(key)));
  return config;
}

}  // namespace

int chunks_of(const io::Config& config) {
  const schedules::Found found = schedules::find(config.schedule, config.place_of("schedule"));
  try {
    return params_of(config, found).chunks;
  } catch (const ScheduleError&) {  // the alias refuses the shape; making the schedule says so
    const Requirements& requirements = found.generator->requirements;
    return config.chunks.value_or(schedules::default_chunks(requirements, config.options.variant));
  }
}

Workload workload_of(io::Config config, const Schedule& schedule) {
  for (const auto& [key, number, found] :
       {std::tuple("ranks", &config.ranks, schedule.ranks()),
        std::tuple("microbatches", &config.microbatches, schedule.microbatches())})
    if (*number == 0) {
      *number = found;
      io::mark_given(config, key);
    }
  const int chunks = schedule.placement().chunks();
  return {std::move(config), chunks};
}

Workload workload_of(io::Config config, const Limits& limits) {
  if (config.schedule == io::kCustomSchedule) {
    io::EffectiveConfig effective;
    const auto schedule = make_schedule(config, limits, effective);
    return workload_of(std::move(config), *schedule);
  }
  const int chunks = config.schedule.empty() ? config.chunks.value_or(1) : chunks_of(config);
  return {std::move(config), chunks};
}

io::Config with_schedule(const Workload& from, const std::string& schedule, std::optional<int> chunks) {
  if (schedule == io::kCustomSchedule) return as_custom(from.config);
  const schedules::Generator& generator = *schedules::find(schedule).generator;
  io::Config out = from.config;
  if (!is_now(from.config, &generator)) {
    const Requirements& takes = generator.requirements;
    out.schedule = schedule;
    io::mark_given(out, "schedule");
    drop_foreign_options(out, takes);
    const int v = from.chunks;
    if (v < takes.min_chunks || v > takes.max_chunks || generator.complete) reset_chunks(out);
  }
  if (chunks) {
    out.chunks = chunks;
    io::mark_given(out, "chunks");
  }
  if (chunks_of(out) != from.chunks) give_per_rank(out, from.chunks);
  return out;
}

}  // namespace pipeloom::study
