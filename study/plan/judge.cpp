#include "study/plan/judge.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include <pipeloom/error.hpp>
#include "study/plan/candidates.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {
namespace {

/// How the candidate is told to a target.
Deployment told(const PlanCandidate& candidate, const PlanOptions& options) {
  Deployment out = deployment_of(candidate.run, candidate.config, candidate.schedule);
  out.order = candidate.schedule_of_all();
  out.order_file = options.schedule_file;
  return out;
}

/// The candidate with the layers that the target takes.
PlanCandidate with_layers(const PlanCandidate& candidate, const std::vector<int>& layers,
                          const Limits& limits) {
  io::Config config = candidate.config;
  config.costs.layers.counts.assign(layers.begin(), layers.end());
  io::mark_given(config, "costs.layers");
  Run run = totals_of(config, limits);
  return candidate_of({candidate.name, std::move(config), ""}, std::move(run));
}

/// As the target runs it; nothing, and why in `refused`, where it does not.
std::optional<PlanCandidate> as_run(PlanCandidate candidate, const PlanOptions& options, const Limits& limits,
                                    PlanRejected& refused) {
  const TargetVerdict verdict = verdict_of(*options.target, told(candidate, options));
  refused = {candidate.name, verdict.reason, Refusal::Target};
  if (!verdict.taken()) return std::nullopt;
  if (!verdict.own_layers.empty()) {
    refused.why = verdict.why_own;
    if (!candidate.run.model || candidate.searched()) return std::nullopt;
    candidate = with_layers(candidate, verdict.own_layers, limits);
    const std::string over = over_limit_text(candidate.run);
    refused = {
        candidate.name,
        fmt::format("{}, with the layers that {} takes: {}", over, options.target->title, verdict.why_own),
        Refusal::OverLimit};
    if (!over.empty()) return std::nullopt;
  }
  candidate.judged = true;
  return candidate;
}

}  // namespace

void judge(std::vector<PlanCandidate>& candidates, const PlanOptions& options, const Limits& limits,
           std::vector<PlanRejected>& rejected) {
  std::vector<PlanCandidate> taken;
  for (PlanCandidate& candidate : candidates) {
    if (candidate.judged) {
      taken.push_back(std::move(candidate));
      continue;
    }
    PlanRejected refused{candidate.name, ""};
    try {
      if (auto judged = as_run(std::move(candidate), options, limits, refused))
        taken.push_back(std::move(*judged));
      else
        rejected.push_back(std::move(refused));
    } catch (const Error& error) {
      rejected.push_back({refused.name, error.what()});
    }
  }
  candidates = std::move(taken);
}

std::vector<TargetVerdict> verdicts_of(const PlanCandidate& candidate, const PlanOptions& options) {
  const Deployment deployment = told(candidate, options);
  return verdicts_of(options.target != nullptr ? std::span(options.target, 1) : targets(), deployment);
}

std::vector<NotTaken> not_taken(const Plan& plan, const PlanOptions& options) {
  std::vector<NotTaken> out;
  if (options.target != nullptr) {
    for (const PlanRejected& one : plan.rejected)
      if (one.refusal == Refusal::Target) out.push_back({options.target, one.name, one.why});
    return out;
  }
  for (const TargetVerdict& verdict : plan.to_run)
    if (!verdict.taken()) out.push_back({verdict.target, plan.candidates.front().name, verdict.reason});
  return out;
}

}  // namespace pipeloom::study
