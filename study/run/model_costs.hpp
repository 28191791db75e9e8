#pragma once

// From a configuration that names a model to one that states times and bytes.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/cost/source.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::study {

/// A configuration with all values that follow from its model filled in, and their sources.
struct ModelCosts {
  /// As given, but per stage of the placement: values that the input states stay, the others are the model's.
  io::Config config;
  std::vector<cost::Origin> origins = {};
  estimate::Setting setting;
  estimate::Estimate estimate = {};
  /// The step's end of the rank that takes longest.
  estimate::StepEnd step_end = {};
};

/// Nullopt if costs.model names none. Throws InputError, at the key concerned, where model or hardware cannot be found or read, where what
/// spreads them does not fit, or costs.layers is not for these stages; and where options.recompute names modules without a model.
[[nodiscard]] std::optional<ModelCosts> model_costs(const io::Config& config, const Schedule& schedule);
/// The same before the order is known: of a schedule with such needs.
[[nodiscard]] std::optional<ModelCosts> model_costs(const io::Config& config, const Placement& placement,
                                                    const Requirements& requirements);

/// The same for one split of the layers; a search over splits calls it. REQUIRES: `setting` is setting_of(config, ..), where
/// all stages share the head for a schedule with as many of them.
[[nodiscard]] ModelCosts costs_of_layers(const io::Config& config, const Placement& placement,
                                         const estimate::Setting& setting, const std::vector<int>& layers);

/// Temporaries, receive buffers and workspaces belong to a rank, not to a stage: only the stage of a rank that needs most keeps them.
void keep_once_per_rank(const Placement& placement, estimate::Estimate& estimate);

/// The setting that costs.model and the keys beside it describe. REQUIRES: a model is named.
[[nodiscard]] estimate::Setting setting_of(const io::Config& config, const Schedule& schedule);
/// The model that costs.model names.
[[nodiscard]] std::shared_ptr<const model::Model> model_of(const io::Config& config);
/// The device that costs.hardware names; null where it names none.
[[nodiscard]] std::shared_ptr<const hardware::Hardware> hardware_of(const io::Config& config);
/// costs.layers, else the default split over that number of stages.
[[nodiscard]] std::vector<int> stage_layers(const io::Config& config, const model::Model& model, int stages);

}  // namespace pipeloom::study
