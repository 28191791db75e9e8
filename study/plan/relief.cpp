#include "study/plan/relief.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/options.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

bool is_used(const io::Config& config, const Relief& relief) {
  const RecomputeOption& recompute = config.options.recompute;
  return relief.vary == Vary::Offload ? config.options.offload.on
                                      : recompute.on || !recompute.modules.empty();
}

/// Of every rank that is over its limit the first stage that is not named yet; nothing where one has none left.
std::optional<std::vector<int>> more_stages(const Run& run, std::vector<int> named) {
  const std::vector<int> before = named;
  for (Rank rank{0}; rank < Rank(run.schedule->ranks()); ++rank) {
    const auto limit = run.memory->limit_of(rank);
    if (!limit || run.metrics->ranks[rank.at()].memory.peak_bytes <= *limit) continue;
    const std::vector<Stage> stages = run.schedule->placement().stages_of(rank);
    const auto next = std::ranges::find_if(
        stages, [&](Stage stage) { return !std::ranges::binary_search(before, stage.value()); });
    if (next == stages.end()) return std::nullopt;
    if (std::ranges::find(named, next->value()) == named.end()) named.push_back(next->value());
  }
  std::ranges::sort(named);
  return named;
}

std::optional<Relieved> relieve(const PlanCandidate& over, const std::string& memory_of, const Relief& relief,
                                const PlanOptions& options, const Limits& limits) {
  const auto all = static_cast<std::size_t>(over.run.schedule->stages());
  Relieved out{.candidate = over, .memory_of = {}};
  std::vector<int> stages;
  while (!over_limit_text(out.candidate.run).empty()) {
    const auto more = more_stages(out.candidate.run, stages);
    if (!more || more->size() >= all) return std::nullopt;
    stages = *more;
    const std::string words = relief_words(relief, stages);
    Variant variant{over.name + words, over.config, memory_of + words};
    use(relief, stages, variant.config);
    out = {candidate_of(variant, totals_of(variant.config, limits)), variant.memory_of};
  }
  if (stages.empty()) return out;
  Tried best = with_best_prefetch(out.candidate.config, options,
                                  [&](const io::Config& config) { return totals_of(config, limits); });
  out.candidate = candidate_of({out.candidate.name, std::move(best.config), ""}, std::move(best.run));
  return out;
}

/// Most layers of a stage. REQUIRES: the run has a model.
int most_layers(const Run& run) {
  int out = 0;
  for (const estimate::Stage& stage : run.model->costs.estimate.stages) out = std::max(out, stage.layers);
  return out;
}

/// One candidate with numbers of layers that run again.
class LayersAgain {
 public:
  LayersAgain(const PlanCandidate& over, const std::string& memory_of, const Limits& limits)
      : over_(over), memory_of_(memory_of), limits_(limits), most_(most_layers(over.run)) {}

  /// By halving: more layers that run again hold less. Nothing where that takes all, which is a variant of its own.
  [[nodiscard]] std::optional<Relieved> fewest() const {
    std::optional<Relieved> out;
    int fails = 0;
    for (int fits = most_; fits - fails > 1;) {
      const int middle = fails + (fits - fails) / 2;
      auto one = tried(middle, RecomputeMethod::Block);
      (one ? fits : fails) = middle;
      if (one) out = std::move(one);
    }
    return out;
  }

  /// Nothing where all layers one by one fit. Larger groups leave fewer inputs and bring more layers back together: with more than the root of all of them
  /// in each, the latter is more than the former.
  [[nodiscard]] std::optional<Relieved> in_groups() const {
    if (tried(most_, RecomputeMethod::Block)) return std::nullopt;
    for (int size = 2; (size - 1) * (size - 1) < most_; ++size)
      if (auto one = tried(size, RecomputeMethod::Uniform)) return one;
    return std::nullopt;
  }

 private:
  /// Nothing where it does not fit.
  [[nodiscard]] std::optional<Relieved> tried(int layers, RecomputeMethod method) const {
    const std::string words = method == RecomputeMethod::Block
                                  ? fmt::format(", recompute {} of {} layers", layers, most_)
                                  : fmt::format(", recompute full in groups of {} layers", layers);
    Variant variant{over_.name + words, over_.config, memory_of_ + words};
    variant.config.options.recompute = {.on = true, .layers = layers, .method = method};
    io::mark_given(variant.config, "options.recompute");
    PlanCandidate out = candidate_of(variant, totals_of(variant.config, limits_));
    if (!over_limit_text(out.run).empty()) return std::nullopt;
    return Relieved{std::move(out), variant.memory_of};
  }

  const PlanCandidate& over_;
  const std::string& memory_of_;
  const Limits& limits_;
  int most_;
};

}  // namespace

const std::vector<Relief>& reliefs() {
  static const std::vector<Relief> kAll = {
      {Vary::Recompute, true, "options.recompute", "recompute selective", kSelectiveModules},
      {Vary::Recompute, false, "options.recompute", "recompute full", ""},
      {Vary::Offload, false, "options.offload", "offload", ""},
  };
  return kAll;
}

void use(const Relief& relief, const std::vector<int>& stages, io::Config& config) {
  io::mark_given(config, relief.key);
  if (relief.vary == Vary::Recompute) {
    config.options.recompute = {.on = relief.modules.empty(), .stages = stages};
    config.options.recompute.modules = relief.modules;
  } else {
    config.options.offload = {};
    config.options.offload.on = true;
    config.options.offload.stages = stages;
  }
}

void forget(const Relief& relief, io::Config& config) {
  io::reset_option(config, relief.key);
}

std::string relief_words(const Relief& relief, const std::vector<int>& stages) {
  return fmt::format(", {} on stage{} {}", relief.words, stages.size() == 1 ? "" : "s",
                     stage_ranges_text(stages));
}

io::Config with_prefetch(io::Config config, int entries) {
  config.options.offload.prefetch = entries;
  return config;
}

Tried with_best_prefetch(const io::Config& config, const PlanOptions& options,
                         const std::function<Run(const io::Config&)>& run_of) {
  constexpr std::array kAhead = {2, 3, 4, 6, 8};
  Tried best{config, run_of(config)};
  if (!config.options.offload.on || !options.vary.has(Vary::Offload)) return best;
  const auto is_better = [](const Run& one, const Run& other) {
    const bool fits = over_limit_text(one).empty();
    if (fits != over_limit_text(other).empty()) return fits;
    return fits && one.metrics->step_time < other.metrics->step_time;
  };
  for (const int entries : kAhead) {
    io::Config next = with_prefetch(config, entries);
    if (Run run = run_of(next); is_better(run, best.run)) best = {std::move(next), std::move(run)};
  }
  return best;
}

std::string stage_ranges_text(const std::vector<int>& stages) {
  std::string out;
  for (std::size_t first = 0; first < stages.size();) {
    std::size_t last = first;
    while (last + 1 < stages.size() && stages[last + 1] == stages[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += std::to_string(stages[first]);
    if (last > first) out += (last > first + 1 ? "-" : ", ") + std::to_string(stages[last]);
    first = last + 1;
  }
  return out;
}

std::vector<Relieved> relieved(const PlanCandidate& over, const std::string& memory_of,
                               const PlanOptions& options, const Limits& limits,
                               std::vector<PlanRejected>& rejected) {
  std::vector<Relieved> out;
  for (const Relief& relief : reliefs()) {
    if (!options.vary.has(relief.vary) || is_used(over.config, relief)) continue;
    if (relief.needs_model && !over.run.model) continue;
    try {
      if (auto found = relieve(over, memory_of, relief, options, limits)) out.push_back(std::move(*found));
    } catch (const Error& error) {  // the schedule has such ops of its own, or no time for them is given
      rejected.push_back({fmt::format("{}, {} on some stages", over.name, relief.words), error.what()});
    } catch (const Stopped&) {
      return out;
    }
  }
  return out;
}

std::optional<Relieved> with_layers_again(const PlanCandidate& over, const std::string& memory_of,
                                          const PlanOptions& options, const Limits& limits,
                                          std::vector<PlanRejected>& rejected) {
  const bool is_told = options.target == nullptr || options.target->recompute != RecomputeWords::All;
  const RecomputeOption& now = over.config.options.recompute;
  if (!is_told || !options.vary.has(Vary::Recompute) || !over.run.model || now.on || !now.modules.empty())
    return std::nullopt;
  try {
    const LayersAgain again(over, memory_of, limits);
    auto out = again.fewest();
    return out ? std::move(out) : again.in_groups();
  } catch (const Error& error) {  // the schedule has such ops of its own
    rejected.push_back({over.name + ", recompute some layers", error.what()});
  } catch (const Stopped&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace pipeloom::study
