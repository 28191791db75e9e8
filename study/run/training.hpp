#pragma once

// How fast a run of a model trains.
//
//   tokens of a step   microbatches x micro_batch x seq x dp
//   devices            ranks x tp x cp x dp
//   MFU                model FLOPs of these tokens / (step time x devices x peak rate of matrices): 3 forwards, attention by the pairs that
//                      it has to look at, nothing that runs again (Chowdhery et al. 2022, PaLM, arXiv 2204.02311, appendix B)

#include <optional>

#include <pipeloom/schedule.hpp>
#include <pipeloom/units.hpp>
#include "study/run/model_costs.hpp"

namespace pipeloom::study {

/// Terms that turn the time of a step into rates.
struct TrainingTerms {
  double tokens =
      0;  ///< of a step; 0 where the model does not say how long a sample is, and where no step trains
  double devices = 1;
  double flops_per_token = 0;  ///< of the model; 0 where it has measured times and no sizes
  double peak = 0;             ///< FLOP/s of all devices; 0 where no device is named
};

/// Terms of steps that run `schedule`, or a longer run of it, with this number of microbatches. A schedule without backwards trains nothing.
[[nodiscard]] TrainingTerms training_terms(const ModelCosts& costs, const Schedule& schedule,
                                           int microbatches);

/// A model's run: its times and bytes, and the terms of its training rates.
struct ModelRun {
  ModelCosts costs;
  TrainingTerms training;
};

// `step_time` in ticks of a real unit, 1e-12 s. Nothing where the terms or the time are not known.

[[nodiscard]] std::optional<double> tokens_per_s(const TrainingTerms& terms, Ticks step_time);
[[nodiscard]] std::optional<double> tokens_per_s_per_gpu(const TrainingTerms& terms, Ticks step_time);
[[nodiscard]] std::optional<double> mfu(const TrainingTerms& terms, Ticks step_time);

}  // namespace pipeloom::study
