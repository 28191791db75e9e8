#include "cli/pages/run_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "cli/console.hpp"
#include "cli/numbers.hpp"
#include "cli/pages/compare_json.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "study/compare/compare.hpp"
#include "study/pages/run_page.hpp"
#include "study/run/input.hpp"

namespace pipeloom::cli {
namespace {

/// Makespans of all steps in order of their lengths, with the number of each.
std::vector<std::pair<Ticks, int>> sorted_steps(const Timeline& timeline) {
  std::vector<std::pair<Ticks, int>> steps;
  for (const Ticks makespan : study::step_makespans(timeline))
    steps.emplace_back(makespan, static_cast<int>(steps.size()));
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// Returns that step alone.
Timeline one_step(const Timeline& timeline, int step) {
  Timeline out;
  out.schedule = timeline.schedule;
  out.unit = timeline.unit;
  const Ticks origin = span_of(timeline, step).start;
  for (std::size_t i = 0; i < timeline.schedule->num_ops(); ++i) {
    out.start.push_back(timeline.start_of(i, step) - origin);
    out.end.push_back(timeline.end_of(i, step) - origin);
  }
  return out;
}

/// The text without characters that JSON would have to escape: readers of rows do not take these.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\'';
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string makespans_page(const pipeloom::Run& run, const Timeline& measured) {
  const auto steps = sorted_steps(measured);
  const auto ms = [](Ticks time) { return to_double(time, TimeUnit::Millisecond); };
  const double simulated = ms(span_of(run.timeline).length());
  const double median = ms(steps[(steps.size() - 1) / 2].first);
  return fmt::format(
      "makespan   {:.3f} ms simulated, {:.3f} ms measured ({}): median of {}, {:.3f} to {:.3f}\n", simulated,
      median, change_text(median / simulated - 1), count_text(steps.size(), "step"), ms(steps.front().first),
      ms(steps.back().first));
}

std::string clocks_page(const std::vector<executor::ClockOffset>& clocks) {
  Ticks worst = 0;
  for (const executor::ClockOffset& clock : clocks) worst = std::max(worst, clock.error);
  if (worst == 0) return "";
  return fmt::format("clocks     of {} processes, laid over rank 0's to within {:.3f} ms\n", clocks.size(),
                     to_double(worst, TimeUnit::Millisecond));
}

namespace {

/// The simulated step and the measured one of median length, as `pipeloom compare` sees them.
class Compared {
 public:
  Compared(pipeloom::Run run, const Timeline& measured) : simulated_(std::move(run)) {
    const auto steps = sorted_steps(measured);
    simulated_.title = "simulated";
    simulated_.idle = study::idle_spans_of(simulated_);
    measured_.title = "measured";
    measured_.timeline = one_step(measured, steps[(steps.size() - 1) / 2].second);
    measured_.idle = all_idle_spans(measured_.timeline, *simulated_.costs);
  }
  Compared(const Compared&) = delete;
  Compared& operator=(const Compared&) = delete;

  [[nodiscard]] std::span<const pipeloom::Run* const> runs() const { return runs_; }

 private:
  pipeloom::Run simulated_;
  pipeloom::Run measured_;
  std::array<const pipeloom::Run*, 2> runs_ = {&simulated_, &measured_};
};

}  // namespace

std::string comparison_page(const pipeloom::Run& run, const Timeline& measured, const Screen& screen) {
  constexpr std::size_t kOpsAndCauses = 5;
  const Compared compared(run, measured);
  return page_text(study::page::compare_answer(compared.runs(), kOpsAndCauses), screen);
}

std::string comparison_json(const pipeloom::Run& run, const Timeline& measured) {
  const Compared compared(run, measured);
  std::string text = runs_json(compared.runs(), study::compare_all_metrics(compared.runs()), {});
  text.pop_back();  // its last line end
  return text;
}

std::string steps_page(const Timeline& measured) {
  constexpr std::size_t kPerLine = 8;
  std::string text = "steps in ms";
  std::size_t n = 0;
  for (const Ticks makespan : study::step_makespans(measured))
    text += fmt::format("{}{:>10.3f}", n++ % kPerLine == 0 ? "\n" : "  ",
                        to_double(makespan, TimeUnit::Millisecond));
  return text + "\n";
}

std::string peaks_page(const pipeloom::Run& run, const std::vector<std::size_t>& measured,
                       const std::optional<MemoryModel>& memory, bool colour) {
  if (std::all_of(measured.begin(), measured.end(), [](std::size_t bytes) { return bytes == 0; })) return "";
  std::vector<Column> columns = {{"rank", Align::Right}, {"measured", Align::Right}};
  std::vector<RankMemory> simulated;
  if (memory) {
    simulated = measure_memory(run.timeline, *memory);
    columns.push_back({"simulated", Align::Right});
  }
  Table table(std::move(columns));
  for (std::size_t r = 0; r < measured.size(); ++r) {
    std::vector<std::string> row = {std::to_string(r), std::to_string(measured[r])};
    if (memory) row.push_back(std::to_string(simulated[r].peak_activation_bytes));
    table.add_row(std::move(row));
  }
  return "peak of activations in bytes\n" + table.text(colour);
}

std::optional<executor::RunResult> finished_steps(const Timeline& partial, int warmup_steps) {
  const std::size_t ops = partial.schedule->num_ops();
  const auto has_ended = [&](int step) {
    for (std::size_t i = 0; i < ops; ++i)
      if (partial.end_of(i, step) < 0) return false;
    return true;
  };
  int last = warmup_steps;
  while (last < partial.steps && has_ended(last)) ++last;
  if (last == warmup_steps) return std::nullopt;
  executor::RunResult out;
  out.timeline.schedule = partial.schedule;
  out.timeline.unit = partial.unit;
  out.timeline.steps = last - warmup_steps;
  const Ticks origin = span_of(partial, warmup_steps).start;
  for (int step = warmup_steps; step < last; ++step)
    for (std::size_t i = 0; i < ops; ++i) {
      out.timeline.start.push_back(partial.start_of(i, step) - origin);
      out.timeline.end.push_back(partial.end_of(i, step) - origin);
    }
  return out;
}

void keep_partial(const executor::RunFailed& failure, const std::string& path) {
  const Timeline& timeline = failure.partial();
  const Schedule& schedule = *timeline.schedule;
  io::write_file(path + ".partial", io::Overwrite::Yes, [&](std::ostream& out) {
    out << fmt::format("{{\"time_unit\":\"ms\",\"partial\":\"{}\"}}\n", plain(failure.what()));
    for (int step = 0; step < timeline.steps; ++step)
      for (std::size_t i = 0; i < schedule.num_ops(); ++i)
        if (timeline.end_of(i, step) >= 0)
          out << fmt::format("{{\"step\":{},\"rank\":{},\"op\":\"{}\",\"start\":{},\"end\":{}}}\n", step,
                             schedule.rank_of_op(i).value(), to_text(schedule.ops()[i]),
                             format_ticks(timeline.start_of(i, step), timeline.unit),
                             format_ticks(timeline.end_of(i, step), timeline.unit));
  });
  say(path + ".partial has the ops that ended\n");
}

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
