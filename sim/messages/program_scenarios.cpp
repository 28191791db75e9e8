#include "sim/messages/program_scenarios.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <pipeloom/error.hpp>
#include "sim/engine/noise_draws.hpp"
#include "sim/engine/op_draws.hpp"

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

/// Runs one scenario after another and adds up their results.
class ProgramRunner {
 public:
  ProgramRunner(const Program& program, const MessageRules& rules)
      : program_(program), rules_(rules), out_(no_times_yet(program.schedule())) {}

  /// Entries take the times of `entry_times`, and those of `costs` where it is empty.
  void run(const Costs& costs, const EntryTimes& entry_times) {
    double busy = 0;
    const auto outcome = run_program(program_, costs, rules_, {},
                                     [&](Rank rank, std::size_t first, Ticks start, Ticks planned) {
                                       if (entry_times) planned = entry_times(rank, first, start, planned);
                                       busy += static_cast<double>(planned);
                                       return planned;
                                     });
    if (const auto* hang = std::get_if<ProgramHang>(&outcome))
      throw ScheduleError("the program hangs: " + describe(*hang, program_));
    const ProgramRun& run = std::get<ProgramRun>(outcome);
    const Ticks makespan = *std::max_element(run.timeline.end.begin(), run.timeline.end.end());
    out_.makespan.push_back(makespan);
    const double whole = static_cast<double>(makespan) * static_cast<double>(program_.schedule().ranks());
    out_.bubble.push_back(whole > 0 ? 1 - busy / whole : 0.0);
    add_path(program_, costs, run, out_);
  }

  [[nodiscard]] ScenarioTimes result() && { return std::move(out_); }

 private:
  const Program& program_;
  const MessageRules& rules_;
  ScenarioTimes out_;
};

}  // namespace

ScenarioTimes program_scenarios(const Program& program, const Costs& costs, const MessageRules& rules,
                                const Noise& noise, int count, std::uint64_t seed) {
  ProgramRunner runner(program, rules);
  if (!Scenarios::supports(program.schedule(), costs)) {
    OpDraws draws(program.schedule(), costs, noise);
    draws.require_fit(count);
    const EntryTimes entry_times = draws.entry_times();
    for (int i = 0; i < count; ++i) {
      draws.draw(seed, i);
      runner.run(draws.costs(), entry_times);
    }
    return std::move(runner).result();
  }
  const Scenarios scenarios(program.schedule(), costs, noise);
  scenarios.require_fit(count);
  DrawnTimes drawn;
  const bool pauses = noise.model == NoiseModel::Hiccup;
  const EntryTimes entry_times = [&](Rank rank, std::size_t first, Ticks start, Ticks /*planned*/) {
    const Ticks duration = drawn.duration[first];
    return pauses ? with_pauses(noise, start, duration, drawn.pause[rank.at()]) : duration;
  };
  for (int i = 0; i < count; ++i) {
    scenarios.draw(seed, i, drawn);
    runner.run(costs, entry_times);
  }
  return std::move(runner).result();
}

}  // namespace pipeloom
