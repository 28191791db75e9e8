#pragma once

// A run of a model on devices: how fast it trains (study/run/training.hpp), and what every rank holds, by category.
//
//   HFU                MFU with what is recomputed counted too
//   GPU hours          tokens of a budget / tokens per second x devices / 3600

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/run.hpp>
#include "study/run/training.hpp"

namespace pipeloom::study {

/// The bytes of a rank at the moment when it holds most.
struct RankBytes {
  Bytes peak = 0;
  std::optional<Bytes> headroom = {};       ///< negative where it holds more than its limit
  std::size_t peak_op = 0;                  ///< index of the op at whose start that is
  estimate::CategoryBytes categories = {};  ///< they add up to `peak`
};

/// Of a model with sizes; MFU and HFU need a device too.
struct TrainingRates {
  TrainingTerms terms;
  std::int64_t parameters = 0;  ///< without MTP layers
  std::int64_t active_parameters = 0;
  double tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;
  std::optional<double> mfu = {};
  std::optional<double> hfu = {};
  std::optional<double> gpu_hours = {};  ///< where a budget of tokens is given
};

/// Nothing where the run is of no model, of a profile of times alone, or trains nothing. REQUIRES: run.metrics.
[[nodiscard]] std::optional<TrainingRates> training_rates(const Run& run,
                                                          std::optional<double> budget = std::nullopt);
/// [rank]; empty where the run is of no model, or its bytes are not known. REQUIRES: run.metrics.
[[nodiscard]] std::vector<RankBytes> bytes_by_rank(const Run& run);

struct EstimatedRun {
  Run run;                                  ///< of a model: run.model is there
  std::optional<TrainingRates> rates = {};  ///< nothing of a profile of times alone
  std::vector<RankBytes> ranks = {};        ///< [rank]; empty where bytes are not known
  /// Values that were filled in for the user, and why.
  std::vector<std::pair<std::string, std::string>> origins = {};

  [[nodiscard]] const ModelCosts& costs() const { return run.model->costs; }
};

/// Makes, simulates and measures. `budget`: tokens of a whole training. Throws as evaluate() and model_costs() do.
/// REQUIRES: costs.model is given.
[[nodiscard]] EstimatedRun estimate_run(const io::Config& config, const Limits& limits,
                                        std::optional<double> budget = std::nullopt);

}  // namespace pipeloom::study
