#include "cli/run/run_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "cli/numbers.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "study/compare/compare.hpp"

namespace pipeloom::cli {
namespace {

using cost::DurationSample;

void write_sample_members(io::JsonWriter& out, const DurationSample& one) {
  out.member("count", one.count).key("median").raw(ms(one.median)).key("spread").raw(ms(one.spread));
}

void write_op_times(io::JsonWriter& out, const cost::MeasuredOps& costs) {
  out.array();
  const auto add = [&out](std::string_view kind, const std::vector<DurationSample>& samples) {
    for (std::size_t stage = 0; stage < samples.size(); ++stage) {
      if (samples[stage].count == 0) continue;
      out.line(4).object().member("stage", stage).member("kind", kind);
      write_sample_members(out, samples[stage]);
      out.close();
    }
  };
  for (const OpKind kind : kAllOpKinds) add(std::string(1, letter_of(kind)), costs.op[index_of(kind)]);
  add("group", costs.group);
  out.close(2);
}

void write_messages(io::JsonWriter& out, const cost::MeasuredTransfers& transfers) {
  const auto add = [&out](const char* name, const DurationSample& one) {
    write_sample_members(out.key(name).object(), one);
    out.close();
  };
  out.array();
  for (const cost::MeasuredTransfers::Pair& pair : transfers.pairs) {
    out.line(4).object().member("from", pair.from.value()).member("to", pair.to.value());
    add("waiting", pair.samples.waiting);
    add("overhead", pair.samples.overhead);
    add("transfer", pair.samples.transfer);
    out.close();
  }
  out.close(2);
}

void write_peaks(io::JsonWriter& out, const pipeloom::Run& run, const std::vector<std::size_t>& measured,
                 const std::optional<MemoryModel>& memory) {
  std::vector<RankMemory> simulated;
  if (memory) simulated = measure_memory(run.timeline, *memory);
  const bool counted =
      std::any_of(measured.begin(), measured.end(), [](std::size_t bytes) { return bytes > 0; });
  out.array();
  for (std::size_t rank = 0; counted && rank < measured.size(); ++rank) {
    out.line(4).object().member("rank", rank).member("measured", measured[rank]).key("simulated");
    memory ? out.number(simulated[rank].peak_activation_bytes) : out.null();
    out.close();
  }
  out.close(2);
}

}  // namespace

std::string run_json(const pipeloom::Run& run, const executor::RunResult& result,
                     const study::calibrate::Measurements& costs, const std::optional<MemoryModel>& memory,
                     const std::string& comparison, bool stopped) {
  const std::vector<Ticks> steps = study::step_makespans(result.timeline);
  std::vector<Ticks> sorted = steps;
  std::sort(sorted.begin(), sorted.end());
  const auto write = [&](io::JsonWriter& out) {
    out.object().line(2).member("schema_version", 1).line(2).member("schedule", run.effective->schedule);
    out.member("ranks", run.effective->ranks).member("microbatches", run.effective->microbatches);
    out.member("chunks", *run.effective->chunks).line(2).member("time_unit", "ms");
    out.line(2).member("interrupted", stopped).line(2).key("simulated").object();
    out.key("makespan").raw(ms(span_of(run.timeline).length())).close();
    out.line(2).key("measured").object().key("makespan").raw(ms(sorted[(sorted.size() - 1) / 2]));
    out.key("steps").array();
    for (const Ticks step : steps) out.raw(ms(step));
    out.close().close();
    write_op_times(out.line(2).key("op_times"), costs);
    write_messages(out.line(2).key("messages"), costs.transfers);
    write_peaks(out.line(2).key("peak_activation_bytes"), run, result.peak_bytes, memory);
    if (!comparison.empty()) out.line(2).key("comparison").raw(comparison);
    out.close(0);
  };
  return io::written_json(io::kReportStyle, write) + "\n";
}

}  // namespace pipeloom::cli
