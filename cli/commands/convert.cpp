// pipeloom convert IN OUT: any format that can be read into any that can be written.

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <set>

#include <pipeloom/metrics.hpp>
#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/lower_options.hpp"
#include "cli/pages/picture_options.hpp"
#include "cli/pages/torch_verdict.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/draw/scene_stack.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/torch/pairing.hpp"
#include "study/compare/compare.hpp"
#include "study/plots/gantt_svg.hpp"
#include "study/report/report.hpp"
#include "study/report/run_tables.hpp"

namespace pipeloom::cli::commands {
namespace {

struct ConvertOptions {
  InputOptions input;
  OutputOptions output;
  PictureOptions picture;
  LowerChoices lower;
  std::vector<std::string> files;  ///< the input, and where to
  std::string file;
  std::vector<std::string> runs;  ///< inputs that are several runs, of one picture
  std::string to;
  bool force = false;
  bool full_trace = false;
};

constexpr std::string_view kTimesOnly =
    "causes of idle time and the critical path take a simulated run, and this file holds times only; leave "
    "--idle-causes and --critical-path out";

std::string list_of_formats() {
  Table table({{"Format", Align::Left}, {"", Align::Left}, {"", Align::Left}, {"", Align::Left}});
  for (const io::Format& format : io::all_formats()) {
    const bool readable = format.read || format.read_timeline || io::is_trace_format(format.name);
    const char* use = readable && format.write ? "in, out" : readable ? "in" : "out";
    table.add_row(
        {"  " + format.name, use, fmt::format("{}", fmt::join(format.extensions, " ")), format.summary});
  }
  const auto is_written = [](const io::TraceFormatName& trace) {
    const auto& formats = io::all_formats();
    return std::any_of(formats.begin(), formats.end(),
                       [&trace](const io::Format& format) { return format.name == trace.name; });
  };
  for (const io::TraceFormatName& format : io::trace_format_list())
    if (!is_written(format)) table.add_row({"  " + format.name, "in", "", format.summary});
  return "\nFormats:\n" + table.text().substr(std::string_view("Format\n").size());
}

const io::Format& target_format(const ConvertOptions& options) {
  const io::Format* format = options.to.empty() ? io::format_by_extension(options.file)
                                                : &io::find_format(options.to, Where{"--to"});
  if (format == nullptr)
    throw InputError(Where{options.file == "-" ? "standard output" : options.file},
                     "the name does not tell the format; give --to FORMAT (see `pipeloom convert --help`)");
  if (!format->write)
    throw InputError(
        Where{"--to"},
        fmt::format("the format {} can only be read; `pipeloom convert --help` lists those that are written",
                    format->name));
  if (format->binary && options.file == "-" && stdout_is_terminal())
    throw InputError(
        Where{"standard output"},
        fmt::format("{} is not for a terminal; redirect standard output or name a file", format->name));
  if (!format->picture && options.picture.given())
    throw InputError(
        fmt::format("options of pictures are given, but {} is no picture; leave them out", format->name));
  if (!format->lowers && options.lower.given())
    throw InputError(
        fmt::format("options of lowering are given, but {} is not lowered; leave them out", format->name));
  return *format;
}

void write(const ConvertOptions& options, const io::Format& format, const io::Exported& exported) {
  io::write_file(options.file, overwrite_if(options.force),
                 [&](std::ostream& out) { format.write(out, exported); });
}

void convert_run(const ConvertOptions& options, const io::Format& format, const Input& input) {
  pipeloom::Limits limits = options.input.limits();
  limits.with_metrics = format.needs_metrics;
  limits.text_per_time = format.bytes_per_op;
  if (format.picture) limits.bytes_per_time = tracks::kIndexBytesPerEntry;
  const pipeloom::Run run = evaluate(input, limits);
  options.output.warn(run.warnings);
  if (run.over_limit) options.output.warn({study::over_limit_text(*run.over_limit, *run.memory)});
  draw::SceneOptions picture = options.picture.scene_options(run.timeline);
  std::vector<std::vector<IdleSpan>> idle;
  std::vector<std::size_t> critical;
  if (run.program_run && (picture.show_idle_causes || picture.show_critical_path)) {
    for (Rank rank{0}; rank < Rank(run.schedule->ranks()); ++rank)
      idle.push_back(idle_spans(*run.program_run, rank));
    critical = critical_entries(*run.program_run, *run.program);
    picture.idle = &idle;
    picture.critical = &critical;
  }
  io::Exported exported;
  exported.schedule = run.schedule.get();
  exported.timeline = &run.timeline;
  exported.costs = run.costs.get();
  exported.memory = run.memory.get();
  exported.report = [&run](std::ostream& out) { study::write_report(out, run, {true, true}); };
  exported.picture = &picture;
  exported.full_trace = options.full_trace;
  write(options, format, exported);
}

/// Lowered as the options say. Deferred receives that would be swapped are refused, or written with a warning.
ActionLists lower(const Schedule& schedule, const ConvertOptions& options) {
  ActionLists lists = torch::lower(schedule, options.lower.read());
  if (!options.lower.defer_receives) return lists;
  const auto swaps = torch::swapped_messages(lists, torch::Homes(schedule));
  if (swaps.empty()) return lists;
  const std::string what = fmt::format(
      "deferred, receives no longer come in the order of their sends: {}; PyTorch's messages carry no tags, "
      "so it "
      "trains with the wrong tensors, without an error",
      torch::describe(swaps.front()));
  if (!options.lower.allow_swaps)
    throw InputError(
        Where{"--defer-receives"},
        what + "; leave the option out, or give --allow-swaps to write PyTorch's own list all the same");
  options.output.warn({what});
  return lists;
}

void convert_schedule(const ConvertOptions& options, const io::Format& format, const Input& input) {
  io::EffectiveConfig effective;
  const auto schedule =
      input.schedule ? input.schedule : study::make_schedule(input.config, options.input.limits(), effective);
  options.output.warn(input.warnings);
  const IdleCells drawn = input.schedule ? IdleCells() : study::drawn_blanks(input.config, *schedule);
  io::Exported exported;
  exported.schedule = schedule.get();
  exported.idle_cells = drawn.empty() ? input.idle_cells.get() : &drawn;
  // A lowered file stays as it is unless another lowering is asked for.
  exported.actions = options.lower.given() ? nullptr : input.actions.get();
  exported.lowering = options.lower.read();
  std::optional<ActionLists> lowered;
  if (exported.actions == nullptr && (format.name == "torch-comms" || options.lower.given())) {
    lowered = lower(*schedule, options);
    exported.actions = &*lowered;
  }
  write(options, format, exported);
  // A lowered file that stays as it is may be for any release.
  if (input.actions == nullptr || lowered || format.name == "torch-compute")
    options.output.warn(torch_warnings(format.name, input.config.schedule,
                                       input.schedule ? 0 : input.config.microbatches, *schedule,
                                       lowered ? &*lowered : nullptr, exported.lowering.target));
}

/// Throws InputError for options that have no use on a file of times, which is not simulated.
void require_times_enough(const ConvertOptions& options, const io::Format& format) {
  if (!options.input.set.empty())
    throw InputError(Where{"--set"},
                     fmt::format("{} holds times, which no cost changes; leave it out", *options.input.file));
  if (format.needs_metrics)
    throw InputError(
        Where{*options.input.file},
        fmt::format("{} takes a simulated run, and this file holds times only; `pipeloom compare` "
                    "shows what they tell",
                    format.name));
}

void write_timeline(const ConvertOptions& options, const io::Format& format, const Timeline& timeline) {
  draw::SceneOptions picture = options.picture.scene_options(timeline);
  if (picture.show_idle_causes || picture.show_critical_path)
    throw InputError(Where{*options.input.file}, std::string(kTimesOnly));
  const MemoryModel memory = default_memory(timeline.schedule->placement());
  io::Exported exported;
  exported.schedule = timeline.schedule.get();
  exported.timeline = &timeline;
  exported.memory = &memory;
  exported.picture = &picture;
  exported.full_trace = options.full_trace;
  exported.lowering = options.lower.read();
  write(options, format, exported);
}

void convert_timeline(const ConvertOptions& options, const io::Format& format, const std::string& text) {
  require_times_enough(options, format);
  const io::TimelineFile read =
      io::read_timeline(text, *options.input.file, TimeUnit::Unit, io::Partial::LastStep);
  options.output.warn(read.warnings);
  if (const std::string failure = io::failure_of_partial(text); !failure.empty())
    options.output.warn({fmt::format("only the ops that ended in the step in which a run failed: {}",
                                     shortened(failure, 256))});
  write_timeline(options, format, read.timeline);
}

void convert_trace(const ConvertOptions& options, const io::Format& format) {
  require_times_enough(options, format);
  const io::TraceRun read = study::read_trace_input(options.input);
  options.output.warn(read.warnings);
  write_timeline(options, format, read.timeline);
}

/// Draws several runs above each other on one time axis, each below its name.
class StackedPicture {
 public:
  StackedPicture(const ConvertOptions& options, const std::list<pipeloom::Run>& runs) {
    const std::vector<std::string>& titles = options.picture.titles;
    if (!titles.empty() && titles.size() != runs.size())
      throw InputError(Where{"--title"}, fmt::format("found {}; give one for each of the {} runs, or none",
                                                     count_text(titles.size(), "title"), runs.size()));
    const Span range = range_of(options, runs);
    std::set<std::set<OpKind>> explained;
    for (const pipeloom::Run& run : runs) {
      stack_.push_back({&run.timeline, options_of(options, run)});
      draw::SceneOptions& scene = stack_.back().options;
      scene.range = range;
      scene.title =
          titles.empty() ? run.title.substr(run.title.find_last_of('/') + 1) : titles[stack_.size() - 1];
      scene.show_axis = stack_.size() == runs.size();
      scene.show_legend = explained.insert(kinds_of(*run.schedule)).second;
    }
  }

  [[nodiscard]] draw::Scene scene() const { return draw::build_stacked_scene(stack_); }

 private:
  static std::set<OpKind> kinds_of(const Schedule& schedule) {
    std::set<OpKind> kinds;
    for (const Op op : schedule.ops()) kinds.insert(op.kind());
    return kinds;
  }

  /// The time that all rows show: the part of --range, else the time of all runs.
  static Span range_of(const ConvertOptions& options, const std::list<pipeloom::Run>& runs) {
    Span all = study::page::whole_span(runs.front().timeline);
    for (const pipeloom::Run& run : runs) {
      const std::string difference = study::clock_difference(runs.front().timeline, run.timeline);
      if (!difference.empty()) throw InputError(Where{run.title}, difference);
      const Span one = study::page::whole_span(run.timeline);
      all = {std::min(all.start, one.start), std::max(all.end, one.end)};
    }
    return options.picture.range ? parse_range(*options.picture.range, runs.front().timeline.unit, all) : all;
  }

  draw::SceneOptions options_of(const ConvertOptions& options, const pipeloom::Run& run) {
    PictureOptions asked = options.picture;
    asked.range.reset();
    draw::SceneOptions scene = asked.scene_options(run.timeline);
    if (scene.show_idle_causes || scene.show_critical_path) {
      if (run.costs == nullptr) throw InputError(Where{run.title}, std::string(kTimesOnly));
      scene.idle = &run.idle;
      if (run.critical_path) scene.critical = &run.critical_path->entries;
    }
    scene.costs = run.costs.get();
    scene.memory = run.memory.get();
    return scene;
  }

  std::vector<draw::StackedTimeline> stack_;
};

void convert_runs(const ConvertOptions& options, const io::Format& format) {
  if (!format.picture)
    throw InputError(
        Where{options.runs[1]},
        fmt::format(
            "is of no run that {} is of; several runs make one picture (svg, png, pdf), and the files "
            "of one trace's ranks one run",
            shortened(options.runs.front(), 200)));
  pipeloom::Limits limits = options.input.limits();
  limits.bytes_per_time = tracks::kIndexBytesPerEntry;
  const std::list<pipeloom::Run> runs = study::load_runs(options.runs, options.input, limits);
  for (const pipeloom::Run& run : runs) options.output.warn(run.warnings);
  const StackedPicture picture(options, runs);
  io::write_file(options.file, overwrite_if(options.force),
                 [&](std::ostream& out) { format.picture(out, picture.scene()); });
}

/// The input's text if it holds times, as --from or its content says.
bool read_times(ConvertOptions& options) {
  if (!options.input.file) return false;
  const auto& from = options.input.from;
  if (from && !study::format_from(*from).read_timeline) return false;
  if (options.input.file->empty()) return false;
  const io::Format* const named = io::format_by_extension(*options.input.file);
  const bool long_one = from || (named != nullptr && named->read_timeline);
  if (!options.input.text)
    options.input.text =
        io::read_file(*options.input.file, long_one ? io::kMaxTimelineBytes : io::kMaxFileBytes);
  return from || io::looks_like_timeline(*options.input.text);
}

/// All but the last of the files are the input: one, or those of the ranks of a trace.
void split_files(ConvertOptions& options) {
  std::vector<std::string> files = std::move(options.files);
  if (files.size() == 1 && options.input.schedule) {
    options.file = std::move(files.front());
    return;
  }
  if (files.size() < 2)
    throw InputError(
        "the output is missing; name it behind the input, - is standard output (with --schedule, --ranks and "
        "--microbatches it stands alone)");
  options.file = std::move(files.back());
  files.pop_back();
  options.input.file = files.front();
  auto& request = static_cast<pipeloom::Request&>(options.input);
  request = study::settled(request);
  if (!options.input.file && files.size() == 1) return;
  if (files.size() > 1 && study::files_by_run(files, options.input.from).size() > 1) {
    options.runs = std::move(files);
    return;
  }
  options.input.file = std::move(files.front());
  options.input.other_files.assign(files.begin() + 1, files.end());
}

ExitCode run_convert(ConvertOptions options) {
  split_files(options);
  const io::Format& format = target_format(options);
  require_free(options.file, options.force);
  if (!options.runs.empty()) {
    convert_runs(options, format);
    return ExitCode::Ok;
  }
  if (options.picture.titles.size() > 1)
    throw InputError(Where{"--title"}, "there is one run, and more titles; give one");
  if (study::is_trace_input(options.input)) {
    convert_trace(options, format);
    return ExitCode::Ok;
  }
  if (read_times(options)) {
    convert_timeline(options, format, *options.input.text);
    return ExitCode::Ok;
  }
  const Input input = read_input(options.input);
  if (format.needs_times)
    convert_run(options, format, input);
  else
    convert_schedule(options, format, input);
  return ExitCode::Ok;
}

}  // namespace

Run convert(OptionList& list) {
  auto options = std::make_shared<ConvertOptions>();
  list.set_footer(list_of_formats() + '\n');
  list.positional("FILES", options->files, "FILE",
                  "IN and OUT. IN: configuration, schedule, timeline, trace, its folder or the files of its "
                  "ranks, or a schedule's name; - is standard input; several runs for one picture of all, on "
                  "one time axis. OUT: where to; - is standard output")
      .required()
      .at_least(1);
  add_shape_options(list, options->input);
  list.option("--from", options->input.from, "FORMAT",
              "Format of a schedule, timeline or trace; found by content if left out");
  add_mapping_option(list, options->input);
  list.option("--to,--format", options->to, "FORMAT",
              "Format to write; found by OUT's extension if left out");
  list.flag("--force", options->force, "Overwrite an existing file");
  list.flag("--full-trace", options->full_trace,
            "Traces: flow arrows and memory counters even above 200,000 ops");
  add_value_options(list, options->input);
  add_lower_options(list, options->lower);
  add_picture_options(list, options->picture);
  add_output_options(list, options->output);
  return [options] { return run_convert(*options); };
}

}  // namespace pipeloom::cli::commands
