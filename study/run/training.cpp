#include "study/run/training.hpp"

#include <cstdint>
#include <vector>

#include "sim/kinds.hpp"
#include "sim/model/check.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::study {
namespace {

constexpr double kTicksPerSecond = 1e12;

/// Mean over the microbatches, whose documents may be of other lengths.
double mean_flops_per_token(const ModelCosts& costs) {
  const model::Model& model = *costs.setting.model;
  const model::Split& split = costs.setting.split;
  const cost::DocumentLists& documents = costs.config.costs.model.documents;
  if (documents.lists.empty())
    return model::flops_per_token(model, split.sequence, false, {}, split.trainable);
  double sum = 0;
  for (const std::vector<std::int32_t>& list : documents.lists)
    sum += model::flops_per_token(model, split.sequence, false,
                                  std::vector<std::int64_t>(list.begin(), list.end()), split.trainable);
  return sum / static_cast<double>(documents.lists.size());
}

bool trains(const Schedule& schedule) {
  return schedule.contains(OpKind::Backward) || schedule.contains(OpKind::BackwardInput);
}

}  // namespace

TrainingTerms training_terms(const ModelCosts& costs, const Schedule& schedule, int microbatches) {
  const estimate::Setting& setting = costs.setting;
  const model::Split& split = setting.split;
  TrainingTerms out;
  out.devices = 1.0 * split.pipeline * split.tensor * split.context * split.data;
  if (trains(schedule))
    out.tokens = 1.0 * microbatches * static_cast<double>(split.micro_batch) *
                 static_cast<double>(split.sequence) * split.data;
  if (model::has_sizes(*setting.model)) out.flops_per_token = mean_flops_per_token(costs);
  if (setting.hardware != nullptr)
    out.peak =
        out.devices * setting.hardware->matrix_rate[static_cast<std::size_t>(setting.hardware->precision)];
  return out;
}

std::optional<double> tokens_per_s(const TrainingTerms& terms, Ticks step_time) {
  if (terms.tokens == 0 || terms.flops_per_token == 0 || step_time <= 0) return std::nullopt;
  return terms.tokens / (static_cast<double>(step_time) / kTicksPerSecond);
}

std::optional<double> tokens_per_s_per_gpu(const TrainingTerms& terms, Ticks step_time) {
  const auto all = tokens_per_s(terms, step_time);
  return all ? std::optional(*all / terms.devices) : std::nullopt;
}

std::optional<double> mfu(const TrainingTerms& terms, Ticks step_time) {
  const auto all = tokens_per_s(terms, step_time);
  return all && terms.peak > 0 ? std::optional(terms.flops_per_token * *all / terms.peak) : std::nullopt;
}

}  // namespace pipeloom::study
