#include "cli/run/run_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/numbers.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/compare/compare.hpp"

namespace pipeloom::cli {
namespace {

using executor::DurationSample;

std::string list(const std::vector<std::string>& items) {
  return items.empty() ? "[]" : fmt::format("[\n    {}\n  ]", fmt::join(items, ",\n    "));
}

std::string sample(const DurationSample& one) {
  return fmt::format(R"("count": {}, "median": {}, "spread": {})", one.count, ms(one.median), ms(one.spread));
}

std::string op_times(const executor::MeasuredCosts& costs) {
  std::vector<std::string> items;
  const auto add = [&items](std::string_view kind, const std::vector<DurationSample>& samples) {
    for (std::size_t stage = 0; stage < samples.size(); ++stage)
      if (samples[stage].count > 0)
        items.push_back(
            fmt::format(R"({{"stage": {}, "kind": "{}", {}}})", stage, kind, sample(samples[stage])));
  };
  for (const OpKind kind : kAllOpKinds) add(std::string(1, letter_of(kind)), costs.op[index_of(kind)]);
  add("group", costs.group);
  return list(items);
}

std::string messages(const executor::MeasuredTransfers& transfers) {
  std::vector<std::string> items;
  for (const auto& [from, to, samples] : transfers.pairs)
    items.push_back(
        fmt::format(R"({{"from": {}, "to": {}, "waiting": {{{}}}, "overhead": {{{}}}, "transfer": {{{}}}}})",
                    from.value(), to.value(), sample(samples.waiting), sample(samples.overhead),
                    sample(samples.transfer)));
  return list(items);
}

std::string peaks(const study::Run& run, const std::vector<std::size_t>& measured,
                  const std::optional<MemoryModel>& memory) {
  std::vector<std::string> items;
  std::vector<RankMemory> simulated;
  if (memory) simulated = measure_memory(run.timeline, *memory);
  const bool counted =
      std::any_of(measured.begin(), measured.end(), [](std::size_t bytes) { return bytes > 0; });
  for (std::size_t rank = 0; counted && rank < measured.size(); ++rank)
    items.push_back(
        fmt::format(R"({{"rank": {}, "measured": {}, "simulated": {}}})", rank, measured[rank],
                    memory ? std::to_string(simulated[rank].peak_activation_bytes) : std::string("null")));
  return list(items);
}

}  // namespace

std::string run_json(const study::Run& run, const executor::RunResult& result,
                     const executor::MeasuredCosts& costs, const std::optional<MemoryModel>& memory,
                     const std::string& comparison, bool stopped) {
  std::vector<Ticks> steps = study::step_makespans(result.timeline);
  std::vector<std::string> texts;
  for (const Ticks step : steps) texts.push_back(ms(step));
  std::sort(steps.begin(), steps.end());
  std::string schedule;
  io::append_json_string(schedule, run.effective->schedule);
  return fmt::format(
             "{{\n  \"schema_version\": 1,\n  \"schedule\": {}, \"ranks\": {}, \"microbatches\": {}, "
             "\"chunks\": {},\n  \"time_unit\": \"ms\",\n  \"interrupted\": {},\n"
             "  \"simulated\": {{\"makespan\": {}}},\n  \"measured\": {{\"makespan\": {}, \"steps\": "
             "[{}]}},\n",
             schedule, run.effective->ranks, run.effective->microbatches, *run.effective->chunks, stopped,
             ms(span_of(run.timeline).length()), ms(steps[(steps.size() - 1) / 2]), fmt::join(texts, ", ")) +
         fmt::format("  \"op_times\": {},\n  \"messages\": {},\n  \"peak_activation_bytes\": {}{}\n}}\n",
                     op_times(costs), messages(costs.transfers), peaks(run, result.peak_bytes, memory),
                     comparison.empty() ? "" : ",\n  \"comparison\": " + comparison);
}

}  // namespace pipeloom::cli
