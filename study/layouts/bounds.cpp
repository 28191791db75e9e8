#include "study/layouts/bounds.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "study/run/model_costs.hpp"

namespace pipeloom::study {
namespace {

/// Stages' times are rounded to nanoseconds, and digits of floating point differ with the way of adding up.
constexpr double kRounding = 1 - 1e-6;

double forward_of(const estimate::Stage& stage) {
  return stage.pass[0].seconds();
}
double backward_of(const estimate::Stage& stage) {
  return stage.pass[1].seconds() + stage.pass[2].seconds();
}
/// Modules that run again are part of the backward, whole layers an op of their own.
double work_of(const estimate::Setting& setting, const estimate::Stage& stage) {
  const double again = estimate::recomputes_all(setting) ? stage.recomputed.seconds() : 0;
  return forward_of(stage) + backward_of(stage) + again;
}

/// Bytes that a pass holds at least as long as it counts as live.
double held_of(const estimate::Setting& setting, const estimate::Stage& stage, bool splits_backward) {
  const Bytes late = stage.bytes.of(estimate::Category::UntilWeight);
  const Bytes early = splits_backward ? 0 : stage.bytes.of(estimate::Category::UntilInput);
  const Bytes all = early + late;
  return static_cast<double>(estimate::recomputes_all(setting) ? std::min(stage.stash, all) : all);
}

/// Passes of the rank that are live at once at its most; 0 where no closed form holds.
double live_of(const schedules::Generator& generator, const Params& params, Rank rank) {
  for (const schedules::ClosedForm& form : generator.closed_forms)
    if (form.quantity == "peak_live")
      if (const auto value = form.value(params, {}, rank)) return static_cast<double>(*value);
  return 0;
}

/// Seconds of the longest stage.
double longest(const std::vector<double>& seconds, const std::vector<int>& layers) {
  double out = 0;
  auto next = seconds.begin();
  for (const int count : layers) {
    out = std::max(out, std::accumulate(next, next + count, 0.0));
    next += count;
  }
  return out;
}

/// Layers of stages that take no longer than `most`: as many as fit into the last, then into the one before, one at least for each. Empty where not all fit.
std::vector<int> filled_from_behind(const std::vector<double>& seconds, int stages, double most) {
  std::vector<int> out(static_cast<std::size_t>(stages));
  auto left = static_cast<int>(seconds.size());
  for (int stage = stages - 1; stage >= 0; --stage) {
    double sum = 0;
    int& count = out[static_cast<std::size_t>(stage)];
    while (left > stage && (count == 0 || sum + seconds[static_cast<std::size_t>(left - 1)] <= most)) {
      sum += seconds[static_cast<std::size_t>(--left)];
      ++count;
    }
    if (sum > most) return {};
  }
  return left == 0 ? out : std::vector<int>();
}

}  // namespace

LayoutBounds::Known& LayoutBounds::known_of(const ParallelLayout& layout) {
  // Not by the order of devices: with data last, groups of tensor, context and expert ranks are the same neighbours.
  const Key key{layout.tensor, layout.context, layout.expert, layout.micro_batch, layout.recompute};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  estimate::Setting setting = setting_of(base_, layout);
  if (recompute_of(layout).whole) setting.layers_again = 1;
  setting.split.zero = 1;  // without gathers and reductions, which depend on the replicas
  setting.split.shards = 0;
  Known known{estimate::LayerCosts(setting)};
  setting.layers_again.reset();
  const std::vector<int> all = {static_cast<int>(setting.model->layers.size())};
  known.whole = work_of(setting, known.costs.estimate(setting, all).stages.front());
  const std::vector<int> one_by_one(setting.model->layers.size(), 1);
  for (const estimate::Stage& stage : known.costs.estimate(setting, one_by_one).stages)
    known.layers.push_back(work_of(setting, stage));
  return known_.emplace(key, std::move(known)).first->second;
}

double LayoutBounds::mean_work(const ParallelLayout& layout) {
  ParallelLayout whole = layout;
  if (whole.layers_again > 0) whole.recompute = 0;
  return kRounding * known_of(whole).whole * layout.microbatches / layout.pipeline;
}

std::vector<int> LayoutBounds::layers_of(const ParallelLayout& layout, int stages) {
  const std::vector<double>& seconds = known_of(layout).layers;
  if (static_cast<std::size_t>(stages) > seconds.size()) return {};
  const double usual = longest(seconds, estimate::default_layers(*base_.model, stages));
  double most = usual;
  double least =
      std::max(std::ranges::max(seconds), std::accumulate(seconds.begin(), seconds.end(), 0.0) / stages);
  std::vector<int> best;
  constexpr int kHalvings = 20;
  for (int i = 0; i < kHalvings && most > (1 + kEvenLayers / 10) * least; ++i) {
    const double middle = (most + least) / 2;
    std::vector<int> found = filled_from_behind(seconds, stages, middle);
    if (found.empty()) {
      least = middle;
    } else {
      most = longest(seconds, found);
      best = std::move(found);
    }
  }
  return usual > (1 + kEvenLayers) * most ? best : std::vector<int>();
}

LayoutBound LayoutBounds::of_stages(const ParallelLayout& layout, const schedules::Generator& generator,
                                    const Params& params) {
  const estimate::Setting setting = setting_of(base_, layout);
  const Placement placement = generator.placement(params);
  const std::vector<int> layers = layers_of(layout, placement.stages());
  estimate::Estimate estimate = known_of(layout).costs.estimate(
      setting, !layers.empty() ? layers : estimate::default_layers(*setting.model, placement.stages()));
  keep_once_per_rank(placement, estimate);
  std::vector<double> ahead = {0};  // [stage]: forwards of the stages before it
  std::vector<double> after = {0};  // [stage]: backwards of the stages before it
  for (const estimate::Stage& stage : estimate.stages) {
    ahead.push_back(ahead.back() + forward_of(stage));
    after.push_back(after.back() + backward_of(stage));
  }
  const bool splits = generator.requirements.splits_backward;
  LayoutBound out;
  double step_end = 0;
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    const std::vector<Stage> stages = placement.stages_of(rank);
    const std::size_t first = std::ranges::min(stages).at();
    double work = 0;
    double fixed = 0;
    double held = -1;
    std::vector<const estimate::Stage*> own;
    for (const Stage at : stages) {
      const estimate::Stage& stage = estimate.stages[at.at()];
      own.push_back(&stage);
      work += work_of(setting, stage);
      fixed += static_cast<double>(stage.bytes.fixed());
      const double each = held_of(setting, stage, splits);
      held = held < 0 ? each : std::min(held, each);
    }
    step_end = std::max(step_end, estimate::step_end(setting, own).seconds());
    out.step = std::max(out.step, work * layout.microbatches + ahead[first] + (splits ? 0 : after[first]));
    out.peak = std::max(out.peak, fixed + held * live_of(generator, params, rank));
  }
  out.step = kRounding * (out.step + step_end);
  return out;
}

}  // namespace pipeloom::study
