#include <algorithm>
#include <array>

#include "study/plan/plan.hpp"

namespace pipeloom::study {
namespace {

constexpr std::array<std::string_view, 6> kObjectives = {"step_time",    "makespan",   "max_window",
                                                         "tokens_per_s", "peak_bytes", "p95"};
constexpr std::array<std::string_view, kVaries> kVaryNames = {
    "schedule", "chunks", "layers", "placement", "recompute", "offload", "microbatches", "order"};
constexpr std::array<std::string_view, kRefusals.size()> kRefusalNames = {"over_limit", "target", "left_out",
                                                                          "cannot_run", "not_tried"};
template <class Enum, std::size_t kCount>
std::optional<Enum> named(const std::array<std::string_view, kCount>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view name_of(PlanObjective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}
std::optional<PlanObjective> objective_named(std::string_view name) {
  return named<PlanObjective>(kObjectives, name);
}
std::string_view name_of(Refusal refusal) {
  return kRefusalNames[static_cast<std::size_t>(refusal)];
}
std::string_view name_of(Vary vary) {
  return kVaryNames[static_cast<std::size_t>(vary)];
}
std::optional<Vary> vary_named(std::string_view name) {
  return named<Vary>(kVaryNames, name);
}

}  // namespace pipeloom::study
