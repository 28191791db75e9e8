#include "executor/run/run_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include <pipeloom/error.hpp>

namespace pipeloom::executor {
namespace {

void require_runnable(const Program& program, QueueDiscipline queue) {
  auto found = check_program(program, queue == QueueDiscipline::PerDirection);
  if (queue == QueueDiscipline::None)
    found.erase(std::remove_if(found.begin(), found.end(),
                               [](const Diagnostic& one) { return one.code == "mispaired"; }),
                found.end());
  if (!found.empty())
    throw ScheduleError(fmt::format("the program cannot run: {} [{}]{}", found.front().message,
                                    found.front().code,
                                    found.size() > 1 ? fmt::format(", and {} more", found.size() - 1) : ""));
  MessageRules rules;
  rules.queue = queue;
  const auto outcome = run_program(program, default_costs(program.schedule().placement()), rules);
  if (const auto* hang = std::get_if<ProgramHang>(&outcome))
    throw ScheduleError(fmt::format("the program hangs after {} of {} entries: {}", hang->done,
                                    program.schedule().num_entries(), describe(*hang, program)));
}

}  // namespace

std::vector<Rank> all_ranks(const Schedule& schedule) {
  std::vector<Rank> ranks;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) ranks.push_back(rank);
  return ranks;
}

std::shared_ptr<const RunPlan> make_plan(const Program& program, const Work& work,
                                         const RunOptions& options) {
  require_runnable(program, options.queue);
  RunPlan plan{program, options, {}, {}, work.element_bytes()};
  for (MessageId id = 0; id < program.messages().size(); ++id)
    plan.elements.push_back(work.message_elements(program.schedule(), program.messages()[id].producer));
  return std::make_shared<const RunPlan>(std::move(plan));
}

}  // namespace pipeloom::executor
