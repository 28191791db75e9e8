#pragma once

// What error texts say of the keys below "options" of a configuration.

#include <optional>
#include <string_view>

#include <pipeloom/schedules.hpp>

namespace pipeloom {

/// What error texts say about an option whose value is a number, and its limits.
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

}  // namespace pipeloom
