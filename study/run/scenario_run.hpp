#pragma once

// Many scenarios of one run: how long its steps take when durations vary, and what they hang on.

#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>

namespace pipeloom::study {

/// Of a number over all scenarios.
struct Quantiles {
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
};

/// What something being slower does to the step: it takes `derivative` percent longer for each percent. The mean over scenarios of the
/// share of the critical path; exact for small changes that leave the path alone, groups' parts by their share of the group.
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
  Quantiles makespan;  ///< in ticks
  Quantiles bubble;
  /// The largest first within stages, ranks, kinds and links; none of 0.
  std::vector<Sensitivity> sensitivities;
};

inline constexpr int kMostScenarios = 10'000'000;

/// Scenarios 0 .. count - 1 of `seed`, under costs.noise of the run. Throws InputError for runs that have none: without costs.noise, under
/// another transfer model than latency, with copies, recomputation or slices, or with sequential overlap. REQUIRES: 0 < count <= kMostScenarios.
[[nodiscard]] ScenarioSummary run_scenarios(const Run& run, int count, std::uint64_t seed);

}  // namespace pipeloom::study
