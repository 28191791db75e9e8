#pragma once

// From a model, a device and how the one is spread over the other, to times and bytes of every stage.
//
// Rules (also docs/estimate.md):
//   stages       contiguous layers; the embedding on the first stage, MTP layers, final norm, head and loss on the last, or equal shares of the
//                embedding's and the head's rows and of the loss on every stage, where all share the output layer.
//   frozen       weights that are not trained have no W, gradients and states; <sim/model/trainable.hpp>
//   passes       F, I and W are sums over the stage's layers of products, core attention (none in W), traffic through memory, collectives and
//                launches. Modules that are recomputed add their forward to I; R is the forward of the layers that run again. S and T are as Head
//                describes.
//   bytes        weights, gradients, optimizer states by shards; tensors that layers keep until I or W; the rest as <sim/estimate/bytes.cpp> says.
//   step's end   the gradients' reduction over the replicas and the optimizer on the rank that takes longest, one after the other.
//   messages     2 bytes x tokens x hidden x streams / tensor ranks between stages.
//   copies       the bytes that a forward holds, over the link between a device and its host.
// Sources: Korthikanti et al. (arXiv 2205.05198), Megatron-LM's theoretical memory report, and fits that docs/accuracy.md names row by row.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include <pipeloom/units.hpp>
#include "sim/hardware/hardware.hpp"
#include "sim/model/model.hpp"
#include "sim/model/work.hpp"
#include "sim/options.hpp"

namespace pipeloom::estimate {

/// Where head and loss are; and where all stages share them, the place of the sum between S and T (docs/model.md, 3).
enum class Head : std::uint8_t {
  OnLastStage,
  SharedToLogits,    ///< S: logits and their part of the loss. T: both gradients
  SharedToGradient,  ///< S: the gradient of its input too. T: that of the weights
};

/// The inputs of times and bytes. Checked: model::check().
struct Setting {
  std::shared_ptr<const model::Model> model;
  std::shared_ptr<const hardware::Hardware> hardware;  ///< null only where the model has a profile
  model::Split split = {};
  Head head = Head::OnLastStage;  ///< shared: by split.output stages
  int copies = 1;                 ///< of every stage in one pipeline: 2 where it runs both ways
  model::Recomputation recomputation = model::Recomputation::None;
  std::vector<std::string> modules = {};  ///< that run again within the backward
  std::vector<int> recomputing = {};      ///< stages with any of it, in order; empty: all
  std::optional<int> layers_again =
      {};  ///< of a stage, or of a group of its layers, as `method` says; no value: all, each by itself
  RecomputeMethod method = RecomputeMethod::Block;
  bool keeps_some = false;   ///< some passes of a stage that recomputes keep their activations
  bool offloads = false;     ///< passes have copies to the host and back
  int gradient_bytes = 4;    ///< of a parameter
  int optimizer_bytes = 12;  ///< of a parameter; from 4 on with a copy of the weight in 32 bits
  /// [model::Group] share of the layers' collectives of these ranks that products hide; of Data: of the gradients' reduction.
  std::array<double, model::kGroups> hidden = {};
  double compute = 1;               ///< factor of all times of passes but collectives
  bool overlaps_reduction = false;  ///< gradients are summed layer by layer after the last backward
};

/// True if a pass's whole forward runs again, as an op of its own.
[[nodiscard]] inline bool recomputes_all(const Setting& setting) {
  return setting.recomputation == model::Recomputation::Full;
}

/// True if a stage recomputes anything.
[[nodiscard]] inline bool is_recomputing(const Setting& setting, int stage) {
  return setting.recomputation != model::Recomputation::None && takes_part(setting.recomputing, stage);
}

/// Of `layers` decoder layers of a stage that recomputes whole forwards, those that run again: the first ones.
[[nodiscard]] inline int layers_again(const Setting& setting, int layers) {
  const bool some = setting.layers_again && setting.method == RecomputeMethod::Block;
  return some ? std::min(*setting.layers_again, layers) : layers;
}

[[nodiscard]] inline bool shares_head(const Setting& setting) {
  return setting.head != Head::OnLastStage;
}

/// True if weights are sharded layer by layer (FSDP): without a pipeline, each layer is gathered for its forward and again for its backward, and its gradients are
/// reduced at once, in each microbatch. In a pipeline that would be so for each microbatch of each stage, and a stage is gathered once.
[[nodiscard]] inline bool shards_layers(const Setting& setting) {
  return setting.split.zero >= 3 && setting.split.pipeline == 1;
}

/// True if the gradients of each microbatch are reduced at once: ZeRO 2 and 3 without a pipeline. Pipelines reduce once a step.
[[nodiscard]] inline bool reduces_each(const Setting& setting) {
  return setting.split.zero >= 2 && setting.split.pipeline == 1;
}

/// The terms of the time of a pass, or of the step's end.
enum class Term : std::uint8_t { Gemm, Attention, Elementwise, Collectives, Launch, Head, Measured };
inline constexpr std::size_t kTerms = 7;
/// "gemm", "attention", "elementwise", "collectives", "launch", "head", "measured".
[[nodiscard]] std::string_view name_of(Term term);

struct PassTime {
  std::array<double, kTerms> terms = {};  ///< seconds, [term]
  [[nodiscard]] double& of(Term term) { return terms[static_cast<std::size_t>(term)]; }
  [[nodiscard]] double seconds() const;
  PassTime& operator+=(const PassTime& other);
  [[nodiscard]] PassTime operator*(double factor) const;
};
/// Seconds of collectives that are not hidden, [model::Group].
using Exchanged = std::array<double, model::kGroups>;
/// Counts of the numbers of each term by the way they were found, [term][basis].
using Found = std::array<std::array<int, hardware::kBases>, kTerms>;

/// Categories of a rank's memory, in the order in which they are printed.
enum class Category : std::uint8_t {
  Weights,
  Gradients,
  Optimizer,
  UntilInput,   ///< activations that the input pass is the last to need
  UntilWeight,  ///< activations that the weights' pass needs
  Logits,  ///< of the last stage, from its forward to its backward; shared: its part of all stages', from S to T
  Buffers,      ///< buffers that messages are received into
  Gathered,     ///< whole weights of sharded ones
  Temporaries,  ///< buffers that the passes need while they run, at their most
  Reserve,      ///< libraries' workspaces
};
inline constexpr std::size_t kCategories = 10;
/// "weights", .. "activations_until_input", .. "reserve".
[[nodiscard]] std::string_view name_of(Category category);
/// True if the bytes come and go with every microbatch.
[[nodiscard]] bool is_per_microbatch(Category category);
/// Bytes by category: of activations and logits those of one microbatch.
struct CategoryBytes {
  std::array<Bytes, kCategories> bytes = {};
  [[nodiscard]] Bytes& of(Category category) { return bytes[static_cast<std::size_t>(category)]; }
  [[nodiscard]] Bytes of(Category category) const { return bytes[static_cast<std::size_t>(category)]; }
  /// All that does not come and go with microbatches.
  [[nodiscard]] Bytes fixed() const;
};

struct Stage {
  int first_layer = 0;
  int layers = 0;  ///< decoder layers
  int mtp = 0;
  bool embedding = false;
  bool head = false;  ///< the whole of it
  std::array<PassTime, model::kPasses> pass = {};
  PassTime recomputed = {};     ///< of R
  PassTime output = {};         ///< of S, where all stages share the head
  PassTime output_weight = {};  ///< of T
  Exchanged exchanged = {};     ///< by its layers in F, I and W of a microbatch
  Found found = {};             ///< in all passes of one layer of each letter, and of the ends
  std::array<Ticks, model::kPasses> ticks = {};  ///< rounded to 1 ns
  Ticks recomputed_ticks = 0;
  Ticks output_ticks = 0;
  Ticks output_weight_ticks = 0;
  CategoryBytes bytes = {};
  Bytes stash = 0;         ///< bytes that a recomputed forward keeps
  std::int64_t dense = 0;  ///< parameters that a rank holds, adapters with them
  std::int64_t experts = 0;
  std::int64_t trained_dense = 0;  ///< of these, those that are trained
  std::int64_t trained_experts = 0;
};

/// A link between two ranks of the pipeline, or between one and its host.
struct Hop {
  Ticks latency = 0;
  std::int64_t bits_per_second = 0;
};

/// Time of a copy of `bytes` bytes, to 1 ns. REQUIRES: hop.bits_per_second > 0.
[[nodiscard]] Ticks time_of(const Hop& hop, Bytes bytes);

struct Estimate {
  std::vector<Stage> stages;
  Bytes message = 0;
  Hop within;              ///< in a node
  Hop between;             ///< from node to node
  Hop host;                ///< between a device and its host; no bits: the hardware does not give it
  int ranks_per_node = 1;  ///< of the pipeline
  bool has_bytes = false;  ///< true if the model has shapes, not measured times alone
};

struct LayerParts;

/// Times and bytes of one layer of each kind and of both ends, the same in all settings that differ in split.pipeline, split.data, split.zero and layers_again
/// alone. Searches over layouts ask for many of these.
class LayerCosts {
 public:
  /// O(kinds of layers). Has layers_again, if any of the settings has it.
  explicit LayerCosts(const Setting& setting);
  /// estimate(setting, layers), in O(stages). REQUIRES: `setting` is such a one.
  [[nodiscard]] Estimate estimate(const Setting& setting, std::span<const int> layers) const;

 private:
  std::shared_ptr<const LayerParts> parts_;
};

/// `layers[s]` decoder layers on stage s; they add up to the model's. O(stages + kinds of layers).
[[nodiscard]] Estimate estimate(const Setting& setting, std::span<const int> layers);

/// Times of one rank at the step's end.
struct StepEnd {
  double reduction = 0;  ///< seconds that are not hidden
  double optimizer = 0;
  [[nodiscard]] double seconds() const { return reduction + optimizer; }
};
/// Times at the step's end of a rank that holds these stages. The gradients' reduction, which after the last backward leaves the part that does
/// not fit into its time, and at least one layer's part; and the optimizer. Its memory traffic of each parameter that the rank updates: master copy
/// and moments read and written, the gradient read for its norm and for the update, the new weight (2 bytes), with Adam 34 bytes; of each that it
/// holds: gradients cleared and scaled. Frozen parameters have no part in it.
[[nodiscard]] StepEnd step_end(const Setting& setting, std::span<const Stage* const> stages);

/// Times in which parameters of one stage come and go: UNSHARD and REDUCE_GRAD of PyTorch's programs.
struct ShardTimes {
  double gather = 0;  ///< seconds of the all-gather of its weights; 0 below ZeRO 3
  double reduction =
      0;  ///< seconds of the reduce-scatter of its gradients, and of their sum over the groups of hybrid sharding; 0 below ZeRO 2
};
/// The sums of a rank's stages are step_end()'s reduction under ZeRO 3 in a pipeline, but for the latency of each. `pieces`: equal parts that come one after the other.
/// REQUIRES: setting.hardware.
[[nodiscard]] ShardTimes shard_times(const Setting& setting, const Stage& stage, int pieces = 1);

/// Decoder layers of each stage where the input gives none: as many each if that divides; else, if it then divides, one less on the first and
/// the last; else the first stages have one more. Throws InputError for more stages than layers + 2.
[[nodiscard]] std::vector<int> default_layers(const model::Model& model, int stages);

}  // namespace pipeloom::estimate
