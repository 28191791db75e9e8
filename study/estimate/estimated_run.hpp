#pragma once

// A run of a model on devices: how fast it trains, and what every rank holds, by category.
//
//   tokens of a step   microbatches x micro_batch x seq x dp
//   devices            ranks x tp x cp x dp
//   MFU                model FLOPs of these tokens / (step time x devices x peak rate of matrices): 3 forwards, attention by the pairs that
//                      it has to look at, nothing that runs again
//   HFU                the same with what is recomputed counted too
//   GPU hours          tokens of a budget / tokens per second x devices / 3600

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/run.hpp>
#include "study/run/model_costs.hpp"

namespace pipeloom::study {

/// What a rank holds at the moment when it holds most.
struct RankBytes {
  Bytes peak = 0;
  std::optional<Bytes> headroom = {};       ///< negative where it holds more than its limit
  std::size_t peak_op = 0;                  ///< index of the op at whose start that is
  estimate::CategoryBytes categories = {};  ///< they add up to `peak`
};

/// Of a model with sizes; rates need a device too.
struct TrainingRates {
  std::int64_t parameters = 0;  ///< without MTP layers
  std::int64_t active_parameters = 0;
  double flops_per_token = 0;
  double tokens_per_s = 0;
  std::optional<double> mfu = {};
  std::optional<double> hfu = {};
  std::optional<double> gpu_hours = {};  ///< where a budget of tokens is given
};

struct EstimatedRun {
  ModelCosts costs;
  Run run;
  long long devices = 1;
  double tokens_per_step = 0;               ///< 0 where the model does not say how long a sample is
  std::optional<TrainingRates> rates = {};  ///< nothing of a profile of times alone
  std::vector<RankBytes> ranks = {};        ///< [rank]; empty where bytes are not known
  /// What whoever made the configuration filled in, and why.
  std::vector<std::pair<std::string, std::string>> origins = {};
};

/// Makes, simulates and measures. `budget`: tokens of a whole training. Throws as evaluate() and model_costs() do.
/// REQUIRES: costs.model is given.
[[nodiscard]] EstimatedRun estimate_run(const io::Config& config, const Limits& limits,
                                        std::optional<double> budget = std::nullopt);

}  // namespace pipeloom::study
