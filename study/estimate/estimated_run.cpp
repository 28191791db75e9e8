#include "study/estimate/estimated_run.hpp"

#include <algorithm>
#include <utility>

#include "sim/estimate/recomputed.hpp"
#include "sim/memory.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/work.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {
namespace {

using estimate::Category;

/// The run's memory with nothing but one category in it.
MemoryModel only(const EstimatedRun& run, Category category) {
  MemoryModel model = *run.run.memory;
  const auto stages = run.costs.estimate.stages.size();
  const auto each = [&](std::vector<Bytes>& numbers, bool wanted, const auto& number) {
    for (std::size_t slot = 0; slot < numbers.size(); ++slot)
      numbers[slot] = wanted ? number(run.costs.estimate.stages[slot % stages]) : 0;
  };
  const auto bytes = [category](const estimate::Stage& stage) { return stage.bytes.of(category); };
  const bool is_kept = category == Category::UntilInput || category == Category::UntilWeight;
  each(model.activation, is_kept, bytes);
  each(model.released_at_input, category == Category::UntilInput, bytes);
  each(model.stash, is_kept && recomputes_all(run.costs.setting), bytes);
  each(model.logits, category == Category::Logits, bytes);
  each(model.static_bytes, !is_per_microbatch(category), bytes);
  each(model.receive, false, bytes);
  return model;
}

/// What the curve says at an instant.
Bytes at(const std::vector<MemoryStep>& curve, Ticks time) {
  const auto after = std::upper_bound(curve.begin(), curve.end(), time,
                                      [](Ticks value, const MemoryStep& step) { return value < step.time; });
  return after == curve.begin() ? 0 : std::prev(after)->bytes;
}

std::vector<RankBytes> bytes_by_rank(const EstimatedRun& run) {
  const Timeline& timeline = run.run.timeline;
  std::vector<RankBytes> out;
  for (const RankMetrics& rank : run.run.metrics->ranks) {
    RankBytes bytes{.peak = rank.memory.peak_bytes, .peak_op = rank.memory.peak_op};
    const Rank index(static_cast<int>(out.size()));
    if (const auto limit = run.run.memory->limit_of(index)) bytes.headroom = *limit - bytes.peak;
    out.push_back(bytes);
  }
  for (std::size_t i = 0; i < estimate::kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const MemoryModel model = only(run, category);
    each_memory_curve(timeline, model, [&](Rank rank, const std::vector<MemoryStep>& curve) {
      RankBytes& bytes = out[rank.at()];
      bytes.categories.of(category) = at(curve, timeline.start[bytes.peak_op]);
    });
  }
  return out;
}

/// FLOPs of the forwards that run again, per token.
double recomputed_flops(const estimate::Setting& setting) {
  const model::Model& model = *setting.model;
  // Of one device that does everything, so that nothing is counted twice.
  model::Split whole;
  whole.sequence = setting.split.sequence;
  whole.flash = setting.split.flash;
  double flops = 0;
  for (const char letter : model.layers) {
    const model::Layer& layer = *model.find(letter);
    const model::Work work = estimate::recomputed_work(layer, model::work_of(model, layer, whole),
                                                       setting.recomputation, setting.modules);
    for (const model::Gemm& gemm : work.gemms)
      flops += 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) * static_cast<double>(gemm.n) *
               static_cast<double>(gemm.groups);
    for (const model::CoreAttention& attention : work.attention) flops += attention.flops();
  }
  return flops / static_cast<double>(setting.split.sequence);
}

TrainingRates rates_of(const EstimatedRun& run, std::optional<double> budget) {
  const estimate::Setting& setting = run.costs.setting;
  const model::Model& model = *setting.model;
  TrainingRates out;
  // What people call a model's size leaves out the layers that help to train it.
  model::Model main = model;
  main.mtp = 0;
  out.parameters = model::parameters_of(main);
  out.active_parameters = model::active_parameters_of(main);
  out.flops_per_token = model::flops_per_token(model, setting.split.sequence);
  const double seconds = to_double(run.run.metrics->step_time, run.run.timeline.unit) *
                         static_cast<double>(ticks_per(run.run.timeline.unit)) / 1e12;
  out.tokens_per_s = run.tokens_per_step / seconds;
  if (budget) out.gpu_hours = *budget / out.tokens_per_s * static_cast<double>(run.devices) / 3600;
  if (setting.hardware == nullptr) return out;
  const auto precision = static_cast<std::size_t>(setting.hardware->precision);
  const double rate = static_cast<double>(run.devices) * setting.hardware->matrix_rate[precision];
  out.mfu = out.flops_per_token * out.tokens_per_s / rate;
  out.hfu = (out.flops_per_token + recomputed_flops(setting)) * out.tokens_per_s / rate;
  return out;
}

}  // namespace

EstimatedRun estimate_run(const io::Config& config, const Limits& limits, std::optional<double> budget) {
  if (config.options.forward_only)
    throw InputError(config.place_of("options.forward_only"),
                     "rates and memory are of training, which has backwards; leave options.forward_only out");
  EstimatedRun out;
  out.run = evaluate(config, limits);
  out.costs = *model_costs(config, out.run.schedule->placement());
  const model::Split& split = out.costs.setting.split;
  out.devices = static_cast<long long>(split.pipeline) * split.tensor * split.context * split.data;
  out.tokens_per_step = static_cast<double>(config.microbatches) * static_cast<double>(split.micro_batch) *
                        static_cast<double>(split.sequence) * split.data *
                        out.run.effective->options.updates.value_or(1);
  if (budget && !model::has_sizes(*out.costs.setting.model))
    throw InputError(config.place_of("costs.model"),
                     "the model has measured times alone, and no tokens; leave the budget of tokens out");
  if (model::has_sizes(*out.costs.setting.model)) {
    out.rates = rates_of(out, budget);
    out.ranks = bytes_by_rank(out);
  }
  return out;
}

}  // namespace pipeloom::study
