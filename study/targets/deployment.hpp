#pragma once

// A run for a target: the order, its stages' layers, and everything else that a framework has to be told.

#include <memory>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/io/config/config.hpp"
#include "sim/layout/stage_content.hpp"
#include "sim/model/model.hpp"

namespace pipeloom::study {

struct Deployment {
  std::string schedule;  ///< the registry's name, or "custom"
  /// The order as it runs, with the ops that options add. REQUIRES: not null.
  std::shared_ptr<const Schedule> order;
  RecomputeOption recompute = {};
  OffloadOption offload = {};
  bool pairs_save = false;  ///< the two ops of a group take less time than one after the other
  bool estimated = false;   ///< times follow from a model and a device, not from the input
  /// [stage]: layers in model order, encoders first, without those for multi-token prediction; empty: not known.
  std::vector<int> layers = {};
  std::shared_ptr<const model::Model> model = {};  ///< null: not known
  model::Split split = {};                         ///< tp, cp, ep, dp, ZeRO, samples; of a model only
  std::string order_file = {};                     ///< where the order is written, "" if that is not given

  /// True if whole forwards (any forwards, or modules of them) run again.
  [[nodiscard]] bool recomputes_all() const { return recompute.on; }
  [[nodiscard]] bool recomputes() const { return recompute.on || !recompute.modules.empty(); }
  /// Encoder layers of the model, which are the first of `layers`.
  [[nodiscard]] int encoder_layers() const;
  /// Content of each stage. REQUIRES: layers are known.
  [[nodiscard]] std::vector<layout::StageContent> contents() const;
};

/// The registry's name of a schedule that may be spelt as another program does, or "custom".
[[nodiscard]] std::string registry_name(const std::string& schedule);

/// The deployment of a run that this configuration made. `schedule`: the registry's name, or "custom".
[[nodiscard]] Deployment deployment_of(const Run& run, const io::Config& config, const std::string& schedule);

}  // namespace pipeloom::study
