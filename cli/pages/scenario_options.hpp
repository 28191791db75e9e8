#pragma once

// --scenarios N and --seed S of commands that tell of a simulated run.

#include <optional>
#include <string>

#include <pipeloom/run.hpp>
#include "cli/option_list.hpp"
#include "study/run/scenario_run.hpp"

namespace pipeloom::cli {

struct ScenarioOptions {
  std::optional<std::string> scenarios;
  std::optional<std::string> seed;
};

void add_scenario_options(OptionList& list, ScenarioOptions& options);

/// The scenarios that are asked for; nullopt if none are. Throws InputError for a value that is no number.
[[nodiscard]] std::optional<study::ScenarioChoice> choice_of(const ScenarioOptions& options);
/// Nothing if none are asked for. Throws InputError for a value that is no number, and as study::run_scenarios() does.
[[nodiscard]] std::optional<study::ScenarioSummary> scenarios_of(const ScenarioOptions& options,
                                                                 const pipeloom::Run& run);

}  // namespace pipeloom::cli
