#include "study/plan/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/torch/lowering.hpp"

namespace pipeloom::study {
namespace {

constexpr std::array<Target, 4> kTargets = {{
    {.name = "torch",
     .dialect = "PyTorch",
     .any_order = true,
     .needs = "PyTorch has no word for it and its CSV no such order"},
    {.name = "torchtitan",
     .dialect = "PyTorch",
     .any_order = true,
     .needs = "torchtitan takes PyTorch's schedules and CSV files"},
    {.name = "areal", .dialect = "PyTorch", .needs = "AReaL takes PyTorch's schedules by name, no files"},
    {.name = "megatron",
     .dialect = "Megatron-LM",
     .needs = "Megatron-LM runs 1F1B, interleaved 1F1B and its overlapped form"},
}};

/// Megatron-LM has no name for 1F1B and runs it where no chunks are said.
constexpr std::string_view kUnnamed1F1B = "1f1b";

bool is_release(std::string_view name) {
  if (name.starts_with("torch-")) name.remove_prefix(6);
  return std::ranges::find(torch::kTargetNames, name) != torch::kTargetNames.end();
}

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target& target_named(std::string_view name) {
  if (is_release(name)) return kTargets.front();
  const auto* const found = std::ranges::find(kTargets, name, &Target::name);
  if (found != kTargets.end()) return *found;
  throw InputError(
      Where{"--target"},
      fmt::format(
          "unknown target '{}'; allowed are torch-2.15 (or another release: {}), torchtitan, areal, megatron",
          shortened(name, 64), fmt::join(torch::kTargetNames, ", ")));
}

std::string target_word(const Target& target, std::string_view schedule) {
  if (schedule == io::kCustomSchedule) return "";
  for (const schedules::Alias& alias : schedules::find(schedule).generator->aliases)
    if (alias.dialect == target.dialect) return alias.name;
  return "";
}

std::string target_refusal(const Target& target, std::string_view schedule) {
  const bool own = schedule == io::kCustomSchedule;
  if (!own && !target_word(target, schedule).empty()) return "";
  if (schedule == kUnnamed1F1B && target.dialect == "Megatron-LM") return "";
  // PyTorch's CSV has one copy of the model and no overlapped groups but pairs; its loader says the rest.
  const bool in_file =
      target.any_order && (own || !schedules::find(schedule).generator->requirements.bidirectional);
  return in_file ? "" : std::string(target.needs);
}

}  // namespace pipeloom::study
