#pragma once

// Words that error texts use for the keys below "options" of a configuration.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/schedules.hpp>

namespace pipeloom {

/// Words that error texts use for an option whose value is a number, and its limits.
struct OptionCount {
  Option option;
  std::string_view name;
  std::optional<int> ScheduleOptions::*member;
  int most;
};
inline constexpr OptionCount kOptionCounts[] = {
    {Option::Waves, "waves", &ScheduleOptions::waves, kMaxIndex / 2},
    {Option::Updates, "updates", &ScheduleOptions::updates, kMaxIndex},
};

/// Modules of a layer that can run again by themselves, spelt as Megatron-LM's --recompute-modules: the words of options.recompute.modules.
/// "selective" is the first.
inline constexpr std::string_view kRecomputeModules[] = {"core_attn", "layernorm", "mla_up_proj",   "mlp",
                                                         "moe",       "moe_act",   "shared_experts"};
inline constexpr std::string_view kSelectiveModules = kRecomputeModules[0];

/// Parts of a model that can be trained while others are frozen: the words of costs.trainable, which also takes "all" and "none".
inline constexpr std::string_view kTrainableParts[] = {"embedding", "encoder", "projector", "attention",
                                                       "mlp",       "experts", "head"};

/// Layers of a stage that run again whole, where they are counted: "the first 7 layers", "all layers, in groups of 2"; else "".
[[nodiscard]] inline std::string layers_again_text(const RecomputeOption& recompute) {
  if (!recompute.layers) return "";
  const std::string number = *recompute.layers == 1 ? "layer" : fmt::format("{} layers", *recompute.layers);
  return recompute.method == RecomputeMethod::Block
             ? fmt::format("the first {}", number)
             : fmt::format("all layers, in groups of {}", *recompute.layers);
}

/// True if an option applies to a stage: to all where it names none.
[[nodiscard]] inline bool takes_part(const std::vector<int>& named, int stage) {
  return named.empty() || std::ranges::binary_search(named, stage);
}

/// An option that names the stages that it is for.
struct OptionStages {
  std::string_view key;
  const std::vector<int>& (*named)(const ScheduleOptions&);
};
inline constexpr OptionStages kOptionStages[] = {
    {"options.recompute.stages",
     [](const ScheduleOptions& options) -> const std::vector<int>& { return options.recompute.stages; }},
    {"options.offload.stages",
     [](const ScheduleOptions& options) -> const std::vector<int>& { return options.offload.stages; }},
};

/// Returns why an option's stages are not those of a run of `stages` stages; "" if they are.
[[nodiscard]] inline std::string stage_refusal(const OptionStages& option, const ScheduleOptions& options,
                                               int stages) {
  const std::vector<int>& named = option.named(options);
  if (named.empty() || named.back() < stages) return "";
  return fmt::format("{} names stage {}, but the run has {}, 0 to {}", option.key, named.back(), stages,
                     stages - 1);
}

}  // namespace pipeloom
