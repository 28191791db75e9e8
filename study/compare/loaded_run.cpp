#include "study/compare/loaded_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/base/error.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/json/file.hpp"
#include "study/text/at_place.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

/// As long as the place of an error may be.
constexpr std::size_t kMaxTitle = 200;

}  // namespace

std::vector<std::vector<IdleSpan>> idle_spans_of(const Evaluation& run) {
  if (!run.program_run) return all_idle_spans(run.timeline, run.costs);
  std::vector<std::vector<IdleSpan>> idle;
  for (Rank rank{0}; rank < Rank(run.schedule->ranks()); ++rank)
    idle.push_back(idle_spans(*run.program_run, rank));
  return idle;
}

LoadedRun load_run(InputTexts input, const Limits& limits, TimeUnit unit) {
  LoadedRun out;
  out.title = shortened(input.file.value_or(""), kMaxTitle);
  if (input.file && !input.text) input.text = io::read_file(*input.file, io::kMaxTimelineBytes);
  if (input.text && io::looks_like_timeline(*input.text)) {
    io::TimelineFile file = io::read_timeline(*input.text, input.file.value_or(""), unit);
    out.read = std::move(file.timeline);
    out.read_warnings = std::move(file.warnings);
    return out;
  }
  const RunInput read = read_input(input);
  out.evaluation = at_place(read.name, [&] { return evaluate(read, limits); });
  out.idle = idle_spans_of(*out.evaluation);
  return out;
}

std::list<LoadedRun> load_runs(const std::vector<std::string>& files, const InputTexts& input,
                               const Limits& limits) {
  std::list<LoadedRun> runs;
  for (const std::string& file : files) {
    InputTexts one = input;
    one.file = file;
    const TimeUnit unit = runs.empty() ? TimeUnit::Unit : runs.front().timeline().unit;
    runs.push_back(load_run(std::move(one), limits, unit));
  }
  return runs;
}

std::vector<ComparedRun> compared(const std::list<LoadedRun>& runs) {
  std::vector<ComparedRun> views;
  for (const LoadedRun& run : runs)
    views.push_back({run.title, &run.timeline(), run.metrics(), run.idle.empty() ? nullptr : &run.idle,
                     run.evaluation ? &run.evaluation->memory : nullptr});
  return views;
}

std::vector<std::string> remarks(const ComparedRun& a, const ComparedRun& b, const OpComparison& ops) {
  std::vector<std::string> lines;
  if (!same_clock(*a.timeline, *b.timeline)) {
    lines.push_back(clock_difference(*a.timeline, *b.timeline));
  } else {
    const std::string work = work_difference(*a.timeline, *b.timeline);
    if (!work.empty()) lines.push_back(work);
    if (a.idle != nullptr && b.idle != nullptr)
      lines.push_back(explain_idle(cause_totals(*a.idle), cause_totals(*b.idle), a.timeline->unit));
  }
  if (const std::string why = different_parts(*a.timeline->schedule, *b.timeline->schedule); !why.empty()) {
    lines.push_back("ops are not compared: " + why);
    return lines;
  }
  lines.push_back(fmt::format("{} in both, {} only in {}, {} only in {}", count_text(ops.matched, "op"),
                              count_text(ops.only_a), a.title, count_text(ops.only_b), b.title));
  return lines;
}

}  // namespace pipeloom::study
