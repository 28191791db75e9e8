#pragma once

// The plan of `pipeloom layout`, layers to stages to ranks by the rules of a framework and of a schedule, and its output for people and
// programs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "cli/console.hpp"
#include "schedules/generator.hpp"
#include "sim/io/formats/layout_model.hpp"
#include "sim/layout/advice.hpp"
#include "sim/layout/layer_split.hpp"
#include "sim/layout/stage_content.hpp"
#include "study/estimate/balance.hpp"

namespace pipeloom::cli {

/// How layers are dealt to stages.
enum class Split : unsigned char { Weighted, MinMax, Even, MegatronLayout, Balanced };
/// "weighted", "min-max", "even", "megatron-layout", "balanced".
[[nodiscard]] std::string_view name_of(Split split);

/// How stages are dealt to ranks.
enum class PlacementKind : unsigned char { Loop, V, Bidirectional };
/// "loop", "v", "bidirectional".
[[nodiscard]] std::string_view name_of(PlacementKind kind);

/// The request; every number has been checked by itself.
struct LayoutRequest {
  io::LayoutModel model;  ///< `layers` is 0 if only the layout string says it
  int encoder = 0;        ///< layers of an encoder, the first of the model's; with Split::Balanced
  bool hybrid = false;    ///< the decoder mixes kinds of layers; with Split::Balanced
  int ranks = 1;
  std::optional<std::string> schedule;
  std::optional<PlacementKind> placement;
  std::optional<int> chunks;
  std::optional<int> layers_per_stage;
  std::optional<int> microbatches;
  Split split = Split::Weighted;
  int first_less = 1;
  int last_less = 1;
  std::optional<int> first_layers;
  std::optional<int> last_layers;
  bool account_for_embedding = false;
  bool account_for_loss = false;
  std::string megatron_layout;  ///< for Split::MegatronLayout
  std::optional<study::Balanced>
      balanced;  ///< for Split::Balanced: the split found, in ticks of milliseconds
  layout::Framework framework = layout::Framework::Torchtitan;
  bool critic = false;
  std::optional<layout::ModuleNames> own_names = {};  ///< the model's, in place of the framework's
  layout::TrainingOptions training;
};

struct LayoutPlan {
  std::string schedule;  ///< its own name; "" if none was named
  PlacementKind placement_kind = PlacementKind::Loop;
  Placement placement;
  std::vector<layout::StageContent> contents;  ///< [stage]
  std::vector<std::int64_t> weights;           ///< parameters by stage; empty if none are known
  std::vector<layout::Advice> advice;
  std::string megatron_layout;   ///< "" where there is none
  std::string megatron_refusal;  ///< then why
};

/// Makes the plan. Throws InputError or ScheduleError where the rules of the split or of the schedule refuse it.
[[nodiscard]] LayoutPlan plan_layout(const LayoutRequest& request);

/// Title, the stages, the sums of the ranks, where the last stage is, the layout string, advice. Modules are shown as ranges;
/// more than 64 stages are shown from both ends unless `everything`.
[[nodiscard]] std::string layout_page(const LayoutRequest& request, const LayoutPlan& plan,
                                      const Screen& screen, bool everything);

/// The same as JSON, modules one by one.
[[nodiscard]] std::string layout_json(const LayoutRequest& request, const LayoutPlan& plan);

/// [["tok_embeddings", "layers.0"], ["layers.1", ..], ..]: the modules by stage, as torchtitan's module_fqns_per_model_part takes
/// them.
[[nodiscard]] std::string modules_json(const LayoutRequest& request, const LayoutPlan& plan);

/// Times of a layer, for a table of costs by stage.
struct LayerCosts {
  TimeUnit unit = TimeUnit::Unit;
  Ticks forward = 0;  ///< of one decoder or MTP layer
  Ticks backward = 0;
  std::int64_t embedding = 0;  ///< work of the embedding in layers, times 1e9
  std::int64_t head = 0;       ///< of the head
};

/// The "costs" object of a configuration whose forward and backward have an entry per stage: layers times the times of a layer.
/// Throws InputError if a time does not fit 2^62 ticks.
[[nodiscard]] std::string costs_json(const LayoutPlan& plan, const LayerCosts& costs);

}  // namespace pipeloom::cli
