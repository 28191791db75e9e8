#include "study/run/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/generator.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/links/link.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "sim/messages/program_engine.hpp"
#include "study/run/run_link.hpp"
#include "study/text/at_place.hpp"

namespace pipeloom::study {

namespace {

/// Options for values that a schedule file states itself: option, key of the configuration, value.
struct ShapeOption {
  std::string option;
  std::string key;
  const std::optional<std::string>* value;
};

std::vector<ShapeOption> shape_options(const Request& options) {
  return {{"--schedule", "schedule", &options.schedule},
          {"--ranks", "ranks", &options.ranks},
          {"--microbatches", "microbatches", &options.microbatches},
          {"--chunks", "chunks", &options.chunks}};
}

}  // namespace

const io::Format& format_from(const std::string& name) {
  const auto& formats = io::all_formats();
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const io::Format& one) { return one.name == name; });
  if (found != formats.end()) return *found;
  std::vector<std::string> valid;
  for (const io::Format& one : formats)
    if (one.read || one.read_timeline) valid.push_back(one.name);
  for (const io::TraceFormatName& one : io::trace_format_list())
    if (std::find(valid.begin(), valid.end(), one.name) == valid.end()) valid.push_back(one.name);
  throw InputError::unknown_name(Where{"--from"}, "format", shortened(name, 64), valid);
}

namespace {

/// The format that reads this text as a schedule, or null for JSON, which may be a configuration too.
const io::Format* schedule_format(const std::string& text, const Request& options) {
  if (options.from) return &format_from(*options.from);
  const io::Format* format = io::format_by_content(text);
  if (format == nullptr) format = io::format_by_extension(*options.file);
  return format != nullptr && format->read && format->name != "json" ? format : nullptr;
}

/// Throws InputError if --set gives a value that the schedule file `name` states.
void require_not_of_schedule(const std::string& assignment, const std::string& name) {
  const std::string path = assignment.substr(0, assignment.find('='));
  const std::vector<std::string> names = {"schedule", "ranks", "microbatches", "chunks"};
  const bool of_shape = std::find(names.begin(), names.end(), path) != names.end();
  if (of_shape || path == "options.group_size")
    throw InputError(Where{fmt::format("--set {}", shortened(path, 80))},
                     fmt::format("{} holds a schedule, which says this itself; leave it out", name));
}

/// Reads the file into a schedule, or into the document that options then change.
io::Document read_document(const Request& options, Input& input) {
  if (!options.file) return {};
  // An unset variable in a script leaves "".
  if (options.file->empty()) throw InputError("the name of the input file is empty; name a file, or -");
  std::error_code error;
  if (std::filesystem::is_directory(*options.file, error))
    throw InputError(
        Where{*options.file},
        "this is a folder; name a configuration or schedule file (`pipeloom convert`, `compare` and "
        "`report` read a folder as the trace of a real run)");
  if (is_trace_input(options))
    throw InputError(
        Where{*options.file},
        "this is a trace of a real run: its ops have their times already; `pipeloom convert` draws it, "
        "`pipeloom compare` and `pipeloom report` show it beside a simulation");
  std::string text = options.text ? *options.text : io::read_file(*options.file);
  input.name = *options.file == "-" ? "standard input" : io::shown_name(*options.file);
  if (!options.from && io::looks_like_timeline(text))
    throw InputError(
        Where{input.name},
        "this is a timeline, or a report: its ops have their times already; `pipeloom convert` draws it, "
        "`pipeloom compare` and `pipeloom gui` show it beside a simulation");
  if (const io::Format* format = schedule_format(text, options)) {
    io::Imported imported = io::read_schedule(text, input.name, format->name);
    input.schedule = std::move(imported.schedule);
    input.idle_cells = std::move(imported.idle_cells);
    input.actions = std::move(imported.actions);
    input.format = format->name;
    input.warnings = std::move(imported.warnings);
    input.text = std::move(text);
    return {};
  }
  io::Document document = io::Document::parse(text, input.name);
  if (!io::is_schedule_file(document.root())) return document;
  input.schedule = std::make_shared<const Schedule>(io::read_schedule_json(document.root()));
  input.text = std::move(text);
  return {};
}

}  // namespace

bool is_trace_input(const Request& input) {
  if (!input.file || input.text) return false;
  return input.from ? io::is_trace_format(*input.from) : io::is_trace(*input.file);
}

io::TraceRun read_trace_input(const Request& input) {
  std::vector<std::string> files = {*input.file};
  files.insert(files.end(), input.other_files.begin(), input.other_files.end());
  return io::assemble(io::read_trace(files, {input.from, input.mapping}));
}

Request settled(Request request) {
  if (!request.file || request.text) return request;
  if (io::names_link(*request.file)) {
    request.text = io::linked_configs(*request.file).config;
    return request;
  }
  if (request.from || request.schedule || *request.file == "-") return request;
  std::error_code none;
  if (std::filesystem::exists(*request.file, none)) return request;
  try {
    (void)schedules::find(*request.file);
  } catch (const InputError&) {
    return request;
  }
  request.schedule = std::exchange(request.file, std::nullopt);
  return request;
}

namespace {

/// True for a link with a second run that nothing has taken yet.
bool holds_two(const Request& given) {
  return given.file && !given.text && io::names_link(*given.file) &&
         io::linked_configs(*given.file).compare.has_value();
}

}  // namespace

Input read_input(const Request& given) {
  const Request options = settled(given);
  Input input;
  io::Document document = read_document(options, input);
  for (const auto& [option, key, value] : shape_options(options)) {
    if (!*value) continue;
    if (input.schedule)
      throw InputError(Where{option}, fmt::format("{} holds a schedule, which says this itself; leave {} out",
                                                  input.name, option));
    document.set(key, **value, option);
  }
  if (input.schedule)
    for (const std::string& assignment : options.set) require_not_of_schedule(assignment, input.name);
  if (input.name == io::kLinkName && io::names_link(*options.file)) require_no_files(document.root());
  io::inline_costs_file(document);
  for (const std::string& assignment : options.set) document.set_option(assignment);
  input.config = io::read_run_config(document.root(), input.schedule ? io::Needs::CostsOnly : io::Needs::Run);
  if (!input.schedule) input.given = std::make_shared<const io::Value>(document.root());
  if (holds_two(given))
    input.warnings.emplace_back("the link holds two runs: this is the first; `pipeloom compare` takes both");
  return input;
}

namespace {

/// Evaluates a schedule file; errors name their place in it.
Run evaluate_file(const Input& input, const Limits& limits) {
  try {
    return evaluate_schedule(input.schedule, input.name, input.config, limits);
  } catch (const ScheduleError& error) {
    const auto found = validate(*input.schedule);
    if (found.empty()) throw;
    const Where where = io::SchedulePlaces(input.text, input.name).of(found.front());
    if (only_hangs(found)) throw HangError(where, error.what());
    throw ScheduleError(where, error.what());
  }
}

}  // namespace

Run evaluate(const Input& input, const Limits& limits) {
  Run run = input.schedule ? evaluate_file(input, limits) : evaluate(input.config, limits);
  run.file = input.name;
  run.given = input.given;
  run.source = input.schedule ? RunSource::ScheduleFile : RunSource::Configuration;
  run.warnings.insert(run.warnings.begin(), input.warnings.begin(), input.warnings.end());
  return run;
}

namespace {

/// As long as the place of an error may be.
constexpr std::size_t kMaxTitle = 200;

Run read_run(std::string_view text, const std::string& file, TimeUnit unit) {
  io::TimelineFile read = read_times(text, file, unit);
  Run run;
  run.source = RunSource::TimelineFile;
  run.schedule = read.timeline.schedule;
  run.timeline = std::move(read.timeline);
  run.warnings = std::move(read.warnings);
  return run;
}

Run trace_run(const Request& input) {
  io::TraceRun read = read_trace_input(input);
  Run run;
  run.source = RunSource::TimelineFile;
  run.schedule = read.timeline.schedule;
  run.timeline = std::move(read.timeline);
  run.warnings = std::move(read.warnings);
  return run;
}

/// True if the text is a file of times: --from says so, or its content.
bool holds_times(const std::string& text, const Request& input) {
  if (input.from) return static_cast<bool>(format_from(*input.from).read_timeline);
  return io::looks_like_timeline(text);
}

/// "trace/rank0.json and 3 more".
std::string title_of_files(const Request& input) {
  std::string title = shortened(io::shown_name(input.file.value_or("")), kMaxTitle);
  if (!input.other_files.empty()) title += fmt::format(" and {} more", input.other_files.size());
  return title;
}

}  // namespace

std::vector<std::vector<IdleSpan>> idle_spans_of(const Run& run) {
  if (!run.program_run) return all_idle_spans(run.timeline, *run.costs);
  std::vector<std::vector<IdleSpan>> idle;
  for (Rank rank{0}; rank < Rank(run.schedule->ranks()); ++rank)
    idle.push_back(idle_spans(*run.program_run, rank));
  return idle;
}

std::vector<std::vector<IdleSpan>> idle_spans_under(const Timeline& measured, const Run& predicted) {
  const bool says = predicted.costs != nullptr &&
                    (predicted.timeline.unit == TimeUnit::Unit) == (measured.unit == TimeUnit::Unit) &&
                    predicted.schedule->placement() == measured.schedule->placement();
  if (!says) return {};
  return all_idle_spans(measured, *predicted.costs);
}

io::TimelineFile read_times(std::string_view text, const std::string& file, TimeUnit unit,
                            io::Partial partial) {
  io::TimelineFile read = io::read_timeline(text, file, unit, partial);
  if (unit != TimeUnit::Unit && !io::says_unit(text))
    read.warnings.push_back(
        fmt::format("{}: says no unit; its times are taken in {}, as those beside it", file, name_of(unit)));
  return read;
}

namespace {

/// load_run() of a request that keeps the text that was read.
Run load_keeping(Request& input, const Limits& limits, TimeUnit unit) {
  const std::string file = io::shown_name(input.file.value_or(""));
  const bool is_trace = is_trace_input(input);
  if (input.file && !input.text && !is_trace) input.text = io::read_file(*input.file, io::kMaxTimelineBytes);
  Run run;
  if (is_trace) {
    run = trace_run(input);
  } else if (input.text && holds_times(*input.text, input)) {
    run = read_run(*input.text, file, unit);
  } else {
    const Input read = read_input(input);
    run = at_place(read.name, [&] { return evaluate(read, limits); });
    run.idle = idle_spans_of(run);
  }
  run.title = title_of_files(input);
  run.file = file;
  return run;
}

/// A file of times that does not say their unit.
bool lacks_unit(const Run& run, const Request& input) {
  return run.source == RunSource::TimelineFile && input.text && !io::says_unit(*input.text);
}

}  // namespace

Run load_run(Request input, const Limits& limits, TimeUnit unit) {
  Request request = settled(std::move(input));
  return load_keeping(request, limits, unit);
}

std::vector<std::vector<std::string>> files_by_run(const std::vector<std::string>& files,
                                                   const std::optional<std::string>& from) {
  std::vector<std::vector<std::string>> runs;
  std::map<std::pair<std::string, std::string>, std::size_t> traces;  // format and folder -> run
  for (const std::string& file : files) {
    const std::string format = io::format_of_rank_file(file, from);
    if (!format.empty()) {
      const std::string folder = std::filesystem::path(file).parent_path().string();
      const auto [trace, is_new] = traces.emplace(std::pair(format, folder), runs.size());
      if (!is_new) {
        runs[trace->second].push_back(file);
        continue;
      }
    }
    runs.push_back({file});
  }
  return runs;
}

namespace {

/// The request of a schedule's name beside the first run, which says all else.
Request beside_first(Request named, const Run& first, const Request& request_of_first) {
  if (first.source == RunSource::Configuration) {
    named.file = request_of_first.file;
    named.text = request_of_first.text;
    return named;
  }
  if (!named.ranks) named.ranks = std::to_string(first.schedule->ranks());
  if (!named.microbatches) named.microbatches = std::to_string(first.schedule->microbatches());
  return named;
}

/// The runs of `files`, a request each with its title, "" for the usual one.
std::vector<std::pair<Request, std::string>> requests_of(const std::vector<std::string>& files,
                                                         const Request& input) {
  std::vector<std::pair<Request, std::string>> out;
  for (const std::vector<std::string>& of_run : files_by_run(files, input.from)) {
    Request& one = out.emplace_back(input, "").first;
    one.file = of_run.front();
    one.other_files.assign(of_run.begin() + 1, of_run.end());
    if (!io::names_link(*one.file)) continue;
    io::LinkedConfigs configs = io::linked_configs(*one.file);
    one.text = std::move(configs.config);
    if (!configs.compare) continue;
    Request second = one;
    second.text = std::move(configs.compare);
    out.emplace_back(std::move(second), io::kSecondOfLink);
  }
  return out;
}

}  // namespace

std::list<Run> load_runs(const std::vector<std::string>& files, const Request& input, const Limits& limits) {
  std::list<Run> runs;
  Request first;
  std::optional<TimeUnit> unit;
  std::vector<std::pair<Run*, Request>> before_unit;
  for (auto& [one, title] : requests_of(files, input)) {
    const std::string file = one.file.value();
    const Request named = settled(one);
    if (!named.file) one = runs.empty() ? named : beside_first(named, runs.front(), first);
    Run& run = runs.emplace_back(load_keeping(one, limits, unit.value_or(TimeUnit::Unit)));
    if (!named.file) run.title = shortened(file, kMaxTitle);
    if (!title.empty()) run.title = title;
    if (runs.size() == 1) first = one;
    if (unit) continue;
    if (lacks_unit(run, one))
      before_unit.emplace_back(&run, std::move(one));
    else
      unit = run.timeline.unit;
  }
  if (unit && *unit != TimeUnit::Unit)
    for (auto& [run, request] : before_unit) *run = load_run(std::move(request), limits, *unit);
  for (Run& run : runs) {
    if (run.source != RunSource::TimelineFile) continue;
    for (const Run& predicted : runs)
      if (run.idle.empty()) run.idle = idle_spans_under(run.timeline, predicted);
  }
  return runs;
}

}  // namespace pipeloom::study
