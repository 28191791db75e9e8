#include "study/plan/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/memory.hpp"
#include "study/run/schedule_rows.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

/// More stages on a rank than these send more messages than they save idle time.
constexpr int kMostChunks = 4;
constexpr std::array<const char*, 3> kRecompute = {"none", "selective", "full"};
constexpr std::array<const char*, 3> kMicroBatches = {"1", "2", "4"};

bool has(const Assignments& config, const char* key) {
  return config.contains(key);
}

std::string schedule_of(const Assignments& config) {
  const auto found = config.find("schedule");
  return found == config.end() ? "" : shown_value(found->second);
}

/// What a configuration is multiplied by: the same with one more thing said, and how its name goes on.
struct Choice {
  std::string key;
  std::string value;  ///< JSON; "" leaves the key out
  std::string words;  ///< "" for what the input has
};

/// One list of choices for each key that may vary.
std::vector<std::vector<Choice>> choices_of(const Assignments& workload, const PlanOptions& options) {
  std::vector<std::vector<Choice>> out;
  const bool model = has(workload, "costs.model");
  if (options.vary.has(Vary::Recompute)) {
    std::vector<Choice> recompute;
    for (const char* what : kRecompute) {
      if (!model && what == std::string_view("selective")) continue;
      recompute.push_back({"options.recompute", io::json_string(what), std::string("recompute ") + what});
    }
    recompute.front().words = "";
    out.push_back(std::move(recompute));
  }
  if (options.vary.has(Vary::Offload))
    out.push_back({{"options.offload", "", ""}, {"options.offload", "true", "offload"}});
  if (options.vary.has(Vary::Microbatches) && model && has(workload, "costs.global_batch")) {
    std::vector<Choice> sizes;
    for (const char* size : kMicroBatches)
      sizes.push_back({"costs.micro_batch", size, std::string("micro batch ") + size});
    sizes.front().words = "";
    out.push_back(std::move(sizes));
  }
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

/// The schedule with its own chunks, and with each other number that it takes.
void add_schedule(const Assignments& workload, const schedules::Generator& generator,
                  const PlanOptions& options, std::vector<Variant>& out) {
  const Requirements& takes = generator.requirements;
  Variant first{generator.name, with_schedule(workload, generator.name), ""};
  out.push_back(first);
  if (!options.vary.has(Vary::Chunks) || takes.min_chunks == takes.max_chunks || generator.complete) return;
  const int own = std::max(takes.default_chunks, takes.min_chunks);
  for (int chunks = std::max(2, takes.min_chunks); chunks <= std::min(kMostChunks, takes.max_chunks);
       ++chunks) {
    if (chunks == own) continue;
    Variant next = first;
    next.name = fmt::format("{} v={}", generator.name, chunks);
    next.config["chunks"] = std::to_string(chunks);
    // Numbers of a stage are of another stage where there are more of them.
    if (next.config.contains("costs.per") || has(workload, "costs.model") || has(workload, "costs.layers"))
      out.push_back(std::move(next));
  }
}

Bytes peak_in_bytes(const Run& run) {
  Bytes peak = 0;
  for (const RankMetrics& rank : run.metrics->ranks) peak = std::max(peak, rank.memory.peak_bytes);
  return peak;
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

std::string placement_name(const Placement& placement) {
  if (placement.replicas() > 1) return "two ways";
  const int chunks = placement.chunks();
  if (placement.stages() != chunks * placement.ranks()) return "free";
  if (placement == Placement::linear(placement.ranks())) return "linear";
  if (placement == Placement::wave(placement.ranks(), chunks)) return chunks == 2 ? "v" : "wave";
  return placement == Placement::loop(placement.ranks(), chunks) ? "loop" : "free";
}

PlanCandidate candidate_of(const Variant& variant, Run run) {
  const Metrics& metrics = *run.metrics;
  PlanCandidate out;
  out.name = variant.name;
  out.schedule = schedule_of(variant.config);
  out.chunks = run.schedule->placement().chunks();
  out.placement = placement_name(run.schedule->placement());
  out.step_time = metrics.step_time;
  out.makespan = metrics.makespan;
  out.window = metrics.max_window;
  out.bubble_ratio = metrics.bubble_ratio;
  for (const RankMetrics& rank : metrics.ranks) out.peaks.push_back(rank.memory.peak_bytes);
  out.peak = peak_in_bytes(run);
  out.bound = metrics.lower_bound;
  out.proven = out.bound.value > 0 && out.makespan <= out.bound.value;
  out.gap =
      out.bound.value > 0 ? static_cast<double>(out.makespan) / static_cast<double>(out.bound.value) - 1 : 0;
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
