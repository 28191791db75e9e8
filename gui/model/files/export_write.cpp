// The files of an export.

#include <fmt/format.h>

#include <ostream>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/files/export.hpp"
#include "gui/model/files/export_view.hpp"
#include "sim/draw/scene_stack.hpp"
#include "sim/io/pictures/cairo_picture.hpp"
#include "sim/io/pictures/svg.hpp"
#include "study/report/report.hpp"
#include "study/run/make_schedule.hpp"

namespace pipeloom::gui {
namespace {

/// Dots per CSS pixel of a picture for paper: 300 dots per inch.
constexpr double kPaperScale = 300.0 / 96;
constexpr double kUsualScale = 2;

void write_picture(const ExportJob& job, const io::Format& format, std::ostream& out) {
  std::vector<draw::StackedTimeline> stack;
  for (const ExportJob::Run& each : job.stack) stack.push_back({&each.run->timeline, each.scene});
  const draw::Scene scene = draw::build_stacked_scene(stack);
  const ExportSize& size = job.options.size;
  if (format.name == "svg") return io::write_svg(out, scene);
  if (format.name == "pdf") return io::write_pdf(out, scene);
  const bool exact = size.unit == ExportSize::Unit::Pixels && (size.width > 0 || size.height > 0);
  const bool paper = size.unit == ExportSize::Unit::Millimetres;
  io::write_png(out, scene, exact ? 1 : paper ? kPaperScale : kUsualScale);
}

/// Rows of what is visible, as the format `csv` writes them.
void write_visible_csv(const ExportJob& job, std::ostream& out) {
  const RunModel& run = *job.active.run;
  if (!job.active.scene.range) throw nothing_in_view();
  const bool steps = run.timeline.steps > 1;
  out << (steps ? "step,rank,op,start,end\n" : "rank,op,start,end\n");
  for_each_visible(run, job.active.shown, *job.active.scene.range,
                   [&](Rank rank, std::size_t op, std::size_t at) {
                     if (steps) out << at / run.schedule->num_ops() << ',';
                     out << rank.value() << ',' << to_text(run.schedule->ops()[op].with_joined(false)) << ','
                         << format_ticks(run.timeline.start[at], run.timeline.unit) << ','
                         << format_ticks(run.timeline.end[at], run.timeline.unit) << '\n';
                     return true;
                   });
}

void write_other(const ExportJob& job, const io::Format& format, std::ostream& out) {
  const RunModel& run = *job.active.run;
  io::Exported exported;
  const Costs costs = run.costs ? *run.costs : default_costs(run.schedule->placement());
  const MemoryModel memory = run.memory ? *run.memory : default_memory(run.schedule->placement());
  exported.schedule = run.schedule.get();
  exported.timeline = &run.timeline;
  exported.costs = &costs;
  exported.memory = &memory;
  if (run.metrics && run.effective)
    exported.report = [&run](std::ostream& stream) {
      study::write_report(stream, run, {.orders = true, .timeline = true, .critical_path = false});
    };
  if (format.needs_metrics && !exported.report)
    throw InputError(Where{format.name}, "a report takes a simulated run that got to its end");
  format.write(out, exported);
}

/// How many times a table of what is in view has.
double count_visible(const ExportJob& job) {
  double count = 0;
  if (job.active.scene.range)
    for_each_visible(*job.active.run, job.active.shown, *job.active.scene.range,
                     [&count](Rank, std::size_t, std::size_t) {
                       ++count;
                       return true;
                     });
  return count;
}

bool is_table_of_view(const ExportJob& job, const io::Format& format) {
  return format.name == "csv" && job.options.view_only;
}

/// As `convert` refuses it.
void require_readable(const ExportJob& job, const io::Format& format) {
  const RunModel& run = *job.active.run;
  study::RunSize size;
  size.ops = static_cast<double>(run.schedule->num_ops());
  size.steps = run.timeline.steps;
  if (is_table_of_view(job, format)) size = {.ops = count_visible(job)};
  study::check_text(size, format.bytes_per_op, run.title);
}

}  // namespace

const io::Format& export_format(const std::string& path) {
  // `convert` takes this extension for PyTorch's schedules; those are saved, not exported.
  if (path.ends_with(".csv")) return io::find_format("csv");
  const io::Format* format = io::format_by_extension(path);
  if (format == nullptr || !format->write) {
    std::string names;
    for (const io::Format& one : io::all_formats())
      for (const std::string& extension : one.extensions)
        if (one.write) names += (names.empty() ? "" : " ") + extension;
    throw InputError(Where{path}, "the name does not tell the format; end it in one of " + names);
  }
  return *format;
}

void write_export(const ExportJob& job, const std::string& path, io::Overwrite overwrite) {
  const io::Format& format = export_format(path);
  require_readable(job, format);
  io::write_file(path, overwrite, [&](std::ostream& out) {
    if (format.picture)
      write_picture(job, format, out);
    else if (is_table_of_view(job, format))
      write_visible_csv(job, out);
    else
      write_other(job, format, out);
  });
}

std::string visible_rows(Session& session, std::size_t most) {
  const RunModel& run = run_to_export(session);
  const auto span = visible_span(session.view, run.span());
  const TimeUnit unit = run.timeline.unit;
  std::string out = fmt::format("rank\top\tstart ({0})\tend ({0})\tduration ({0})\n", name_of(unit));
  if (!span) return out;
  std::size_t rows = 0;
  for_each_visible(
      run, visible_ranks(session, run).shown, *span, [&](Rank rank, std::size_t op, std::size_t at) {
        const Ticks start = run.timeline.start[at];
        const Ticks end = run.timeline.end[at];
        out += fmt::format("{}\t{}\t{}\t{}\t{}\n", rank.value(),
                           to_text(run.schedule->ops()[op].with_joined(false)), format_ticks(start, unit),
                           format_ticks(end, unit), format_ticks(end - start, unit));
        return ++rows < most;
      });
  return out;
}

}  // namespace pipeloom::gui
