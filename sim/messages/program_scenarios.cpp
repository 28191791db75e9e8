#include "sim/messages/program_scenarios.hpp"

#include <algorithm>
#include <variant>

#include <pipeloom/error.hpp>

namespace pipeloom {
namespace {

/// The path of one scenario; entries take the times that they took in it.
void add_path(const Program& program, const Costs& costs, const ProgramRun& run, ScenarioTimes& out) {
  const Schedule& schedule = program.schedule();
  const CriticalChain chain = critical_chain(run, program);
  for (const std::size_t first : chain.entries) {
    std::size_t last = first;
    while (schedule.ops()[last].joined()) ++last;
    add_on_path(schedule, costs, first,
                static_cast<double>(run.timeline.end_of(last) - run.timeline.start_of(first)), out);
  }
  for (const MessageId message : chain.messages) {
    const MessageInfo& info = program.messages()[message];
    const MessageTimes& times = run.messages[message];
    out.link_on_path[info.from_rank.at() * static_cast<std::size_t>(schedule.ranks()) + info.to_rank.at()] +=
        static_cast<double>(times.end - times.start);
  }
}

/// Runs one scenario, and adds its results.
void run_scenario(const Program& program, const MessageRules& rules, const Costs& costs,
                  const EntryTimes& entry_times, ScenarioTimes& out) {
  double busy = 0;
  const auto outcome =
      run_program(program, costs, rules, {}, [&](Rank rank, std::size_t first, Ticks start, Ticks planned) {
        if (entry_times) planned = entry_times(rank, first, start, planned);
        busy += static_cast<double>(planned);
        return planned;
      });
  if (const auto* hang = std::get_if<ProgramHang>(&outcome))
    throw ScheduleError("the program hangs: " + describe(*hang, program));
  const ProgramRun& run = std::get<ProgramRun>(outcome);
  const Ticks makespan = *std::max_element(run.timeline.end.begin(), run.timeline.end.end());
  add_step(makespan, busy, program.schedule().ranks(), out);
  add_path(program, costs, run, out);
}

}  // namespace

ScenarioTimes program_scenarios(const Program& program, const Costs& costs, const MessageRules& rules,
                                const Noise& noise, int count, std::uint64_t seed) {
  return run_each(program.schedule(), costs, noise, count, seed,
                  [&](const Costs& drawn, const EntryTimes& entry_times, ScenarioTimes& out) {
                    run_scenario(program, rules, drawn, entry_times, out);
                  });
}

}  // namespace pipeloom
