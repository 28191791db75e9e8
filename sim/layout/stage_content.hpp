#pragma once

// The parts of the model that a stage holds, and their names in frameworks.
//
// A transformer in model order is: embedding, decoder layers 0 .. L-1, MTP layers (multi-token prediction, only
// Megatron-LM has them), head. A layout cuts that order into S stages; which rank holds stage k is the placement's matter
// (<pipeloom/schedule.hpp>).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::layout {

/// One stage. Which decoder layers it holds follows from the layers of the stages before it.
struct StageContent {
  bool embedding = false;
  int layers = 0;  ///< decoder layers
  int mtp = 0;
  bool head = false;
  int encoder = 0;  ///< layers of an encoder in front of the decoder (vision, sound)

  [[nodiscard]] bool empty() const { return !embedding && layers == 0 && mtp == 0 && !head && encoder == 0; }
  friend bool operator==(const StageContent&, const StageContent&) = default;
};

/// Stages with these numbers of layers: the embedding on the first one, `mtp` and the head on the last one. The first `encoder` of
/// all layers are an encoder's, the others the decoder's. REQUIRES: not empty; no more encoder layers than layers.
[[nodiscard]] std::vector<StageContent> contents_of(const std::vector<int>& layers_per_stage, int mtp = 0,
                                                    int encoder = 0);

/// first_layer[k]: the first decoder layer of stage k, the number of those before it.
[[nodiscard]] std::vector<int> first_layers(const std::vector<StageContent>& contents);

/// The framework whose module names and rules apply.
enum class Framework : unsigned char { Torchtitan, Areal, Megatron };
/// "torchtitan", "areal", "megatron".
[[nodiscard]] std::string_view name_of(Framework framework);
[[nodiscard]] std::optional<Framework> framework_named(std::string_view name);

/// Names of the parts of the model in a framework.
struct ModuleNames {
  std::string embedding;                 ///< "tok_embeddings"
  std::string layer;                     ///< "layers.": followed by the layer's number
  std::string mtp;                       ///< "mtp.layers."
  std::string encoder;                   ///< "vision_encoder.layers."
  std::string norm;                      ///< "norm"
  std::string head;                      ///< "output"
  bool norm_with_decoder = false;        ///< with MTP layers, the norm comes after the last decoder layer
  std::vector<std::string> layers = {};  ///< of each decoder layer, where numbers do not give them
};
/// torchtitan: tok_embeddings, layers.N, norm, lm_head. AReaL the same with output, and score for a critic.
/// Megatron-LM: embedding, decoder.layers.N, decoder.final_layernorm, mtp.layers.N, output_layer; N counts through all
/// stages here, though each of its stages counts its own from 0. Throws InputError for a critic elsewhere than in AReaL.
[[nodiscard]] ModuleNames module_names(Framework framework, bool critic);

/// The modules of every stage in model order, [stage][i]. With `ranges`, consecutive layers are one entry:
/// "layers.4-7".
[[nodiscard]] std::vector<std::vector<std::string>> modules_of(const std::vector<StageContent>& contents,
                                                               const ModuleNames& names, bool ranges = false);

}  // namespace pipeloom::layout
