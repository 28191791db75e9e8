#include "study/plan/asked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {

bool is_configuration(const io::Value& root) {
  constexpr std::array kKeys = {"schedule", "ranks", "microbatches", "costs", "memory", "options", "step"};
  return root.keys().empty() ||
         std::ranges::any_of(kKeys, [&](const char* key) { return root.find(key) != nullptr; });
}

std::vector<std::pair<std::string, std::string>> set_defaults(io::Document& document) {
  std::vector<std::pair<std::string, std::string>> origins;
  const auto fallback = [&](const char* key, const std::string& value, const std::string& why) {
    if (document.root().find(key) != nullptr) return;
    document.set(key, value, key);
    origins.emplace_back(key, why);
  };
  fallback("schedule", "\"1f1b\"", "default: 1f1b");
  if (document.root().find("schedule")->text() == io::kCustomSchedule) return origins;
  fallback("ranks", "8", "default: 8");
  const io::Value* const costs = document.root().find("costs");
  const bool has_batch =
      costs != nullptr && costs->is(io::ValueKind::Object) && costs->find("global_batch") != nullptr;
  if (has_batch) return origins;
  const int count = parse_count("--ranks", document.root().find("ranks")->text(), 1, kMaxIndex / 4);
  fallback("microbatches", std::to_string(4 * count), "default: four for each rank");
  return origins;
}

std::string usual_vary(bool model, bool chunks_given) {
  std::string out = "schedule,placement,order";
  if (!chunks_given) out += ",chunks";
  if (model) out += ",layers";
  return out;
}

VarySet vary_of(const std::string& words, const Where& where) {
  VarySet out;
  for (const std::string& word : split(words, ',')) {
    const auto vary = vary_named(trimmed(word));
    if (!vary)
      throw InputError(where,
                       fmt::format("unknown word '{}'; allowed are schedule, chunks, layers, placement, "
                                   "recompute, offload, microbatches, order, separated by commas",
                                   shortened(word, 64)));
    out.add(*vary);
  }
  return out;
}

std::vector<std::string> objective_names() {
  std::vector<std::string> out;
  for (const PlanObjective objective : kPlanObjectives) out.emplace_back(name_of(objective));
  return out;
}

PlanObjective objective_of(const std::string& name, const Where& where) {
  const auto objective = objective_named(name);
  if (!objective) throw InputError::unknown_name(where, "value", shortened(name, 64), objective_names());
  return *objective;
}

}  // namespace pipeloom::study
