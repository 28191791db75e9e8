#include "gui/model/files/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/files/export_colours.hpp"
#include "gui/model/files/may_replace.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/draw/scene_stack.hpp"
#include "sim/io/pictures/pictures.hpp"
#include "sim/kinds.hpp"
#include "study/compare/compare.hpp"
#include "study/report/report.hpp"
#include "study/run/make_schedule.hpp"

namespace pipeloom::gui {
namespace {

/// The whole ticks that the view shows of a run; no value if it shows nothing of it.
std::optional<Span> visible_span(const ViewState& view, Span all) {
  const double first = std::max(view.range.start, static_cast<double>(all.start));
  const double last = std::min(view.range.end, static_cast<double>(all.end));
  const Span span{static_cast<Ticks>(std::floor(first)), static_cast<Ticks>(std::ceil(last))};
  return span.start < span.end ? std::optional(span) : std::nullopt;
}

/// The ranks of a run whose rows are on screen, none where they are scrolled away; where no chart was drawn, those that the filter leaves.
std::vector<bool> visible_ranks(Session& session, const RunModel& run) {
  std::vector<bool> shown(static_cast<std::size_t>(run.ranks()), false);
  const ChartLayout& layout = session.part<ChartPart>().layout;
  const ChartBlock* block = layout.block_of(run.id);
  for (int rank = 0; rank < run.ranks(); ++rank) {
    const ChartRow* row = block == nullptr ? nullptr : layout.row_of(run.id, Rank(rank));
    shown[static_cast<std::size_t>(rank)] =
        block == nullptr ? !session.view.hidden.contains(rank) : row != nullptr && layout.is_visible(*row);
  }
  return shown;
}

InputError nothing_in_view() {
  return {Where{"export"}, "nothing of the run is in view; press Home, or export all"};
}

/// The active run. Throws InputError if there is none.
const RunModel& run_to_export(const Session& session) {
  const RunModel* run = session.active_run();
  if (run == nullptr) throw InputError(Where{"export"}, "nothing is open; there is nothing to export");
  return *run;
}

/// Calls fn(rank, op index, position) for the ops of these ranks that reach into `span`, by step, rank and queue, until it says false.
template <class Fn>
void for_each_visible(const RunModel& run, const std::vector<bool>& shown, Span span, Fn&& fn) {
  const Schedule& schedule = *run.schedule;
  for (int step = 0; step < run.timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
      if (!shown[rank.at()]) continue;
      for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
        const std::size_t at = run.timeline.index(step, i);
        if (run.timeline.start[at] < span.end && run.timeline.end[at] > span.start)
          if (!fn(rank, i, at)) return;
      }
    }
}

/// The colouring of pictures; other colours are given as own colours (export_colours).
draw::ColourBy colour_by(GanttColour colour) {
  if (colour == GanttColour::Stage) return draw::ColourBy::Stage;
  if (colour == GanttColour::Microbatch) return draw::ColourBy::Microbatch;
  return draw::ColourBy::Kind;
}

draw::Theme theme_of(const Session& session, const ExportOptions& options) {
  return options.dark.value_or(session.preferences.dark) ? draw::Theme::Dark : draw::Theme::Light;
}

/// The look of a picture of a run, other than its range and own colours.
draw::SceneOptions scene_of(const Session& session, const RunModel& run, const ExportOptions& options) {
  const Preferences& preferences = session.preferences;
  const ViewState& view = session.view;
  draw::SceneOptions scene;
  scene.width = options.size.width_pixels();
  scene.height = options.size.height_pixels();
  scene.colour_by = colour_by(view.colour);
  scene.theme = theme_of(session, options);
  scene.palette = draw::palette_named(preferences.palette).value_or(draw::Palette::Default);
  scene.patterns = preferences.hatching;
  scene.show_memory = view.show_memory && run.memory != nullptr;
  scene.show_idle_causes = view.show_idle && run.costs != nullptr && !run.idle.empty();
  scene.show_critical_path = view.show_critical && run.costs != nullptr && !run.critical().empty();
  scene.costs = run.costs.get();
  scene.memory = run.memory.get();
  scene.idle = scene.show_idle_causes ? &run.idle : nullptr;
  scene.critical = scene.show_critical_path ? &run.critical() : nullptr;
  scene.title = run.title;
  if (options.view_only) scene.folded = view.collapsed;
  return scene;
}

/// A run in a time range; only its ranks on screen, or all of them.
ExportJob::Run export_run(Session& session, const RunPtr& run, const ExportOptions& options,
                          std::optional<Span> range) {
  ExportJob::Run out{
      run, scene_of(session, *run, options), export_colours(session, run, theme_of(session, options)), {}};
  out.scene.own = out.colours.get();
  out.scene.range = range;
  out.shown.assign(static_cast<std::size_t>(run->ranks()), true);
  if (options.view_only) out.shown = visible_ranks(session, *run);
  const RankOrder& order = session.view.order;
  const bool all = std::find(out.shown.begin(), out.shown.end(), false) == out.shown.end();
  if (all && order.by_number()) return out;
  order.for_each(run->ranks(), [&](int rank) {
    if (out.shown[static_cast<std::size_t>(rank)]) out.scene.ranks.push_back(rank);
  });
  return out;
}

/// From the first start to the last end of the runs in a picture.
Span span_of(const Session& session, const ExportOptions& options) {
  Span all = session.active_run()->span();
  if (options.active_only) return all;
  for (const OpenRun& open : session.runs) {
    all.start = std::min(all.start, open.run->span().start);
    all.end = std::max(all.end, open.run->span().end);
  }
  return all;
}

/// The marks that are in a picture's range.
std::vector<Mark> drawn_marks(const Session& session, const ExportOptions& options, Span range) {
  std::vector<Mark> out;
  if (!options.with_marks) return out;
  for (const Mark& mark : session.marks)
    if (mark.time >= range.start && mark.time <= range.end) out.push_back(mark);
  return out;
}

/// The time cursor, where it is in a picture's range.
std::optional<Ticks> drawn_cursor(Session& session, const ExportOptions& options, Span range) {
  const std::optional<double>& cursor = session.part<ChartPart>().cursor;
  if (!options.with_marks || !cursor || std::isnan(*cursor)) return std::nullopt;
  if (*cursor < static_cast<double>(range.start) || *cursor > static_cast<double>(range.end))
    return std::nullopt;
  return static_cast<Ticks>(std::llround(*cursor));
}

/// The lines below a picture: its caption, then the notes of its marks and its cursor.
std::string caption_of(Session& session, const ExportOptions& options, Span range) {
  const TimeUnit unit = session.active_run()->timeline.unit;
  std::string out = options.caption;
  const auto add = [&](std::string_view name, Ticks time, const std::string& note) {
    out += fmt::format("{}{} at {}{}{}", out.empty() ? "" : "\n", name, duration_text(time, unit),
                       note.empty() ? "" : ": ", note);
  };
  for (const Mark& mark : drawn_marks(session, options, range)) add("Mark", mark.time, mark.note);
  if (const auto cursor = drawn_cursor(session, options, range)) add("Cursor", *cursor, "");
  return out;
}

/// The results at the end of a run's heading in the window, a text for each number.
std::vector<std::string> results_of(const RunModel& run, const OpenRun* baseline) {
  std::vector<std::string> out;
  for (const BadgePart& part : badge_parts(run, baseline == nullptr ? nullptr : baseline->run.get())) {
    const auto group = static_cast<std::size_t>(part.group);
    if (out.size() <= group) out.resize(group + 1);
    out[group] += part.text;
  }
  constexpr std::string_view kDot = " \u00b7 ";
  for (std::string& text : out)
    if (text.starts_with(kDot)) text.erase(0, kDot.size());
  std::erase(out, "");
  return out;
}

/// The runs of a picture: all on one time scale, as in the window.
std::vector<ExportJob::Run> export_stack(Session& session, const ExportOptions& options) {
  const Span all = span_of(session, options);
  const std::optional<Span> range = options.view_only ? visible_span(session.view, all) : all;
  std::vector<ExportJob::Run> stack;
  for (std::size_t i = 0; i < session.runs.size() && range; ++i) {
    if (options.active_only && i != session.active) continue;
    ExportJob::Run run = export_run(session, session.runs[i].run, options, range);
    run.scene.title = session.runs[i].title();
    run.scene.results = results_of(*run.run, options.active_only ? nullptr : session.baseline_run());
    if (study::same_clock(session.active_run()->timeline, run.run->timeline)) {
      for (const Mark& mark : drawn_marks(session, options, *range)) run.scene.marks.push_back(mark.time);
      run.scene.cursor = drawn_cursor(session, options, *range);
    }
    const bool any = std::find(run.shown.begin(), run.shown.end(), true) != run.shown.end();
    if (any) stack.push_back(std::move(run));
  }
  if (stack.empty()) throw nothing_in_view();
  for (ExportJob::Run& run : stack)
    if (!study::same_clock(stack.front().run->timeline, run.run->timeline))
      run.scene.title += ": " + study::clock_difference(stack.front().run->timeline, run.run->timeline);
  stack.back().scene.caption = caption_of(session, options, *range);
  return stack;
}

}  // namespace

ExportJob export_job(Session& session, const ExportOptions& options) {
  const RunModel& run = run_to_export(session);
  ExportJob job;
  job.options = options;
  const std::optional<Span> range =
      options.view_only ? visible_span(session.view, run.span()) : std::optional(run.span());
  job.active = export_run(session, session.runs[session.active].run, options, range);
  job.stack = export_stack(session, options);
  job.without_slack = session.view.colour == GanttColour::Slack &&
                      std::any_of(job.stack.begin(), job.stack.end(), [](const auto& each) {
                        return !each.colours || each.colours->legend.empty();
                      });
  return job;
}

std::string what_is_written(const Session& session, const ExportJob& job, const std::string& path) {
  const std::size_t open = session.runs.size();
  if (!export_format(path).picture || job.options.active_only)
    return open > 1 ? fmt::format("{}, the active one of {} runs", job.active.run->title, open) : "";
  std::string out = job.stack.size() > 1 ? fmt::format("{} runs", job.stack.size()) : "";
  if (job.without_slack)
    out += fmt::format("{}coloured by kind where slack is not known", out.empty() ? "" : ", ");
  return out;
}

std::string picture_content(Session& session, const ExportOptions& options) {
  const RunModel& run = run_to_export(session);
  const Span all = span_of(session, options);
  const std::optional<Span> range = options.view_only ? visible_span(session.view, all) : all;
  if (!range) return "Nothing of the run is in view";
  const std::size_t runs = options.active_only ? 1 : session.runs.size();
  const std::size_t marks = drawn_marks(session, options, *range).size();
  std::string out = fmt::format("{}, {} to {}, {}", runs == 1 ? "1 run" : fmt::format("{} runs", runs),
                                duration_text(range->start, run.timeline.unit),
                                duration_text(range->end, run.timeline.unit),
                                options.dark.value_or(session.preferences.dark) ? "dark" : "light");
  if (marks > 0) out += marks == 1 ? ", 1 mark" : fmt::format(", {} marks", marks);
  if (drawn_cursor(session, options, *range)) out += ", cursor";
  return out;
}

namespace {

namespace fs = std::filesystem;

/// "1f1b-p-4-m-8": a title as the name of a file.
std::string file_name_of(std::string_view title) {
  std::string out;
  for (const char c : title) {
    const bool plain = (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '.' || c == '_';
    if (plain)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "picture" : out;
}

}  // namespace

void ExportPart::show(Session& session) {
  dialog_open = true;
  if (!path.empty()) return;
  const RunModel& run = run_to_export(session);
  const fs::path folder = run.file.empty() || run.file == "-" ? fs::path() : fs::path(run.file).parent_path();
  const std::string stem = file_name_of(run.title);
  for (int number = 1; path.empty() || is_there(path); ++number)
    path = (folder / (number == 1 ? stem + ".svg" : fmt::format("{}-{}.svg", stem, number))).string();
}

void ExportPart::move_to(const std::string& folder) {
  path = (fs::path(folder) / fs::path(path).filename()).string();
}

void ExportPart::take_extension(std::string_view extension) {
  fs::path changed(path);
  // ".trace.json" is one extension.
  if (path.ends_with(".trace.json")) changed.replace_extension();
  changed.replace_extension(std::string(extension));
  path = changed.string();
}

void ExportPart::start(Session& session, const std::string& to, const ExportOptions& with,
                       io::Overwrite overwrite) {
  (void)export_format(to);
  auto job = std::make_shared<const ExportJob>(export_job(session, with));
  const std::string what = what_is_written(session, *job, to);
  session.jobs.submit("export", [this, &session, job, to, overwrite, what](const Cancelled&) -> Jobs::Finish {
    std::string problem;
    try {
      write_export(*job, to, overwrite);
    } catch (const Error& error) {
      problem = error.line();
    }
    return [this, &session, to, problem, what] {
      if (!problem.empty()) return session.say(problem, MessageKind::Problem);
      ++written_;
      last_ = to;
      own_.insert(to);
      const std::string name = std::filesystem::path(to).filename().string();
      session.say(fmt::format("wrote {} in {}{}{}", name, folder_of(to), what.empty() ? "" : ": ", what));
    };
  });
}

void ExportPart::write_state(const Session&, io::JsonWriter& out) const {
  out.object().member("dialog", dialog_open).member("written", written_).member("last", last_).close();
}

// The files of an export.

namespace {

/// Dots per CSS pixel of a picture for paper: 300 dots per inch.
constexpr double kPaperScale = 300.0 / 96;
constexpr double kUsualScale = 2;

void write_picture(const ExportJob& job, const io::Format& format, std::ostream& out) {
  const draw::Scene scene = export_scene(job);
  const ExportSize& size = job.options.size;
  if (format.name == "svg") return io::write_svg(out, scene);
  if (format.name == "pdf") return io::write_pdf(out, scene);
  const bool exact = size.unit == ExportSize::Unit::Pixels && (size.width > 0 || size.height > 0);
  const bool paper = size.unit == ExportSize::Unit::Millimetres;
  io::write_png(out, scene, exact ? 1 : paper ? kPaperScale : kUsualScale);
}

/// Writes the visible rows, as the format `csv` has them.
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

/// The number of times in a table of the visible part.
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

/// Throws the errors with which `convert` refuses the run.
void require_readable(const ExportJob& job, const io::Format& format) {
  const RunModel& run = *job.active.run;
  study::RunSize size;
  size.ops = static_cast<double>(run.schedule->num_ops());
  size.steps = run.timeline.steps;
  if (is_table_of_view(job, format)) size = {.ops = count_visible(job)};
  study::check_text(size, format.bytes_per_op, run.title);
}

}  // namespace

draw::Scene export_scene(const ExportJob& job) {
  std::vector<draw::StackedTimeline> stack;
  for (const ExportJob::Run& each : job.stack) stack.push_back({&each.run->timeline, each.scene});
  return draw::build_stacked_scene(stack);
}

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
  for_each_visible(run, visible_ranks(session, run), *span, [&](Rank rank, std::size_t op, std::size_t at) {
    const Ticks start = run.timeline.start[at];
    const Ticks end = run.timeline.end[at];
    out +=
        fmt::format("{}\t{}\t{}\t{}\t{}\n", rank.value(), to_text(run.schedule->ops()[op].with_joined(false)),
                    format_ticks(start, unit), format_ticks(end, unit), format_ticks(end - start, unit));
    return ++rows < most;
  });
  return out;
}

}  // namespace pipeloom::gui
