// ZBV-auto: F, I and W on a V placement in an order found for given times and a memory limit of p activations or more.
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2023, arXiv 2401.10241), section 6, with the search of the authors' scheduler
// (zbv_auto_order.hpp). It is played in four ways, each again and again while the longest idle time falls, and the first cheapest is
// taken.
//
// p = 4, m = 8, F = I = W: the order of zbv.
//
// Requires: v = 2; any p, m; room for p microbatches on every rank, 2p chunk passes.
//
// Closed forms, equal stages, no transfers, F = I = W per chunk pass, m >= p: max_window max(6m, 5m + 2p - 1) F, the work alone
// from m = 2p - 1 on.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "schedules/activation_limit.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"
#include "schedules/zbv_auto_order.hpp"
#include "sim/memory.hpp"

namespace pipeloom::schedules {
namespace {

constexpr std::string_view kAll = "all";
/// kZbvAutoSettings[i] as options.variant spells it.
constexpr std::array<std::string_view, 4> kNames = {"tt", "tf", "ft", "ff"};

std::optional<ZbvAutoSetting> asked_for(const Params& params) {
  const auto* const named = std::find(kNames.begin(), kNames.end(), params.options.variant);
  if (named == kNames.end()) return std::nullopt;
  return kZbvAutoSettings[static_cast<std::size_t>(named - kNames.begin())];
}

std::string_view name_of(const ZbvAutoSetting& setting) {
  const auto* const found = std::find(kZbvAutoSettings.begin(), kZbvAutoSettings.end(), setting);
  return kNames[static_cast<std::size_t>(found - kZbvAutoSettings.begin())];
}

/// Microbatches that v-half and v-min hold on every rank.
int held_by_v_half(int ranks) {
  return (ranks + 2) / 2;
}
int held_by_v_min(int ranks) {
  return (ranks + 4) / 3;
}

/// "v-half, which holds 3 microbatches (6 activations of a stage), runs within it": the nearest schedule that keeps the limit.
std::string what_works(const Params& params, Bytes limit, const Placement& placement,
                       const MemoryModel& memory) {
  const Bytes each = microbatch_bytes(placement, memory);
  const auto text = [&](int microbatches) { return microbatches_text(microbatches, placement, memory); };
  const auto row = [&](const char* name, int microbatches) {
    return fmt::format("{}, which holds {}, runs within it", name, text(microbatches));
  };
  const int half = held_by_v_half(params.ranks);
  const int least = held_by_v_min(params.ranks);
  if (limit / std::max<Bytes>(each, 1) >= half) return row("v-half", half);
  if (limit / std::max<Bytes>(each, 1) >= least) return row("v-min", least);
  return fmt::format("v-half holds {} and v-min {}", text(half), text(least));
}

void require_room(const Params& params, const Terms& terms, const ActivationLimit& limit) {
  const Placement placement = v_placement(params);
  const auto needed = limit_of_microbatches(params.ranks * kUnitScale, placement, terms.memory);
  const Bytes least = *std::min_element(limit.bytes.begin(), limit.bytes.end());
  if (least >= needed.bytes.front()) return;
  throw ScheduleError(
      fmt::format("zbv-auto needs room for {} on every rank, and the limit is {}; {}; or raise the "
                  "limit",
                  microbatches_text(params.ranks, placement, terms.memory), limit.text,
                  what_works(params, least, placement, terms.memory)));
}

Schedule emit(const Params& params, const Terms& terms, Emission& emission) {
  require_summable(params, terms);
  const ActivationLimit limit = activation_limit(params, v_placement(params), terms.memory);
  require_room(params, terms, limit);
  auto found = zbv_auto_order(terms, params.ranks, params.microbatches, limit.bytes, asked_for(params));
  if (const auto* shortage = std::get_if<ZbvAutoShortage>(&found))
    throw ScheduleError(fmt::format("zbv-auto needs {} on rank {}, and the limit is {}; raise it",
                                    activations_text(terms.memory, shortage->needed), shortage->rank.value(),
                                    memory_text(terms.memory, shortage->limit)));
  auto& result = std::get<ZbvAutoResult>(found);
  emission.limit = limit.text;
  emission.setting = name_of(result.best.setting);
  return std::move(result.schedule);
}

std::vector<ClosedForm> closed_forms() {
  return {time_form("max_window", "max(6m, 5m + 2p - 1) F, F per chunk pass",
                    "equal stages, no transfers, F = I = W, m >= p",
                    [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                      const std::int64_t p = params.ranks;
                      const std::int64_t m = params.microbatches;
                      if (m < p || !equal_passes(costs)) return std::nullopt;
                      return std::max(6 * m, 5 * m + 2 * p - 1) * costs.forward;
                    })};
}

std::vector<std::string> variants() {
  std::vector<std::string> names = {std::string(kAll)};
  names.insert(names.end(), kNames.begin(), kNames.end());
  return names;
}

}  // namespace

Generator zbv_auto() {
  return {
      .name = "zbv-auto",
      .aliases = {alias("v_schedule", {.stack = "ColossalAI and veScale", .variant = "all"})},
      .summary = "zero bubble on a V in an order found for given times and memory",
      .source =
          "Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 6; its authors' "
          "scheduler",
      .when_to_use =
          "Times of F, I and W are known (costs.*), differ, or links are slow, where zbv's fixed order "
          "idles: no more "
          "memory than 1f1b, the same on every rank, twice the transfers. Below p activations take v-half, "
          "v-min or "
          "v-adaptive.",
      .requirements = {.min_chunks = 2,
                       .max_chunks = 2,
                       .default_chunks = 2,
                       .splits_backward = true,
                       .takes = {Option::MemoryLimit},
                       .needs_terms = true,
                       .variants = variants(),
                       .text = "any ranks, any microbatches, chunks = 2"},
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = emit,
      .effort = {.per_op = 0.2e-6},
  };
}

}  // namespace pipeloom::schedules
