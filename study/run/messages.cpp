#include "study/run/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <pipeloom/error.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/messages/message_plans.hpp"
#include "study/run/make_schedule.hpp"

namespace pipeloom::study {
namespace {

using cost::TransferModel;
using schedules::MessageStyle;

std::optional<Program> ask(const FrameworkProgram& framework, MessageStyle style) {
  return framework ? framework(style) : std::nullopt;
}

using Planned = std::pair<Program, std::string>;

Planned generic_plan(std::shared_ptr<const Schedule> schedule, const cost::TransferSpec& spec,
                     const std::string& plan) {
  using Rule = ReceivePlacement::Rule;
  if (plan == "entry") return {entry_blocking(std::move(schedule)), plan};
  if (plan == "step") return {step_blocking(std::move(schedule)), plan};
  if (plan == "before-use") return {async_plan(std::move(schedule), {Rule::BeforeUse, 0}), plan};
  if (plan == "ahead") return {async_plan(std::move(schedule), {Rule::Ahead, spec.ahead}), plan};
  return {async_plan(std::move(schedule), {Rule::AtSender, 0}), "at-sender"};
}

Planned plan_of(std::shared_ptr<const Schedule> schedule, const cost::TransferSpec& spec,
                const FrameworkProgram& framework) {
  const bool blocking = spec.model == TransferModel::Blocking;
  if (spec.plan == "auto") {
    auto own = ask(framework, blocking ? MessageStyle::Blocking : MessageStyle::Overlap);
    if (own) return {*std::move(own), "schedule"};
    return generic_plan(std::move(schedule), spec, blocking ? "step" : "at-sender");
  }
  if (spec.plan == "overlap" || spec.plan == "overlap-flush") {
    auto own = ask(framework, spec.plan == "overlap" ? MessageStyle::Overlap : MessageStyle::OverlapFlush);
    if (own) return {*std::move(own), spec.plan};
    throw InputError(
        spec.plan_where,
        fmt::format("costs.transfer.plan \"{}\" is Megatron-LM's for its interleaved schedules, and "
                    "this schedule has none; use at-sender, before-use or ahead",
                    spec.plan));
  }
  return generic_plan(std::move(schedule), spec, spec.plan);
}

/// The plan as messages name it; one that the schedule brings along has no name of its own.
std::string text_of_plan(const std::string& plan) {
  return plan == "schedule" ? "the schedule's own plan" : fmt::format("plan \"{}\"", plan);
}

}  // namespace

MessageRules message_rules(const cost::TransferSpec& spec) {
  MessageRules rules;
  if (spec.model == TransferModel::Blocking)
    return rules;  // a rank waits for its groups, so nothing is left to queue
  rules.queue = spec.queue == "per-rank"        ? QueueDiscipline::PerRank
                : spec.queue == "per-direction" ? QueueDiscipline::PerDirection
                                                : QueueDiscipline::PerPair;
  rules.shared_links = spec.model == TransferModel::Link;
  rules.ranks_per_node = spec.ranks_per_node.value_or(0);
  return rules;
}

FrameworkProgram framework_program(const io::Config& config,
                                   const std::shared_ptr<const Schedule>& schedule) {
  if (config.schedule == io::kCustomSchedule) return {};
  return [&config, &schedule](MessageStyle style) -> std::optional<Program> {
    const schedules::Found found = schedules::find(config.schedule, config.place_of("schedule"));
    if (!found.generator->messages) return std::nullopt;
    Params params = params_of(config, found);
    params.microbatches = schedule->microbatches() / params.updates();
    return found.generator->messages(params, schedule, style);
  };
}

Messages make_messages(std::shared_ptr<const Schedule> schedule, const cost::TransferSpec& spec,
                       const FrameworkProgram& framework) {
  auto [program, plan] = plan_of(std::move(schedule), spec, framework);
  const auto found =
      check_program(program, spec.queue == "per-direction" && spec.model != TransferModel::Blocking);
  if (!found.empty())
    throw MessageProblem(spec.plan_where,
                         fmt::format("with {} of transfer model \"{}\" {} [{}]{}", text_of_plan(plan),
                                     name_of(spec.model), found.front().message, found.front().code,
                                     found.size() > 1 ? fmt::format(", and {} more", found.size() - 1) : ""),
                         {}, {}, "");
  return {std::move(program), message_rules(spec), std::move(plan)};
}

namespace {

/// Time lost to queues: the same program without them is as fast as its messages allow.
Ticks lost_to_queues(const Messages& messages, const Costs& costs, Ticks makespan) {
  if (messages.rules.queue == QueueDiscipline::None) return 0;
  MessageRules free = messages.rules;
  free.queue = QueueDiscipline::None;
  const auto outcome = run_program(messages.program, costs, free);
  const auto* run = std::get_if<ProgramRun>(&outcome);
  return run == nullptr ? 0 : std::max<Ticks>(0, makespan - span_of(run->timeline).length());
}

/// The first other queue or plan with which the schedule runs, queues first: they change the least.
std::string remedy_for(const std::shared_ptr<const Schedule>& schedule, const cost::TransferSpec& spec,
                       const Costs& costs, const FrameworkProgram& framework) {
  const auto runs = [&](const cost::TransferSpec& other) {
    try {
      const Messages messages = make_messages(schedule, other, framework);
      return std::holds_alternative<ProgramRun>(run_program(messages.program, costs, messages.rules));
    } catch (const Error&) {
      return false;
    }
  };
  const bool blocking = spec.model == TransferModel::Blocking;
  for (const char* queue : {"per-direction", "per-pair"}) {
    cost::TransferSpec other = spec;
    other.queue = queue;
    if (!blocking && queue != spec.queue && runs(other)) return std::string("costs.transfer.queue=") + queue;
  }
  cost::TransferSpec other = spec;
  other.plan = blocking ? "step" : "at-sender";
  return runs(other) ? "costs.transfer.plan=" + other.plan : "";
}

/// A few instructions around the one at which a rank is blocked.
std::string list_around(const Program& program, const WaitNode<NeededMessage>& node) {
  constexpr std::size_t kAround = 5;
  const std::size_t first = node.at > kAround ? node.at - kAround : 0;
  const auto count = program.instructions(node.rank).size();
  const std::size_t last = std::min(count, node.at + kAround + 1);
  return fmt::format("rank {}: {}{}{}", node.rank.value(), first > 0 ? "... " : "",
                     program_text(program, node.rank, first, last, node.at), last < count ? " ..." : "");
}

[[noreturn]] void fail_hanging(const std::shared_ptr<const Schedule>& schedule,
                               const cost::TransferSpec& spec, const Costs& costs,
                               const FrameworkProgram& framework, const Messages& messages,
                               const ProgramHang& hang) {
  const std::string remedy = remedy_for(schedule, spec, costs, framework);
  std::vector<std::string> lists;
  for (const WaitNode<NeededMessage>& node : hang.nodes) lists.push_back(list_around(messages.program, node));
  throw MessageProblem(
      spec.plan_where,
      fmt::format("with {} of transfer model \"{}\" the schedule hangs after {} of {} entries: {}{}",
                  text_of_plan(messages.plan), name_of(spec.model), hang.done, schedule->num_entries(),
                  describe(hang, messages.program), remedy.empty() ? "" : "; it runs with " + remedy),
      wait_lines(hang, messages.program), std::move(lists), remedy);
}

}  // namespace

MessageRun run_messages(const std::shared_ptr<const Schedule>& schedule, const cost::TransferSpec& spec,
                        const Costs& costs, const Steps& steps, const FrameworkProgram& framework) {
  Messages messages = make_messages(schedule, spec, framework);
  auto outcome = run_program(messages.program, costs, messages.rules, steps);
  if (const auto* hang = std::get_if<ProgramHang>(&outcome))
    fail_hanging(schedule, spec, costs, framework, messages, *hang);
  auto& run = std::get<ProgramRun>(outcome);
  MessageSummary summary{messages.plan, message_totals(run, messages.program),
                         lost_to_queues(messages, costs, span_of(run.timeline).length())};
  RunFacts facts{idle_causes(run), 0};
  if (steps.rule == StepRule::PostValidation)
    facts.period = steady_period(messages.program, costs, messages.rules, steps);
  return {std::move(messages.program), std::move(run), std::move(summary), std::move(facts)};
}

}  // namespace pipeloom::study
