// How fast message plans are made, in nanoseconds per op of thread CPU time: schedules of about 1e6 ops on 8 ranks, from
// the schedule to the finished program, the table of messages included; and the table alone. The fastest of eleven.
// Prints a Markdown table.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/schedules_for_bench.hpp"
#include "schedules/generator.hpp"
#include "sim/messages/message_plans.hpp"

namespace pipeloom::bench {
namespace {

using schedules::MessageStyle;
using Queues = std::shared_ptr<const Schedule>;

void measure(const std::string& name, const std::string& plan, const Queues& schedule,
             const std::function<void(const Queues&)>& make) {
  double fastest = 1e9;
  for (int repeat = 0; repeat < 11; ++repeat) {
    const double before = thread_cpu_seconds();
    make(schedule);
    fastest = std::min(fastest, thread_cpu_seconds() - before);
  }
  const auto ops = static_cast<double>(schedule->num_ops());
  fmt::print("| {} | {} | {} | {:.1f} |\n", name, plan, schedule->num_ops(), fastest * 1e9 / ops);
}

void measure_all(const std::string& name, const Params& params) {
  const schedules::Generator& generator = *schedules::find(name).generator;
  const Queues schedule = std::make_shared<const Schedule>(schedules::make(generator, params));
  using Rule = ReceivePlacement::Rule;
  measure(name, "(messages)", schedule, [](const Queues& queues) { (void)MessageTable(*queues); });
  measure(name, "entry", schedule, [](const Queues& queues) { (void)entry_blocking(queues); });
  for (const MessageStyle style : {MessageStyle::Blocking, MessageStyle::Overlap, MessageStyle::OverlapFlush})
    if (generator.messages(params, schedule, style))
      measure(name, fmt::format("framework {}", static_cast<int>(style)), schedule,
              [&](const Queues& queues) { (void)generator.messages(params, queues, style); });
  measure(name, "ahead", schedule, [](const Queues& queues) { (void)async_plan(queues, {Rule::Ahead, 2}); });
  measure(name, "at-sender", schedule,
          [](const Queues& queues) { (void)async_plan(queues, {Rule::AtSender}); });
  measure(name, "before-use", schedule,
          [](const Queues& queues) { (void)async_plan(queues, {Rule::BeforeUse}); });
}

}  // namespace
}  // namespace pipeloom::bench

int main() {
  fmt::print("| schedule | plan | ops | ns/op |\n");
  fmt::print("| --- | --- | --- | --- |\n");
  using pipeloom::bench::measure_all;
  measure_all("1f1b", {.ranks = 8, .microbatches = 62'500});
  measure_all("interleaved-1f1b", {.ranks = 8, .microbatches = 31'248, .chunks = 2});
  measure_all("interleaved-1f1b-overlap", {.ranks = 8, .microbatches = 31'248, .chunks = 2});
  measure_all("dualpipe", {.ranks = 8, .microbatches = 62'500});
  measure_all("dualpipe-v", {.ranks = 8, .microbatches = 31'250, .chunks = 2});
}
