#include "study/run/load_run.hpp"

#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/printable.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/json/file.hpp"
#include "sim/messages/program_engine.hpp"
#include "study/text/at_place.hpp"

namespace pipeloom::study {
namespace {

/// As long as the place of an error may be.
constexpr std::size_t kMaxTitle = 200;

Run read_run(std::string_view text, const std::string& file, TimeUnit unit) {
  io::TimelineFile read = io::read_timeline(text, file, unit);
  Run run;
  run.source = RunSource::TimelineFile;
  run.schedule = read.timeline.schedule;
  run.timeline = std::move(read.timeline);
  run.warnings = std::move(read.warnings);
  return run;
}

}  // namespace

std::vector<std::vector<IdleSpan>> idle_spans_of(const Run& run) {
  if (!run.program_run) return all_idle_spans(run.timeline, *run.costs);
  std::vector<std::vector<IdleSpan>> idle;
  for (Rank rank{0}; rank < Rank(run.schedule->ranks()); ++rank)
    idle.push_back(idle_spans(*run.program_run, rank));
  return idle;
}

Run load_run(Request input, const Limits& limits, TimeUnit unit) {
  const std::string file = input.file.value_or("");
  if (input.file && !input.text) input.text = io::read_file(*input.file, io::kMaxTimelineBytes);
  Run run;
  if (input.text && io::looks_like_timeline(*input.text)) {
    run = read_run(*input.text, file, unit);
  } else {
    const Input read = read_input(input);
    run = at_place(read.name, [&] { return evaluate(read, limits); });
    run.idle = idle_spans_of(run);
  }
  run.title = shortened(file, kMaxTitle);
  run.file = file;
  return run;
}

std::list<Run> load_runs(const std::vector<std::string>& files, const Request& input, const Limits& limits) {
  std::list<Run> runs;
  for (const std::string& file : files) {
    Request one = input;
    one.file = file;
    const TimeUnit unit = runs.empty() ? TimeUnit::Unit : runs.front().timeline.unit;
    runs.push_back(load_run(std::move(one), limits, unit));
  }
  return runs;
}

}  // namespace pipeloom::study
