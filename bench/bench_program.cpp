// How fast programs run, in nanoseconds per op of thread CPU time: schedules of about 1e6 ops on 8 ranks, the program made before.
// The fastest of seven. Prints a Markdown table.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include "bench/schedules_for_bench.hpp"
#include "schedules/generator.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom::bench {
namespace {

void measure(const std::string& name, const char* what, const Program& program, const Costs& costs,
             const MessageRules& rules) {
  double fastest = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double before = thread_cpu_seconds();
    const auto outcome = run_program(program, costs, rules);
    fastest = std::min(fastest, thread_cpu_seconds() - before);
    if (!std::holds_alternative<ProgramRun>(outcome)) what = "(hangs)";
  }
  const auto ops = static_cast<double>(program.schedule().num_ops());
  fmt::print("| {} | {} | {} | {:.0f} |\n", name, what, program.schedule().num_ops(), fastest * 1e9 / ops);
}

void measure_all(const std::string& name, const Params& params) {
  const auto schedule =
      std::make_shared<const Schedule>(schedules::make(*schedules::find(name).generator, params));
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20, .delay = 3});
  costs.forward_sending.assign(costs.forward_delay.size(), 2);
  costs.backward_sending = costs.forward_sending;
  measure(name, "lock step, blocking", step_blocking(schedule), costs, {});
  const Program async = async_plan(schedule, {ReceivePlacement::Rule::AtSender, 0});
  measure(name, "async, no queues", async, costs, {});
  measure(name, "async, a queue per pair", async, costs, {.queue = QueueDiscipline::PerPair});
  measure(name, "shared links", async, costs,
          {.queue = QueueDiscipline::PerPair, .shared_links = true, .ranks_per_node = 2});
}

}  // namespace
}  // namespace pipeloom::bench

int main() {
  fmt::print("| schedule | messages | ops | ns/op |\n");
  fmt::print("| --- | --- | --- | --- |\n");
  pipeloom::bench::measure_all("1f1b", {.ranks = 8, .microbatches = 62'500});
  pipeloom::bench::measure_all("interleaved-1f1b", {.ranks = 8, .microbatches = 31'248, .chunks = 2});
}
