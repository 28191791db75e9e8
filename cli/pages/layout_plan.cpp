#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/pages/layout_page.hpp"
#include "sim/layout/megatron_layout.hpp"
#include "study/targets/layers_told.hpp"

namespace pipeloom::cli {
namespace {

using schedules::Generator;

constexpr std::array<std::string_view, 5> kSplits = {"weighted", "min-max", "even", "megatron-layout",
                                                     "balanced"};
constexpr std::array<std::string_view, 3> kKinds = {"loop", "v", "bidirectional"};

Placement make_placement(PlacementKind kind, int ranks, int chunks) {
  if (kind == PlacementKind::Bidirectional) return Placement::bidirectional(ranks);
  return kind == PlacementKind::V ? Placement::wave(ranks, chunks) : Placement::loop(ranks, chunks);
}

/// A schedule, and how many chunks it would have.
struct NamedSchedule {
  schedules::Found found;
  const Generator& generator = *found.generator;

  /// Parameters with which it can be made: the microbatches asked for, or a number that every schedule takes.
  [[nodiscard]] Params params(int ranks, int chunks, std::optional<int> microbatches) const {
    Params params{.ranks = ranks, .microbatches = 4 * std::min(ranks, kMaxIndex / 4), .options = {}};
    schedules::complete(generator, params, chunks);
    if (microbatches) params.microbatches = *microbatches;
    if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
    return params;
  }

  /// Which regular placement it makes.
  [[nodiscard]] PlacementKind placement_kind(int chunks) const {
    const Params small = params(4, chunks, 16);
    const Placement placement = generator.placement(small);
    for (const auto kind : {PlacementKind::Loop, PlacementKind::V, PlacementKind::Bidirectional}) {
      if (kind == PlacementKind::V && chunks % 2 != 0) continue;
      if (placement == make_placement(kind, small.ranks, chunks)) return kind;
    }
    throw InputError(
        Where{"--schedule"},
        fmt::format("{} places stages by a rule of its own, which has no layout; name a --placement",
                    generator.name));
  }

  [[nodiscard]] layout::StageRules rules() const {
    const Requirements& needs = generator.requirements;
    const int least = std::max(needs.min_chunks, needs.default_chunks > 1 ? 2 : 1);
    return {generator.name, least, needs.max_chunks, std::max(least, needs.default_chunks)};
  }
};

class Planner {
 public:
  explicit Planner(const LayoutRequest& request) : request_(request) {
    if (request.schedule)
      schedule_.emplace(NamedSchedule{schedules::find(*request.schedule, Where{"--schedule"})});
  }

  LayoutPlan plan() {
    const std::vector<layout::StageContent> contents = make_contents();
    const int chunks = static_cast<int>(contents.size()) / request_.ranks;
    require_legal(chunks);
    const PlacementKind kind = placement_kind(chunks);
    LayoutPlan plan{.schedule = schedule_ ? schedule_->generator.name : "",
                    .placement_kind = kind,
                    .placement = make_placement(kind, request_.ranks, chunks),
                    .contents = contents,
                    .weights = {},
                    .advice = {},
                    .megatron_layout = {},
                    .megatron_refusal = {}};
    if (request_.model.weights)
      plan.weights = layout::stage_weights(*request_.model.weights, layers_of(contents));
    plan.megatron_refusal = study::layout_string_refusal(request_.encoder, request_.hybrid, plan.placement);
    if (plan.megatron_refusal.empty()) plan.megatron_layout = to_text(layout::layout_of(contents));
    add_advice(plan);
    return plan;
  }

 private:
  static std::vector<int> layers_of(const std::vector<layout::StageContent>& contents) {
    std::vector<int> layers;
    for (const auto& stage : contents) layers.push_back(stage.layers);
    return layers;
  }

  [[nodiscard]] std::vector<layout::StageContent> make_contents() const {
    const io::LayoutModel& model = request_.model;
    if (request_.split == Split::MegatronLayout) return from_layout_string();
    if (request_.split == Split::Balanced)
      return layout::contents_of(request_.balanced->best.layers, model.mtp, request_.encoder);
    const int stages = count_stages();
    switch (request_.split) {
      case Split::MinMax:
        return layout::contents_of(layout::min_max_split(weights(), stages), model.mtp);
      case Split::Even:
        return layout::contents_of(layout::even_split({.layers = model.layers,
                                                       .ranks = request_.ranks,
                                                       .chunks = stages / request_.ranks,
                                                       .first_layers = request_.first_layers,
                                                       .last_layers = request_.last_layers,
                                                       .embedding_is_layer = request_.account_for_embedding,
                                                       .loss_is_layer = request_.account_for_loss}),
                                   model.mtp);
      case Split::Weighted:
      case Split::MegatronLayout:
      case Split::Balanced:
        break;
    }
    return layout::contents_of(layout::weighted_split(weighted_model(), stages), model.mtp);
  }

  [[nodiscard]] std::vector<layout::StageContent> from_layout_string() const {
    const auto layout = layout::parse_megatron_layout(request_.megatron_layout, "--megatron-layout");
    layout::LayoutModel model;
    if (request_.model.layers > 0) model = {request_.model.layers, request_.model.mtp};
    const int chunks = static_cast<int>(layout.stages.size()) / request_.ranks;
    auto contents = layout::contents_of(layout, request_.ranks, model);
    if (request_.chunks && *request_.chunks != chunks)
      throw InputError(Where{"--megatron-layout"},
                       fmt::format("it has {} stages, {} per rank, but --chunks is {}; leave --chunks out",
                                   layout.stages.size(), chunks, *request_.chunks));
    return contents;
  }

  [[nodiscard]] layout::WeightedModel weighted_model() const {
    return {request_.model.layers, request_.first_less, request_.last_less};
  }

  [[nodiscard]] layout::LayerWeights weights() const {
    if (request_.model.weights) return *request_.model.weights;
    return {std::vector<std::int64_t>(static_cast<std::size_t>(request_.model.layers), 1)};
  }

  [[nodiscard]] int count_stages() const {
    layout::StageRules rules = {"this placement", 1, kMaxIndex,
                                request_.placement == PlacementKind::V ? 2 : 1};
    if (request_.placement == PlacementKind::V) rules.min_chunks = rules.max_chunks = 2;
    if (schedule_) rules = schedule_->rules();
    if (request_.chunks) rules.default_chunks = *request_.chunks;
    return layout::stage_count(rules, weighted_model(), request_.ranks, request_.layers_per_stage);
  }

  /// Throws if the schedule itself refuses the parameters, before anything is computed for it.
  void require_legal(int chunks) const {
    if (!schedule_) return;
    const std::string reason = schedules::refusal(
        schedule_->generator, schedule_->params(request_.ranks, chunks, request_.microbatches));
    if (!reason.empty()) throw ScheduleError(Where{"--schedule"}, reason);
  }

  [[nodiscard]] PlacementKind placement_kind(int chunks) const {
    if (!schedule_) {
      const PlacementKind kind = request_.placement.value_or(PlacementKind::Loop);
      if (kind == PlacementKind::V && chunks % 2 != 0)
        throw InputError(
            Where{"--placement"},
            fmt::format("v goes down and up again, which takes an even number of chunks, not {}", chunks));
      return kind;
    }
    const PlacementKind kind = schedule_->placement_kind(chunks);
    if (request_.placement && *request_.placement != kind)
      throw InputError(Where{"--placement"},
                       fmt::format("{} is given, but {} has the placement {}; leave --placement out",
                                   name_of(*request_.placement), schedule_->generator.name, name_of(kind)));
    if (request_.split == Split::MegatronLayout && kind != PlacementKind::Loop)
      throw InputError(Where{"--megatron-layout"},
                       fmt::format("{} has the placement {}, and a layout string says loop placements only",
                                   schedule_->generator.name, name_of(kind)));
    return kind;
  }

  void add_advice(LayoutPlan& plan) const {
    const int stages = plan.placement.stages();
    const bool is_megatron = request_.framework == layout::Framework::Megatron;
    if (!is_megatron && stages > 1)
      plan.advice.push_back(layout::microbatch_advice(request_.ranks, stages, request_.microbatches));
    if (is_megatron && stages > request_.ranks)
      plan.advice.push_back(layout::megatron_microbatch_advice(request_.ranks, request_.microbatches));
    if (!schedule_ || !schedule_->generator.requirements.splits_backward) return;
    for (auto& advice : layout::split_backward_advice(plan.schedule, request_.training))
      plan.advice.push_back(std::move(advice));
  }

  const LayoutRequest& request_;
  std::optional<NamedSchedule> schedule_;
};

}  // namespace

std::string_view name_of(Split split) {
  return kSplits[static_cast<std::size_t>(split)];
}

std::string_view name_of(PlacementKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

LayoutPlan plan_layout(const LayoutRequest& request) {
  return Planner(request).plan();
}

}  // namespace pipeloom::cli
