#pragma once

// Which layers on which stage: the split whose step, simulated under the chosen schedule, is shortest.
//
// The largest stage alone does not decide: under 1F1B the last stage's work is on every microbatch's way and a first stage that is done early only
// waits; under V placements two stages share a rank. So splits are judged by simulating them. The search starts from even splits and from those
// with lighter ends, moves single layers from any stage to any other as long as that helps, and then restarts from the best split with some layers
// moved at random (a fixed seed, a fixed number of simulations: equal inputs give equal answers).

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <pipeloom/run.hpp>
#include "sim/io/config/config.hpp"

namespace pipeloom::study {

enum class Balance : std::uint8_t {
  Time,    ///< the shortest step that keeps the limit
  Memory,  ///< the smallest peak of the fullest rank; of equal ones the shortest step
  Both,  ///< the shortest step among those whose peak is within 2 % of the smallest possible one that was found
};
/// "time", "memory", "both".
[[nodiscard]] std::string_view name_of(Balance balance);
[[nodiscard]] std::optional<Balance> balance_named(std::string_view name);

/// A split and what it gives.
struct SplitScore {
  std::vector<int> layers = {};  ///< [stage]
  Ticks step_time = 0;
  Bytes peak = 0;  ///< of the fullest rank; 0 where bytes are not known
  Bytes over = 0;  ///< by how much the fullest rank passes its limit
};
struct Balanced {
  SplitScore before = {};  ///< of costs.layers, or the default split
  SplitScore best = {};
  int simulations = 0;
};

/// True if layers can be dealt out: of a model, or of costs whose layers are given (costs.layers).
[[nodiscard]] bool has_layers(const io::Config& config);

/// The configuration with its layers on the placement's stages like this: a model's follow, other costs and sizes are dealt out by layers
/// (sim/cost/deal.hpp). REQUIRES: has_layers(), and one entry for each stage.
[[nodiscard]] io::Config with_layers(const io::Config& config, const Placement& placement,
                                     const std::vector<int>& layers);

/// Throws as estimate_run() does, and InputError for fewer layers than could be moved. REQUIRES: has_layers(). At most some thousand
/// simulations, fewer of large runs, and of those the share `effort`.
[[nodiscard]] Balanced balance_layers(const io::Config& config, const Limits& limits, Balance balance,
                                      double effort = 1);

}  // namespace pipeloom::study
