#include "study/estimate/estimated_run.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/estimate/recomputed.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/trainable.hpp"
#include "sim/model/work.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/repeated/repeated_run.hpp"

namespace pipeloom::study {
namespace {

using estimate::Category;

/// The run's memory with nothing but one category in it.
MemoryModel only(const Run& run, Category category) {
  MemoryModel model = *run.memory;
  const ModelCosts& costs = run.model->costs;
  const auto stages = costs.estimate.stages.size();
  const auto each = [&](std::vector<Bytes>& numbers, bool wanted, const auto& number) {
    for (std::size_t slot = 0; slot < numbers.size(); ++slot)
      numbers[slot] = wanted ? number(costs.estimate.stages[slot % stages]) : 0;
  };
  const auto bytes = [category](const estimate::Stage& stage) { return stage.bytes.of(category); };
  const bool is_kept = category == Category::UntilInput || category == Category::UntilWeight;
  each(model.activation, is_kept, bytes);
  each(model.released_at_input, category == Category::UntilInput, bytes);
  // Of what a recomputed forward keeps, first what the weights' pass needs.
  each(model.stash, is_kept, [category](const estimate::Stage& stage) {
    const Bytes late = std::min(stage.stash, stage.bytes.of(Category::UntilWeight));
    return category == Category::UntilWeight
               ? late
               : std::min(stage.stash - late, stage.bytes.of(Category::UntilInput));
  });
  each(model.logits, category == Category::Logits, bytes);
  each(model.static_bytes, !is_per_microbatch(category), bytes);
  each(model.receive, false, bytes);
  return model;
}

/// The value of the curve at an instant.
Bytes at(const std::vector<MemoryStep>& curve, Ticks time) {
  const auto after = std::upper_bound(curve.begin(), curve.end(), time,
                                      [](Ticks value, const MemoryStep& step) { return value < step.time; });
  return after == curve.begin() ? 0 : std::prev(after)->bytes;
}

/// Of a stage's passes, the share that runs again: whole forwards as their ops say, modules in all of them.
std::vector<double> recomputed_shares(const Run& run) {
  const estimate::Setting& setting = run.model->costs.setting;
  std::vector<double> forwards(run.model->costs.estimate.stages.size());
  std::vector<double> again(forwards.size());
  for (const Op op : run.schedule->ops()) {
    if (op.kind() == OpKind::Forward) forwards[op.stage().at()] += 1;
    if (kTakesDropped.has(op.kind())) again[op.stage().at()] += 1;
  }
  for (std::size_t s = 0; s < again.size(); ++s)
    again[s] = estimate::recomputes_all(setting)                        ? again[s] / forwards[s]
               : estimate::is_recomputing(setting, static_cast<int>(s)) ? 1.0
                                                                        : 0.0;
  return again;
}

double flops_of(const model::Work& work) {
  double flops = 0;
  for (const model::Gemm& gemm : work.gemms)
    flops += 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) * static_cast<double>(gemm.n) *
             static_cast<double>(gemm.groups);
  for (const model::CoreAttention& attention : work.attention) flops += attention.flops();
  return flops;
}

/// FLOPs of the forwards that run again, per token.
double recomputed_flops(const Run& run) {
  const estimate::Setting& setting = run.model->costs.setting;
  if (setting.recomputation == model::Recomputation::None) return 0;
  const model::Model& model = *setting.model;
  // Of one device that does everything, so that nothing is counted twice.
  model::Split whole;
  whole.sequence = setting.split.sequence;
  whole.flash = setting.split.flash;
  std::map<char, double> of_letter;
  for (const model::Layer& layer : model.kinds)
    of_letter[layer.letter] = flops_of(estimate::recomputed_work(layer, model::work_of(model, layer, whole),
                                                                 setting.recomputation, setting.modules));
  const std::vector<double> shares = recomputed_shares(run);
  const std::vector<model::Reach> reaches = model::reaches_of(model, setting.split.trainable);
  double flops = 0;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const estimate::Stage& stage = run.model->costs.estimate.stages[s];
    const auto first = static_cast<std::size_t>(stage.first_layer);
    const auto again = static_cast<std::size_t>(estimate::layers_again(setting, stage.layers));
    for (std::size_t i = first; i < first + again; ++i)
      if (reaches[i] != model::Reach::None) flops += shares[s] * of_letter[model.layers[i]];
  }
  return flops / static_cast<double>(setting.split.sequence);
}

/// A long run from two short ones, where these have the ops at which ranks are fullest.
Run run_of(const io::Config& config, const Limits& limits) {
  Limits totals = limits;
  totals.totals_only = true;
  Run run = evaluate(config, totals);
  return run.repeated && !run.repeated->peaks_early ? evaluate(config, limits) : run;
}

}  // namespace

std::optional<TrainingRates> training_rates(const Run& run, std::optional<double> budget) {
  if (!run.model) return std::nullopt;
  const estimate::Setting& setting = run.model->costs.setting;
  const Ticks step = run.metrics->step_time;
  const auto tokens = tokens_per_s(run.model->training, step);
  if (!tokens) return std::nullopt;
  TrainingRates out{.terms = run.model->training, .tokens_per_s = *tokens};
  // The usual size of a model leaves out the layers that help to train it.
  model::Model main = *setting.model;
  main.mtp = 0;
  out.parameters = model::parameters_of(main);
  out.active_parameters = model::active_parameters_of(main);
  out.tokens_per_s_per_gpu = *tokens_per_s_per_gpu(out.terms, step);
  if (budget) out.gpu_hours = *budget / *tokens * out.terms.devices / 3600;
  out.mfu = mfu(out.terms, step);
  TrainingTerms repeated = out.terms;
  repeated.flops_per_token += recomputed_flops(run);
  out.hfu = mfu(repeated, step);
  return out;
}

std::vector<RankBytes> bytes_by_rank(const Run& run) {
  std::vector<RankBytes> out;
  if (!run.model || !model::has_sizes(*run.model->costs.setting.model)) return out;
  for (const RankMetrics& rank : run.metrics->ranks) {
    RankBytes bytes{.peak = rank.memory.peak_bytes, .peak_op = rank.memory.peak_op};
    const Rank index(static_cast<int>(out.size()));
    if (const auto limit = run.memory->limit_of(index)) bytes.headroom = *limit - bytes.peak;
    out.push_back(bytes);
  }
  for (std::size_t i = 0; i < estimate::kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const MemoryModel model = only(run, category);
    each_memory_curve(run.timeline, model, [&](Rank rank, const std::vector<MemoryStep>& curve) {
      RankBytes& bytes = out[rank.at()];
      bytes.categories.of(category) = at(curve, run.timeline.start[bytes.peak_op]);
    });
  }
  return out;
}

EstimatedRun estimate_run(const io::Config& config, const Limits& limits, std::optional<double> budget) {
  if (config.options.forward_only)
    throw InputError(config.place_of("options.forward_only"),
                     "rates and memory are of training, which has backwards; leave options.forward_only out");
  EstimatedRun out{.run = run_of(config, limits)};
  if (budget && !model::has_sizes(*out.costs().setting.model))
    throw InputError(config.place_of("costs.model"),
                     "the model has measured times alone, and no tokens; leave the budget of tokens out");
  out.rates = training_rates(out.run, budget);
  out.ranks = bytes_by_rank(out.run);
  return out;
}

}  // namespace pipeloom::study
