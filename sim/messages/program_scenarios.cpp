#include "sim/messages/program_scenarios.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <pipeloom/error.hpp>
#include "sim/engine/noise_draws.hpp"

namespace pipeloom {
namespace {

/// The path of one scenario; entries take what they took in it.
void add_path(const Program& program, const Costs& costs, const ProgramRun& run, ScenarioTimes& out) {
  const Schedule& schedule = program.schedule();
  const CriticalChain chain = critical_chain(run, program);
  for (const std::size_t first : chain.entries)
    add_on_path(schedule, costs, first,
                static_cast<double>(run.timeline.end_of(first) - run.timeline.start_of(first)), out);
  for (const MessageId message : chain.messages) {
    const MessageInfo& info = program.messages()[message];
    const MessageTimes& times = run.messages[message];
    out.link_on_path[info.from_rank.at() * static_cast<std::size_t>(schedule.ranks()) + info.to_rank.at()] +=
        static_cast<double>(times.end - times.start);
  }
}

}  // namespace

ScenarioTimes program_scenarios(const Program& program, const Costs& costs, const MessageRules& rules,
                                const Noise& noise, int count, std::uint64_t seed) {
  const Scenarios scenarios(program.schedule(), costs, noise);
  scenarios.require_fit(count);
  ScenarioTimes out = no_times_yet(program.schedule());
  DrawnTimes drawn;
  double busy = 0;
  const EntryTimes entry_times = [&](Rank rank, std::size_t first, Ticks start) {
    Ticks duration = drawn.duration[first];
    if (noise.model == NoiseModel::Hiccup)
      duration = with_pauses(noise, start, duration, drawn.pause[rank.at()]);
    busy += static_cast<double>(duration);
    return duration;
  };
  for (int i = 0; i < count; ++i) {
    scenarios.draw(seed, i, drawn);
    busy = 0;
    const auto outcome = run_program(program, costs, rules, {}, entry_times);
    if (const auto* hang = std::get_if<ProgramHang>(&outcome))
      throw ScheduleError("the program hangs: " + describe(*hang, program));
    const ProgramRun& run = std::get<ProgramRun>(outcome);
    const Ticks makespan = *std::max_element(run.timeline.end.begin(), run.timeline.end.end());
    out.makespan.push_back(makespan);
    const double whole = static_cast<double>(makespan) * static_cast<double>(program.schedule().ranks());
    out.bubble.push_back(whole > 0 ? 1 - busy / whole : 0.0);
    add_path(program, costs, run, out);
  }
  return out;
}

}  // namespace pipeloom
