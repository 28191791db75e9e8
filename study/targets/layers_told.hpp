#pragma once

// How a target is told the layers of each stage, and the layers that it takes where it cannot be told.

#include <optional>
#include <string>
#include <vector>

#include "study/targets/deployment.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

/// torchtitan's and AReaL's rule (layout::weighted_split) for numbers of stages and layers.
struct WeightedWords {
  std::optional<int> layers_per_stage;  ///< nothing: the class's own number of stages
  int first_less = 1;
  int last_less = 1;
};

struct LayersTold {
  std::string refusal = {};  ///< why it runs on no layers at all; "" if it does
  bool said = false;         ///< false: it takes its own split, without a word
  std::vector<int> own =
      {};  ///< [stage]: the layers that it takes instead of the planned ones; empty where these are the same, or not known
  std::string why_own = {};     ///< why it cannot be told the plan
  WeightedWords weighted = {};  ///< of LayerWords::Weighted
  /// Modules for LayerWords::Modules, if they have to be stated: [stage], in model order.
  std::vector<std::vector<std::string>> modules = {};
  std::string layout = {};   ///< of LayerWords::Layout: a layout string, "" if none is needed or possible
  std::string pattern = {};  ///< the same of a hybrid model: its letters, with | between stages
};

[[nodiscard]] LayersTold layers_told(const Target& target, const Deployment& deployment);

/// torchtitan's names of each stage's modules; the encoder is one module there. REQUIRES: all of it is on the first stage.
[[nodiscard]] std::vector<std::vector<std::string>> torchtitan_modules(
    std::vector<layout::StageContent> contents);

/// Why no layout string says these stages, or "": encoders have no letters, a hybrid model has a pattern instead, and stage k must be on
/// rank k mod p.
[[nodiscard]] std::string layout_string_refusal(const Deployment& deployment);
/// The same for a model with that number of encoder layers.
[[nodiscard]] std::string layout_string_refusal(int encoder_layers, bool hybrid, const Placement& placement);

}  // namespace pipeloom::study
