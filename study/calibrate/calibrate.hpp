#pragma once

// A measured run to costs, and how well these costs give the run again.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/cost/cost_spec.hpp"
#include "study/calibrate/chunk_constant.hpp"
#include "study/calibrate/known_order.hpp"
#include "study/calibrate/measurements.hpp"
#include "study/explain/explain.hpp"

namespace pipeloom::study::calibrate {

/// What is left of the ops of one kind on one stage: measured less what the costs say.
struct Residual {
  int stage = 0;
  std::optional<OpKind> kind = {};  ///< nothing for overlapped groups, by the stage of their forward
  cost::DurationSample measured = {};
  Ticks time = 0;  ///< what the costs say; where ops differ, of the median one
  cost::DurationSample rest = {};
};

/// The order that ran, simulated with the costs.
struct Replay {
  Ticks measured = 0;  ///< median step, clocks aligned
  Ticks simulated = 0;
  std::vector<Residual> residuals = {};
  /// Where the difference comes from: what `explain` says, whose amounts sum to the mean step less the simulated one. Nothing for large runs.
  std::optional<explain::Explanation> explanation = {};
};

struct Calibration {
  Measurements measured = {};
  cost::CostSpec costs = {};
  std::optional<cost::DurationSample> constant = {};  ///< of ops, by another run: over kinds and ranks
  std::vector<KnownOrder> orders = {};                ///< empty: an order of its own
  std::optional<Replay> replay = {};                  ///< nothing where the order is no whole schedule
  std::vector<std::string> warnings = {};
};

/// `other` tells what ops take besides their layers. Throws InputError where the times cannot have been, and as chunk_constant() does.
/// REQUIRES: known.layers are empty, or one per stage; with `other` they are not empty.
[[nodiscard]] Calibration calibrate(const Timeline& timeline, const KnownOfRun& known = {},
                                    const std::optional<OtherRun>& other = {});

}  // namespace pipeloom::study::calibrate
