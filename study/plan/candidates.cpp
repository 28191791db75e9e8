#include "study/plan/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/memory.hpp"
#include "study/run/scenario_run.hpp"
#include "study/run/schedule_rows.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// More stages on a rank than these send more messages than they save idle time.
constexpr int kMostChunks = 4;

bool has(const Assignments& config, const char* key) {
  return config.contains(key);
}

std::string schedule_of(const Assignments& config) {
  const auto found = config.find("schedule");
  return found == config.end() ? "" : shown_value(found->second);
}

/// The registry's name of a schedule that may be spelt as another program does.
std::string registry_name(const std::string& schedule) {
  return schedule == io::kCustomSchedule ? schedule : schedules::find(schedule).generator->name;
}

/// What a configuration is multiplied by: the same with one more thing said, and how its name goes on.
struct Choice {
  std::string key;
  std::string value;  ///< JSON; "" leaves the key out
  std::string words;  ///< "" for what the input has
};

/// Values of a key, the input's own first and without words of its own; `unsaid` is what a configuration has that says nothing.
std::vector<Choice> choices_for(const Assignments& workload, const std::string& key, const std::string& words,
                                const std::string& unsaid, const std::vector<std::string>& values) {
  const auto given = workload.find(key);
  const std::string own = given == workload.end() ? unsaid : given->second;
  std::vector<Choice> out = {{key, given == workload.end() ? "" : own, ""}};
  for (const std::string& value : values)
    if (value != own) out.push_back({key, value, words + shown_value(value)});
  return out;
}

/// One list of choices for each key that may vary.
std::vector<std::vector<Choice>> choices_of(const Assignments& workload, const PlanOptions& options) {
  std::vector<std::vector<Choice>> out;
  const bool model = has(workload, "costs.model");
  if (options.vary.has(Vary::Recompute)) {
    std::vector<std::string> values = {io::json_string("none"), io::json_string("full")};
    if (model) values.insert(values.begin() + 1, io::json_string("selective"));
    out.push_back(choices_for(workload, "options.recompute", "recompute ", values.front(), values));
  }
  if (options.vary.has(Vary::Offload))
    out.push_back(choices_for(workload, "options.offload", "offload ", io::json_string("none"),
                              {io::json_string("none"), io::json_string("all")}));
  if (options.vary.has(Vary::Microbatches) && model && has(workload, "costs.global_batch"))
    out.push_back(choices_for(workload, "costs.micro_batch", "micro batch ", "1", {"1", "2", "4"}));
  return out;
}

/// The configuration with one of each.
std::vector<Variant> multiplied(std::vector<Variant> variants,
                                const std::vector<std::vector<Choice>>& choices) {
  for (const std::vector<Choice>& list : choices) {
    std::vector<Variant> more;
    for (const Variant& variant : variants)
      for (const Choice& choice : list) {
        Variant next = variant;
        next.config.erase(choice.key);
        if (!choice.value.empty()) next.config[choice.key] = choice.value;
        if (!choice.words.empty()) {
          next.name += ", " + choice.words;
          next.memory_of += ", " + choice.words;
        }
        more.push_back(std::move(next));
      }
    variants = std::move(more);
  }
  return variants;
}

/// The workload under the schedule with so many chunks. Numbers of a stage are of another stage where there are more of them, so that they go
/// through a schedule with one stage a rank, which has them per rank.
Assignments with_chunks(const Assignments& workload, const Assignments& config, const std::string& schedule,
                        int chunks) {
  Assignments out = config;
  if (!has(config, "costs.per") && !has(workload, "costs.model") && !has(workload, "costs.layers")) {
    Assignments single = with_schedule(workload, "1f1b");
    single.erase("chunks");
    out = with_schedule(single, schedule);
    for (const auto& [key, value] : config)
      if (key.starts_with("options.")) out[key] = value;
  }
  out["chunks"] = std::to_string(chunks);
  return out;
}

/// The schedule with its own chunks, and with each other number that it takes.
void add_schedule(const Assignments& workload, const schedules::Generator& generator,
                  const PlanOptions& options, std::vector<Variant>& out) {
  const Requirements& takes = generator.requirements;
  const Variant first{generator.name, with_schedule(workload, generator.name), ""};
  out.push_back(first);
  if (!options.vary.has(Vary::Chunks) || takes.min_chunks == takes.max_chunks || generator.complete) return;
  const auto given = first.config.find("chunks");
  const std::string own = given == first.config.end()
                              ? std::to_string(std::max(takes.default_chunks, takes.min_chunks))
                              : given->second;
  for (int chunks = std::max(2, takes.min_chunks); chunks <= std::min(kMostChunks, takes.max_chunks);
       ++chunks)
    if (own != std::to_string(chunks))
      out.push_back({fmt::format("{} v={}", generator.name, chunks),
                     with_chunks(workload, first.config, generator.name, chunks), ""});
}

}  // namespace

std::vector<Variant> variants_of(const Assignments& workload, const PlanOptions& options,
                                 std::vector<PlanRejected>& rejected) {
  std::vector<Variant> out;
  const std::string given = schedule_of(workload);
  if (!options.vary.has(Vary::Schedule)) {
    if (given == io::kCustomSchedule)
      out.push_back({given, workload, ""});
    else
      add_schedule(workload, *schedules::find(given).generator, options, out);
    return multiplied(std::move(out), choices_of(workload, options));
  }
  for (const schedules::Generator& generator : schedules::all()) {
    const std::string refusal =
        options.target != nullptr ? target_refusal(*options.target, generator.name) : "";
    if (!refusal.empty()) {
      rejected.push_back({generator.name, refusal});
    } else if (generator.requirements.takes.has(Option::Updates)) {
      rejected.push_back({generator.name, "updates weights in between, which changes the training"});
    } else if (generator.requirements.slow_search) {
      rejected.push_back({generator.name, "its own search takes a while; the plan searches orders itself"});
    } else if (generator.requirements.takes.has(Option::Slices)) {
      rejected.push_back(
          {generator.name, "what smaller pieces of a sequence cost is not known; simulate it by itself"});
    } else {
      add_schedule(workload, generator, options, out);
    }
  }
  return multiplied(std::move(out), choices_of(workload, options));
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
  out.schedule = registry_name(schedule_of(variant.config));
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
