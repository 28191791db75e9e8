#pragma once

// Many scenarios of one run: the times of its steps when durations vary, and their sensitivities.

#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include "sim/cost/cost_spec.hpp"

namespace pipeloom::study {

/// Mean and quantiles of a number over all scenarios: Ticks for times, double for ratios. Quantiles are by nearest rank: the smallest
/// value that at least this share of all scenarios does not exceed, which is the value of one of them. The mean of
/// times is rounded to the nearest tick, halves up.
template <class Number>
struct Quantiles {
  Number mean = 0;
  Number p50 = 0;
  Number p95 = 0;
  Number p99 = 0;
};

/// Sensitivity of the step to one part: the step takes `derivative` percent longer for each percent by which the part is slower. It is the mean
/// over scenarios of the part's share of the critical path; exact for small changes that leave the path alone, ops of a group by their share of it.
struct Sensitivity {
  enum class What : std::uint8_t { Stage, Rank, OpKind, Link };
  What what = What::Stage;
  std::int32_t index = 0;  ///< the stage or rank; of a link the sender; index_of() a kind
  std::int32_t to = 0;     ///< of a link: the receiver
  double derivative = 0;
};
/// "stage 3", "rank 2", "F", "link 6 to 7".
[[nodiscard]] std::string name_of(const Sensitivity& sensitivity);

struct ScenarioSummary {
  int count = 0;
  std::uint64_t seed = 0;
  Quantiles<Ticks> makespan;
  Quantiles<double> bubble;
  /// The largest first within stages, ranks, kinds and links; none of 0.
  std::vector<Sensitivity> sensitivities;
};

inline constexpr int kMostScenarios = 10'000'000;

/// The scenarios 0 .. count - 1 of `seed`.
struct ScenarioChoice {
  int count = 0;  ///< 1 .. kMostScenarios
  std::uint64_t seed = 0;
  friend bool operator==(const ScenarioChoice&, const ScenarioChoice&) = default;
};

/// Scenarios under costs.noise of the run and its transfer model. Under another one than latency each of them takes as long as a run. Throws
/// InputError for runs that have none: without costs.noise, with copies, recomputation or slices, or with sequential overlap.
[[nodiscard]] ScenarioSummary run_scenarios(const Run& run, const ScenarioChoice& choice);
/// The same for a schedule under `costs`, which `spec` became for it and which are bound to it. REQUIRES: the transfer model is latency.
[[nodiscard]] ScenarioSummary run_scenarios(const Schedule& schedule, const Costs& costs,
                                            const cost::CostSpec& spec, const ScenarioChoice& choice);

}  // namespace pipeloom::study
