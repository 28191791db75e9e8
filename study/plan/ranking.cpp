#include "study/plan/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "study/plan/candidates.hpp"

namespace pipeloom::study {
namespace {

/// What is compared with where nothing runs now, and where no order of its stages may be: --vary leaves them out.
constexpr std::string_view kUsual = "interleaved-1f1b";
constexpr std::string_view kPlain = "1f1b";

/// The largest value that counts as the same as this one.
double same_as(double value) {
  return value + kSameStep * std::abs(value);
}

/// The best of a schedule, of what is over the limit only where none fits; null where the plan has none.
const PlanCandidate* best_of(const Plan& plan, std::string_view schedule) {
  const auto fits = std::ranges::find(plan.candidates, schedule, &PlanCandidate::schedule);
  if (fits != plan.candidates.end()) return &*fits;
  const PlanCandidate* out = nullptr;
  for (const PlanCandidate& one : plan.over)
    if (one.schedule == schedule && (out == nullptr || one.step_time < out->step_time)) out = &one;
  return out;
}

/// Characters of a name that may say its layers.
constexpr std::size_t kLongestLayers = 48;

}  // namespace

double value_of(const PlanCandidate& candidate, PlanObjective objective) {
  switch (objective) {
    case PlanObjective::StepTime:
      return static_cast<double>(candidate.step_time);
    case PlanObjective::Makespan:
      return static_cast<double>(candidate.makespan);
    case PlanObjective::MaxWindow:
      return static_cast<double>(candidate.window);
    case PlanObjective::TokensPerS:
      return -candidate.tokens_per_s.value_or(0);
    case PlanObjective::PeakBytes:
      return candidate.peak;
    case PlanObjective::P95:
      return candidate.p95 ? static_cast<double>(*candidate.p95) : std::numeric_limits<double>::infinity();
  }
  return 0;
}

std::pair<double, double> key_of(const PlanCandidate& candidate, PlanObjective objective) {
  const auto step = static_cast<double>(candidate.step_time);
  return {value_of(candidate, objective), objective == PlanObjective::StepTime ? candidate.peak : step};
}

bool is_same(const PlanCandidate& one, const PlanCandidate& best, PlanObjective objective) {
  return value_of(one, objective) <= same_as(value_of(best, objective));
}

void rank(std::vector<PlanCandidate>& candidates, PlanObjective objective) {
  std::ranges::stable_sort(candidates, {}, [&](const PlanCandidate& one) { return key_of(one, objective); });
  if (objective == PlanObjective::PeakBytes) return;
  for (auto first = candidates.begin(); first != candidates.end(); ++first) {
    const double most = same_as(value_of(*first, objective));
    if (std::isinf(most)) return;  // what was not measured keeps its place
    const auto same = std::find_if(first, candidates.end(),
                                   [&](const PlanCandidate& one) { return value_of(one, objective) > most; });
    const auto least = std::min_element(
        first, same, [](const PlanCandidate& a, const PlanCandidate& b) { return a.peak < b.peak; });
    if (least != first) std::rotate(first, least, least + 1);
  }
}

bool is_usual(const PlanCandidate& candidate) {
  return candidate.schedule == kUsual;
}

const PlanCandidate* best_usual(const Plan& plan) {
  const PlanCandidate* usual = best_of(plan, kUsual);
  return usual != nullptr || plan.baseline ? usual : best_of(plan, kPlain);
}

const PlanCandidate* compared_with(const Plan& plan) {
  return plan.baseline ? &*plan.baseline : best_usual(plan);
}

const PlanCandidate* cheap_neighbour(const Plan& plan) {
  if (plan.candidates.empty()) return nullptr;
  const PlanCandidate& winner = plan.candidates.front();
  const auto slowest = static_cast<double>(winner.step_time) * (1 + kNeighbour);
  const PlanCandidate* out = nullptr;
  for (const PlanCandidate& one : plan.candidates) {
    if (static_cast<double>(one.step_time) > slowest || one.peak > winner.peak * (1 - kLighter)) continue;
    if (out == nullptr || one.step_time < out->step_time) out = &one;
  }
  return out;
}

void tell_apart(std::vector<PlanCandidate>& candidates) {
  std::map<std::string, int> uses;
  for (const PlanCandidate& candidate : candidates) ++uses[candidate.name];
  for (PlanCandidate& candidate : candidates)
    if (uses[candidate.name] > 1 && !candidate.layers.empty())
      candidate.name +=
          shortened(fmt::format(", layers {}", fmt::join(candidate.layers, ",")), kLongestLayers);
  uses.clear();
  for (PlanCandidate& candidate : candidates)
    if (const int use = ++uses[candidate.name]; use > 1) candidate.name += fmt::format(" ({})", use);
}

void find_changes(Plan& plan) {
  const PlanCandidate* other = compared_with(plan);
  if (other == nullptr) return;
  const auto step = static_cast<double>(other->step_time);
  const auto compare = [&](PlanCandidate& one) {
    one.change = static_cast<double>(one.step_time) / step - 1;
  };
  std::ranges::for_each(plan.candidates, compare);
  std::ranges::for_each(plan.over, compare);
  if (plan.baseline) compare(*plan.baseline);
}

void find_front(Plan& plan) {
  const std::vector<PlanCandidate>& of = plan.candidates;
  std::vector<std::size_t> all(of.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::stable_sort(all, {}, [&](std::size_t i) { return std::pair(of[i].step_time, of[i].peak); });
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : all) {
    if (of[i].peak >= least) continue;
    least = of[i].peak;
    plan.pareto.push_back(i);
  }
}

std::optional<Ticks> p95_if_any(const PlanCandidate& candidate, const PlanOptions& options) {
  if (candidate.p95) return candidate.p95;
  try {
    return p95_of(candidate.run_of_all(), options.seed);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool is_better(const PlanCandidate& one, const PlanCandidate& other, const PlanOptions& options) {
  if (options.objective == PlanObjective::P95) {
    const auto first = p95_if_any(one, options);
    const auto second = p95_if_any(other, options);
    if (first && second) return *first < *second;
  }
  return one.step_time < other.step_time;
}

}  // namespace pipeloom::study
