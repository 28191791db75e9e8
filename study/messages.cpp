#include "study/messages.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/error.hpp"
#include "sim/message_plans.hpp"

namespace pipeloom::study {
namespace {

using cost::TransferModel;
using schedules::MessageStyle;

MessageRules rules_of(const cost::TransferSpec& spec) {
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

}  // namespace

Messages make_messages(std::shared_ptr<const Schedule> schedule, const cost::TransferSpec& spec,
                       const FrameworkProgram& framework) {
  auto [program, plan] = plan_of(std::move(schedule), spec, framework);
  const auto found =
      check_program(program, spec.queue == "per-direction" && spec.model != TransferModel::Blocking);
  if (!found.empty())
    throw ScheduleError(spec.plan_where,
                        fmt::format("with plan \"{}\" of transfer model \"{}\" {} [{}]{}", plan,
                                    name_of(spec.model), found.front().message, found.front().code,
                                    found.size() > 1 ? fmt::format(", and {} more", found.size() - 1) : ""));
  return {std::move(program), rules_of(spec), std::move(plan)};
}

}  // namespace pipeloom::study
