#include "cli/pages/scenario_options.hpp"

#include <limits>

#include <pipeloom/error.hpp>
#include "cli/options.hpp"

namespace pipeloom::cli {

void add_scenario_options(OptionList& list, ScenarioOptions& options) {
  list.option("--scenarios", options.scenarios, "N",
              "Run so many steps with durations that vary as costs.noise says: quantiles, and what the step "
              "hangs on");
  list.option("--seed", options.seed, "S", "Which scenarios: the same seed gives the same ones (default 0)");
}

std::optional<study::ScenarioChoice> choice_of(const ScenarioOptions& options) {
  if (!options.scenarios) {
    if (options.seed)
      throw InputError(Where{"--seed"}, "there are no scenarios that it is for; give --scenarios N");
    return std::nullopt;
  }
  const int count = parse_count("--scenarios", *options.scenarios, 1, study::kMostScenarios);
  const int seed = parse_count("--seed", options.seed.value_or("0"), 0, std::numeric_limits<int>::max());
  return study::ScenarioChoice{count, static_cast<std::uint64_t>(seed)};
}

std::optional<study::ScenarioSummary> scenarios_of(const ScenarioOptions& options, const pipeloom::Run& run) {
  const auto choice = choice_of(options);
  if (!choice) return std::nullopt;
  if (!run.simulated())
    throw InputError(Where{"--scenarios"},
                     "a file of times says how long ops took, and nothing of how they vary; leave it out");
  return study::run_scenarios(run, *choice);
}

}  // namespace pipeloom::cli
