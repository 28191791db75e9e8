#include "gui/model/find/find_question.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

using study::PlanObjective;
using study::Vary;

template <class Choice>
struct WordRow {
  Choice choice;
  FindWord word;
};

constexpr std::array<WordRow<PlanObjective>, 6> kObjectiveWords = {{
    {PlanObjective::StepTime, {"step time", "What a step takes"}},
    {PlanObjective::TokensPerS, {"tokens/s", "Tokens per second of all devices"}},
    {PlanObjective::PeakBytes, {"peak memory", "What the fullest rank holds at most"}},
    {PlanObjective::P95, {"p95 of the step", "19 of 20 steps take less, where durations vary"}},
    {PlanObjective::Makespan, {"makespan", "From the first op to the last, without the optimizer"}},
    {PlanObjective::MaxWindow, {"longest rank", "The longest stretch in which one rank works"}},
}};

constexpr std::array<WordRow<Vary>, study::kVaries> kVaryTexts = {{
    {Vary::Schedule, {"schedules", "All schedules that are registered, not only the one under edit"}},
    {Vary::Chunks, {"chunks", "Stages on a rank, up to 4"}},
    {Vary::Placement, {"placement", "Which stages stand on which rank: loops, V shapes"}},
    {Vary::Order, {"order search", "Orders of their own, searched for within the time given"}},
    {Vary::Recompute, {"recomputation", "Activations made again in the backward, to hold less"}},
    {Vary::Offload, {"offloading", "Activations kept in the host's memory meanwhile"}},
    {Vary::Microbatches, {"micro batch", "Sequences in a microbatch: 1, 2 or 4, the batch as it is"}},
    {Vary::Layers, {"layers", "Which layers of the model stand on which stage"}},
}};

template <class Rows, class Choice>
const FindWord& row_of(const Rows& rows, Choice choice) {
  return std::ranges::find(rows, choice, [](const auto& row) { return row.choice; })->word;
}

bool names_model(const Assignments& workload) {
  return workload.contains("costs.model");
}

PlanObjective read_objective(std::string_view value) {
  if (const auto objective = study::objective_named(value)) return *objective;
  std::vector<std::string> names;
  for (const PlanObjective one : study::kPlanObjectives) names.emplace_back(study::name_of(one));
  throw InputError::unknown_name(Where{"set-find"}, "objective", std::string(value), names);
}

study::VarySet read_vary(std::string_view value) {
  study::VarySet out;
  for (const std::string& word : split(value, ',')) {
    if (const auto vary = study::vary_named(trimmed(word))) {
      out.add(*vary);
      continue;
    }
    std::vector<std::string> names;
    for (const Vary one : kVaryWords) names.emplace_back(study::name_of(one));
    throw InputError::unknown_name(Where{"set-find"}, "word", word, names);
  }
  return out;
}

double read_seconds(std::string_view value) {
  const auto seconds = number_in<double>(value);
  if (!seconds || !(*seconds >= 0) || *seconds > kMostFindSeconds)
    throw InputError(Where{"set-find"}, fmt::format("found budget '{}'; allowed are 0 to {:.0f} seconds",
                                                    shortened(value, 40), kMostFindSeconds));
  return *seconds;
}

const study::Target* read_target(std::string_view value) {
  std::vector<std::string> names = {std::string(kAnyTarget)};
  if (value == kAnyTarget) return nullptr;
  for (const study::Target& target : study::targets()) {
    if (target.name == value) return &target;
    names.emplace_back(target.name);
  }
  throw InputError::unknown_name(Where{"set-find"}, "target", std::string(value), names);
}

}  // namespace

const FindWord& word_of(PlanObjective objective) {
  return row_of(kObjectiveWords, objective);
}

const FindWord& word_of(Vary vary) {
  return row_of(kVaryTexts, vary);
}

std::string lack_of(PlanObjective objective, const Assignments& workload) {
  if (objective == PlanObjective::TokensPerS && !names_model(workload)) return "needs a model";
  const auto noisy = [](const auto& entry) { return entry.first.starts_with("costs.noise"); };
  if (objective == PlanObjective::P95 && std::ranges::none_of(workload, noisy))
    return "needs durations that vary: costs.noise";
  return "";
}

std::string lack_of(Vary vary, const Assignments& workload) {
  if (vary == Vary::Layers && !names_model(workload)) return "needs a model";
  if (vary == Vary::Microbatches && (!names_model(workload) || !workload.contains("costs.global_batch")))
    return "needs a model and its global batch";
  return "";
}

study::VarySet usual_vary(const Assignments& workload) {
  study::VarySet out;
  for (const Vary vary : {Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Order}) out.add(vary);
  if (names_model(workload)) out.add(Vary::Layers);
  return out;
}

std::string vary_text(const study::VarySet& vary) {
  std::string out;
  for (const Vary one : kVaryWords)
    if (vary.has(one)) out += (out.empty() ? "" : ",") + std::string(study::name_of(one));
  return out;
}

void set_part(FindQuestion& question, std::string_view key, std::string_view value) {
  if (key == "objective")
    question.objective = read_objective(value);
  else if (key == "vary")
    question.vary = read_vary(value);
  else if (key == "budget")
    question.seconds = read_seconds(value);
  else if (key == "target")
    question.target = read_target(value);
  else
    throw InputError::unknown_name(Where{"set-find"}, "part", std::string(key),
                                   {kFindKeys.begin(), kFindKeys.end()});
}

}  // namespace pipeloom::gui
