#include <algorithm>

#include "sim/io/json/json_writer.hpp"
#include "study/layouts/shown/layouts_shown.hpp"
#include "study/plan/shown/plan_shown.hpp"
#include "study/run/repeated/repeated_run.hpp"
#include "study/run/training.hpp"

namespace pipeloom::study {
namespace {

constexpr int kMember = 6;

void write_layout(io::JsonWriter& out, const ParallelLayout& layout) {
  out.key("layout")
      .object()
      .member("tp", layout.tensor)
      .member("cp", layout.context)
      .member("ep", layout.expert)
      .member("etp", 1)
      .member("pp", layout.pipeline)
      .member("dp", layout.data)
      .member("zero", layout.zero)
      .member("shards", layout.shards > 0 ? layout.shards : layout.data)
      .member("micro_batch", layout.micro_batch)
      .member("microbatches", layout.microbatches)
      .member("chunks", layout.chunks)
      .member("recompute", recompute_text(layout))
      .member("order", name_of(layout.devices))
      .close();
}

void write_rates(io::JsonWriter& out, const PlanCandidate& candidate) {
  const TrainingTerms& training = candidate.run.model->training;
  out.line(kMember)
      .key("tokens_per_s_per_gpu")
      .number(tokens_per_s_per_gpu(training, candidate.step_time).value_or(0))
      .key("mfu")
      .number(mfu(training, candidate.step_time).value_or(0));
}

void write_exposed(io::JsonWriter& out, const Exposed& exposed) {
  out.line(kMember).key("exposed").object();
  for (const auto& [key, share] : {std::pair("tp", exposed.tensor), std::pair("cp", exposed.context),
                                   std::pair("ep", exposed.expert), std::pair("pp", exposed.pipeline),
                                   std::pair("dp", exposed.data), std::pair("optimizer", exposed.optimizer)})
    out.key(key).number(share);
  out.close();
}

void write_space(io::JsonWriter& out, const LayoutPlan& plan, double seconds) {
  out.key("space").object().member("points", plan.space.points).member("simulated", plan.simulated);
  out.key("excluded").object();
  for (const Excluded excluded : kExcluded)
    if (plan.space.excluded.of(excluded) > 0) out.member(name_of(excluded), plan.space.excluded.of(excluded));
  out.close().key("seconds").number(seconds).close();
}

void write_elsewhere(io::JsonWriter& out, const std::optional<Elsewhere>& elsewhere) {
  out.line(2).key("elsewhere");
  if (!elsewhere) {
    out.null();
    return;
  }
  out.object()
      .member("name", split_text(elsewhere->layout))
      .member("schedule", order_name(elsewhere->layout))
      .key("change")
      .number(elsewhere->change)
      .key("targets")
      .array();
  for (const Target* target : elsewhere->targets) out.text(target->spelling());
  out.close().close();
}

void write_sensitivities(io::JsonWriter& out, const std::vector<IfHidden>& sensitivities) {
  out.line(2).key("sensitivities").array();
  for (const IfHidden& one : sensitivities) {
    out.object().key("hidden").number(one.hidden);
    out.member("name", split_text(one.best)).close();
  }
  out.close();
}

void write_measured(io::JsonWriter& out, const FittedForecast& fitted) {
  out.line(2).key("measured").object().key("runs").array();
  for (const FittedRun& one : fitted.runs)
    out.object()
        .member("name", split_text(one.run.layout))
        .member("schedule", order_name(one.run.layout))
        .key("measured")
        .number(one.run.seconds)
        .key("forecast")
        .number(one.before)
        .key("fitted")
        .number(one.after)
        .close();
  out.close().key("hidden").object();
  for (const auto& [key, group] : kExchangeNames) {
    out.key(key);
    if (std::ranges::find(fitted.told, group) == fitted.told.end())
      out.null();
    else
      out.number(fitted.terms.hidden[static_cast<std::size_t>(group)]);
  }
  out.close().key("compute_scale").number(fitted.terms.compute).close();
}

}  // namespace

Exposed exposed_of(const PlanCandidate& candidate) {
  const ModelCosts& costs = candidate.run.model->costs;
  const double step = static_cast<double>(candidate.step_time) / 1e12;
  const double passes =
      static_cast<double>(microbatches_of(candidate.run)) / candidate.run.schedule->ranks() / step;
  estimate::Exchanged sum = {};
  for (const estimate::Stage& stage : costs.estimate.stages)
    for (std::size_t group = 0; group < sum.size(); ++group) sum[group] += stage.exchanged[group] * passes;
  const auto of = [&](model::Group group) { return sum[static_cast<std::size_t>(group)]; };
  const double makespan = static_cast<double>(candidate.makespan) / static_cast<double>(candidate.step_time);
  return {.tensor = of(model::Group::Tensor),
          .context = of(model::Group::Context),
          .expert = of(model::Group::Expert),
          .pipeline = candidate.bubble_ratio * makespan,
          .data = costs.step_end.reduction / step,
          .optimizer = costs.step_end.optimizer / step};
}

std::string layouts_json(const LayoutPlan& plan, bool orders, double seconds) {
  PlanMembers more;
  more.of_candidate = [&](io::JsonWriter& out, std::size_t i) {
    write_layout(out, plan.layouts[i]);
    write_rates(out, plan.plan.candidates[i]);
    write_exposed(out, exposed_of(plan.plan.candidates[i]));
    out.line(kMember);
  };
  more.of_plan = [&](io::JsonWriter& out) {
    write_space(out, plan, seconds);
    write_elsewhere(out, plan.elsewhere);
    write_sensitivities(out, plan.sensitivities);
    if (plan.fitted) write_measured(out, *plan.fitted);
  };
  return plan_json(plan.plan, plan.plan.candidates.size(), orders, more);
}

}  // namespace pipeloom::study
