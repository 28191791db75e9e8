#include "study/plan/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/memory.hpp"
#include "sim/options.hpp"
#include "study/run/scenario_run.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// More stages on a rank than these send more messages than they save idle time.
constexpr int kMostChunks = 4;

/// The registry's name of a schedule that may be spelt as another program does.
std::string registry_name(const std::string& schedule) {
  return schedule == io::kCustomSchedule ? schedule : schedules::find(schedule).generator->name;
}

/// What a configuration is multiplied by: the same with one thing said differently, and how its name goes on.
struct Choice {
  std::function<void(io::Config&)> patch;  ///< empty: as the input has it
  std::string words;                       ///< "" for what the input has
};

/// The input's own value, and each of these that differs from it.
template <class Member>
std::vector<Choice> choices_for(const Member& own, std::string_view path, const std::string& words,
                                const std::vector<std::pair<std::string, Member>>& values,
                                Member& (*member)(io::Config&)) {
  std::vector<Choice> out = {{}};
  for (const auto& [word, value] : values)
    if (value != own)
      out.push_back({[path, member, value = value](io::Config& config) {
                       member(config) = value;
                       io::mark_given(config, path);
                     },
                     words + word});
  return out;
}

std::vector<Choice> recomputations(const io::Config& workload) {
  std::vector<std::pair<std::string, RecomputeOption>> values = {{"none", {}}, {"full", {.on = true}}};
  if (has_model(workload))
    values.insert(values.begin() + 1, {"selective", {.modules = std::string(kSelectiveModules)}});
  return choices_for<RecomputeOption>(
      workload.options.recompute, "options.recompute", "recompute ", values,
      [](io::Config& config) -> RecomputeOption& { return config.options.recompute; });
}

std::vector<Choice> offloads(const io::Config& workload) {
  OffloadOption all;
  all.on = true;
  return choices_for<OffloadOption>(
      workload.options.offload, "options.offload", "offload ", {{"none", {}}, {"all", all}},
      [](io::Config& config) -> OffloadOption& { return config.options.offload; });
}

/// Other microbatches follow from other samples in each.
std::vector<Choice> micro_batches(const io::Config& workload) {
  std::vector<Choice> out = choices_for<int>(
      workload.costs.model.micro_batch, "costs.micro_batch", "micro batch ", {{"1", 1}, {"2", 2}, {"4", 4}},
      [](io::Config& config) -> int& { return config.costs.model.micro_batch; });
  for (Choice& choice : out)
    if (choice.patch)
      choice.patch = [first = std::move(choice.patch)](io::Config& config) {
        first(config);
        config.given.drop(io::id_of(*io::find_config_key("microbatches")));
        io::derive_microbatches(config);
      };
  return out;
}

/// One list of choices for each key that may vary.
std::vector<std::vector<Choice>> choices_of(const io::Config& workload, const PlanOptions& options) {
  std::vector<std::vector<Choice>> out;
  if (options.vary.has(Vary::Recompute)) out.push_back(recomputations(workload));
  if (options.vary.has(Vary::Offload)) out.push_back(offloads(workload));
  if (options.vary.has(Vary::Microbatches) && has_model(workload) && workload.costs.model.global_batch)
    out.push_back(micro_batches(workload));
  return out;
}

/// The configuration with one of each. What a choice refuses goes to `rejected`.
std::vector<Variant> multiplied(std::vector<Variant> variants,
                                const std::vector<std::vector<Choice>>& choices,
                                std::vector<PlanRejected>& rejected) {
  for (const std::vector<Choice>& list : choices) {
    std::vector<Variant> more;
    for (const Variant& variant : variants)
      for (const Choice& choice : list) {
        Variant next = variant;
        if (choice.patch) {
          next.name += ", " + choice.words;
          next.memory_of += ", " + choice.words;
          try {
            choice.patch(next.config);
          } catch (const InputError& error) {
            rejected.push_back({next.name, error.what()});
            continue;
          }
        }
        more.push_back(std::move(next));
      }
    variants = std::move(more);
  }
  return variants;
}

/// The schedule with its own chunks, and with each other number that it takes.
void add_schedule(const Workload& workload, const schedules::Generator& generator, const PlanOptions& options,
                  std::vector<Variant>& out) {
  const Requirements& takes = generator.requirements;
  out.push_back({generator.name, with_schedule(workload, generator.name), ""});
  if (!options.vary.has(Vary::Chunks) || takes.min_chunks == takes.max_chunks || generator.complete) return;
  const int own = chunks_of(out.back().config);
  for (int chunks = std::max(2, takes.min_chunks); chunks <= std::min(kMostChunks, takes.max_chunks);
       ++chunks)
    if (chunks != own)
      out.push_back({fmt::format("{} v={}", generator.name, chunks),
                     with_schedule(workload, generator.name, chunks), ""});
}

}  // namespace

bool has_model(const io::Config& config) {
  return !config.costs.model.model.empty();
}

io::Config with_layers(io::Config config, const std::vector<int>& layers) {
  config.costs.layers = {layers, {}};
  io::mark_given(config, "costs.layers");
  return config;
}

std::vector<Variant> variants_of(const Workload& workload, const PlanOptions& options,
                                 std::vector<PlanRejected>& rejected) {
  std::vector<Variant> out;
  const std::string& given = workload.config.schedule;
  if (!options.vary.has(Vary::Schedule)) {
    if (given == io::kCustomSchedule)
      out.push_back({given, workload.config, ""});
    else
      add_schedule(workload, *schedules::find(given).generator, options, out);
    return multiplied(std::move(out), choices_of(workload.config, options), rejected);
  }
  for (const schedules::Generator& generator : schedules::all()) {
    const std::string refusal =
        options.target != nullptr ? target_refusal(*options.target, generator.name) : "";
    if (!refusal.empty()) {
      rejected.push_back({generator.name, refusal, Refusal::Target});
    } else if (generator.requirements.takes.has(Option::Updates)) {
      rejected.push_back(
          {generator.name, "updates weights in between, which changes the training", Refusal::LeftOut});
    } else if (generator.requirements.slow_search) {
      rejected.push_back({generator.name, "its own search takes a while; the plan searches orders itself",
                          Refusal::LeftOut});
    } else if (generator.requirements.takes.has(Option::Slices)) {
      rejected.push_back({generator.name,
                          "what smaller pieces of a sequence cost is not known; simulate it by itself",
                          Refusal::LeftOut});
    } else {
      add_schedule(workload, generator, options, out);
    }
  }
  return multiplied(std::move(out), choices_of(workload.config, options), rejected);
}

Ticks p95_of(const Run& run, std::uint64_t seed) {
  constexpr int kScenarios = 400;
  return run_scenarios(run, {kScenarios, seed}).makespan.p95;
}

bool is_searchable(const Schedule& schedule) {
  return schedule.placement().replicas() == 1 && schedule.slices() == 1 && !schedule.shares_output();
}

std::string placement_name(const Placement& placement) {
  if (placement.replicas() > 1) return "two ways";
  const int chunks = placement.chunks();
  if (placement.stages() != chunks * placement.ranks()) return "free";
  if (placement == Placement::linear(placement.ranks())) return "linear";
  if (placement == Placement::wave(placement.ranks(), chunks)) return chunks == 2 ? "v" : "wave";
  return placement == Placement::loop(placement.ranks(), chunks) ? "loop" : "free";
}

void weigh_bound(PlanCandidate& candidate) {
  const Ticks bound = candidate.bound.value;
  candidate.proven = bound > 0 && candidate.makespan <= bound;
  candidate.gap = bound > 0 ? static_cast<double>(candidate.makespan) / static_cast<double>(bound) - 1 : 0;
}

PlanCandidate candidate_of(const Variant& variant, Run run) {
  const Metrics& metrics = *run.metrics;
  PlanCandidate out;
  out.name = variant.name;
  out.schedule = registry_name(variant.config.schedule);
  out.chunks = run.schedule->placement().chunks();
  out.placement = placement_name(run.schedule->placement());
  out.step_time = metrics.step_time;
  out.makespan = metrics.makespan;
  out.window = metrics.max_window;
  out.bubble_ratio = metrics.bubble_ratio;
  for (const RankMetrics& rank : metrics.ranks) out.peaks.push_back(rank.memory.peak_bytes);
  out.peak = run.memory->in_bytes(*std::ranges::max_element(out.peaks));
  out.bound = metrics.lower_bound;
  weigh_bound(out);
  out.config = variant.config;
  if (run.model) {
    out.tokens_per_s = tokens_per_s(run.model->training, out.step_time);
    for (const estimate::Stage& stage : run.model->costs.estimate.stages) out.layers.push_back(stage.layers);
  }
  out.run = std::move(run);
  return out;
}

std::string over_limit_text(const Run& run) {
  std::string text;
  Bytes most = 0;
  for (std::size_t r = 0; r < run.metrics->ranks.size(); ++r) {
    const auto limit = run.memory->limit_of(Rank(static_cast<int>(r)));
    const Bytes peak = run.metrics->ranks[r].memory.peak_bytes;
    if (!limit || peak - *limit <= most) continue;
    most = peak - *limit;
    text = fmt::format("holds {} on rank {}, {} over its limit", memory_text(*run.memory, peak), r,
                       memory_text(*run.memory, most));
  }
  return text;
}

}  // namespace pipeloom::study
