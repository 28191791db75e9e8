#pragma once

// The question that a search for the best schedule answers, and its words. The workload and the memory limit are the configuration's own.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::gui {

struct FindQuestion {
  study::PlanObjective objective = study::PlanObjective::StepTime;
  /// Nothing: usual_vary() of the configuration.
  std::optional<study::VarySet> vary = {};
  double seconds = 2;
  const study::Target* target = nullptr;  ///< null: nothing in particular
};

/// A word of the question as people read it.
struct FindWord {
  std::string_view label;  ///< "peak memory"
  std::string_view help;
};
[[nodiscard]] const FindWord& word_of(study::PlanObjective objective);
[[nodiscard]] const FindWord& word_of(study::Vary vary);
inline constexpr std::array kVaryWords = {
    study::Vary::Schedule,  study::Vary::Chunks,  study::Vary::Placement,    study::Vary::Order,
    study::Vary::Recompute, study::Vary::Offload, study::Vary::Microbatches, study::Vary::Layers};

/// The input that such a choice needs and the configuration lacks: "needs a model", "" where it lacks none.
[[nodiscard]] std::string lack_of(study::PlanObjective objective, const Assignments& workload);
[[nodiscard]] std::string lack_of(study::Vary vary, const Assignments& workload);

/// Schedules, chunks, placements and orders, and layers where a model is named.
[[nodiscard]] study::VarySet usual_vary(const Assignments& workload);
/// "schedule,order", as set_find() takes it.
[[nodiscard]] std::string vary_text(const study::VarySet& vary);

inline constexpr double kMostFindSeconds = 3600;
inline constexpr std::string_view kAnyTarget = "any";
/// Sets a part of the question from text: "objective peak_bytes", "vary schedule,order", "budget 5", "target torch" (or "any"). The limit is
/// none of them. Throws InputError that names the allowed values.
void set_part(FindQuestion& question, std::string_view key, std::string_view value);
/// The keys that set_part() takes.
inline constexpr std::array<std::string_view, 4> kFindKeys = {"objective", "vary", "budget", "target"};

}  // namespace pipeloom::gui
