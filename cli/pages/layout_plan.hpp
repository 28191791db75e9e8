#pragma once

// What `pipeloom layout` works out: layers to stages to ranks, by the rules of a framework and of a schedule.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/io/formats/layout_model.hpp"
#include "sim/layout/advice.hpp"
#include "sim/layout/layer_split.hpp"
#include "sim/layout/stage_content.hpp"

namespace pipeloom::cli {

/// How layers are dealt to stages.
enum class Split : unsigned char { Weighted, MinMax, Even, MegatronLayout };
/// "weighted", "min-max", "even", "megatron-layout".
[[nodiscard]] std::string_view name_of(Split split);

/// How stages are dealt to ranks.
enum class PlacementKind : unsigned char { Loop, V, Bidirectional };
/// "loop", "v", "bidirectional".
[[nodiscard]] std::string_view name_of(PlacementKind kind);

/// What was asked for; every number has been checked for itself.
struct LayoutRequest {
  io::LayoutModel model;  ///< `layers` is 0 if only the layout string says it
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
  layout::Framework framework = layout::Framework::Torchtitan;
  bool critic = false;
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

/// Works it out. Throws InputError or ScheduleError for what the rules of the split or of the schedule refuse.
[[nodiscard]] LayoutPlan plan_layout(const LayoutRequest& request);

}  // namespace pipeloom::cli
