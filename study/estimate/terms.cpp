#include "study/estimate/terms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/config/effective_config.hpp"
#include "study/estimate/accuracy.hpp"

namespace pipeloom::study {
namespace {

using estimate::PassTime;
using estimate::Term;

/// True if the input says what some pass takes.
bool states_times(const EstimatedRun& run) {
  for (const char* key : {"costs.forward", "costs.backward", "costs.backward_input", "costs.backward_weight",
                          "costs.output", "costs.output_weight", "costs.table", "costs.exceptions"})
    if (run.costs().config.given.has(key)) return true;
  return false;
}

/// All passes of one microbatch over the rank's stages.
PassTime passes_of(const EstimatedRun& run, Rank rank) {
  const bool recomputes = estimate::recomputes_all(run.costs().setting);
  PassTime sum;
  for (const Stage stage : run.run.schedule->placement().stages_of(rank)) {
    const estimate::Stage& of = run.costs().estimate.stages[stage.at()];
    for (const PassTime& pass : of.pass) sum += pass;
    if (recomputes && estimate::is_recomputing(run.costs().setting, stage.value())) sum += of.recomputed;
    sum += of.output;
    sum += of.output_weight;
  }
  return sum;
}

StepTerm term_of(std::string_view name, double seconds) {
  StepTerm out;
  out.name = name;
  out.seconds = seconds;
  return out;
}

double seconds_of(Ticks ticks) {
  return static_cast<double>(ticks) / 1e12;
}

/// REQUIRES: a kind that pass_ticks() takes.
Ticks estimated_ticks(const estimate::Stage& stage, OpKind kind) {
  if (kind == OpKind::Output) return stage.output_ticks;
  if (kind == OpKind::OutputWeight) return stage.output_weight_ticks;
  const model::Pass pass = kind == OpKind::Forward         ? model::Pass::Forward
                           : kind == OpKind::BackwardInput ? model::Pass::BackwardInput
                                                           : model::Pass::BackwardWeight;
  return stage.ticks[static_cast<std::size_t>(pass)];
}

}  // namespace

Ticks pass_ticks(const EstimatedRun& run, std::size_t stage, OpKind kind) {
  const auto& duration = run.run.effective->costs.duration[index_of(kind)];
  if (duration && stage < duration->array.size()) return duration->array[stage];
  return estimated_ticks(run.costs().estimate.stages[stage], kind);
}

Rank busiest_rank(const EstimatedRun& run) {
  const auto& ranks = run.run.metrics->ranks;
  const auto found = std::max_element(
      ranks.begin(), ranks.end(), [](const RankMetrics& a, const RankMetrics& b) { return a.busy < b.busy; });
  return Rank(static_cast<int>(found - ranks.begin()));
}

std::vector<StepTerm> step_terms(const EstimatedRun& run) {
  const Rank rank = busiest_rank(run);
  PassTime passes = passes_of(run, rank);
  const double busy = seconds_of(run.run.metrics->ranks[rank.at()].busy);
  const double all = passes.seconds();
  std::vector<StepTerm> out;
  const bool stated = states_times(run);
  if (stated) out.push_back(term_of("stated", busy));
  for (std::size_t i = 0; i < estimate::kTerms && !stated; ++i) {
    if (passes.terms[i] == 0 || all == 0) continue;
    out.push_back(term_of(estimate::name_of(static_cast<Term>(i)), busy * passes.terms[i] / all));
    for (const Stage stage : run.run.schedule->placement().stages_of(rank))
      for (std::size_t basis = 0; basis < hardware::kBases; ++basis)
        out.back().found[basis] += run.costs().estimate.stages[stage.at()].found[i][basis];
  }
  const double step = seconds_of(run.run.metrics->step_time);
  const double end = seconds_of(run.run.effective->step.optimizer);
  const estimate::StepEnd& parts = run.costs().step_end;
  const double whole = parts.seconds() > 0 ? parts.seconds() : 1;
  if (parts.reduction > 0) out.push_back(term_of("reduction", end * parts.reduction / whole));
  if (parts.optimizer > 0) out.push_back(term_of("optimizer", end * parts.optimizer / whole));
  out.push_back(term_of("idle", std::max(0.0, step - end - busy)));
  for (StepTerm& term : out) term.share = step > 0 ? term.seconds / step : 0;
  return out;
}

std::vector<cost::Origin> origins_of(const EstimatedRun& run) {
  std::vector<cost::Origin> out = run.origins;
  out.insert(out.end(), run.run.effective->origins.begin(), run.run.effective->origins.end());
  const estimate::Setting& setting = run.costs().setting;
  out.emplace_back("model", setting.model->source);
  if (setting.hardware != nullptr) out.emplace_back("hardware", setting.hardware->source);
  out.emplace_back("times", setting.model->profile ? "measured layer profile" : accuracy_text());
  return out;
}

}  // namespace pipeloom::study
