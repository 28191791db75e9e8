#include "cli/options.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>

#include "cli/numbers.hpp"
#include "sim/io/formats.hpp"
#include "sim/io/schedule_json.hpp"
#include "sim/io/schedule_places.hpp"
#include "sim/validate.hpp"

namespace pipeloom::cli {
namespace {

/// Options that say what a schedule file says itself: option, key of the configuration, value.
struct ShapeOption {
  std::string option;
  std::string key;
  const std::optional<std::string>* value;
};

std::vector<ShapeOption> shape_options(const InputOptions& options) {
  return {{"--schedule", "schedule", &options.schedule},
          {"--ranks", "ranks", &options.ranks},
          {"--microbatches", "microbatches", &options.microbatches},
          {"--chunks", "chunks", &options.chunks}};
}

/// The format that reads this text as a schedule, or null for JSON, which may be a configuration too.
const io::Format* schedule_format(const std::string& text, const InputOptions& options) {
  if (options.from) return &io::find_format(*options.from, Where{"--from"});
  const io::Format* format = io::format_by_content(text);
  if (format == nullptr) format = io::format_by_extension(*options.file);
  return format != nullptr && format->read && format->name != "json" ? format : nullptr;
}

/// Throws InputError for "", which an unset variable in a script leaves.
void require_name(const std::string& path, std::string_view what) {
  if (path.empty())
    throw InputError(fmt::format("the name of the {} file is empty; name a file, or -", what));
}

/// Throws InputError if --set gives what the schedule file `name` says.
void require_not_of_schedule(const std::string& assignment, const std::string& name) {
  const std::string path = assignment.substr(0, assignment.find('='));
  const std::vector<std::string> names = {"schedule", "ranks", "microbatches", "chunks"};
  const bool of_shape = std::find(names.begin(), names.end(), path) != names.end();
  if (of_shape || path == "options.group_size")
    throw InputError(Where{fmt::format("--set {}", shortened(path, 80))},
                     fmt::format("{} holds a schedule, which says this itself; leave it out", name));
}

/// Reads the file into a schedule, or into the document that options then change.
io::Document read_document(const InputOptions& options, RunInput& input) {
  if (!options.file) return {};
  require_name(*options.file, "input");
  std::string text = io::read_file(*options.file);
  input.name = *options.file == "-" ? "standard input" : *options.file;
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

Screen OutputOptions::screen() const {
  require_choice("--color", color, {"auto", "always", "never"});
  return cli::screen(color == "always"  ? ColourMode::Always
                     : color == "never" ? ColourMode::Never
                                        : ColourMode::Auto);
}

void OutputOptions::warn(const std::vector<std::string>& warnings) const {
  if (quiet) return;
  for (const std::string& warning : warnings) print_warning(warning);
}

void add_output_options(CLI::App& app, OutputOptions& options) {
  app.add_flag("-q,--quiet", options.quiet, "Print nothing but what was asked for, and errors");
  app.add_flag("-v,--verbose", options.verbose, "Leave nothing out");
  app.add_option("--color", options.color, "Colour: on a terminal unless NO_COLOR is set, always or never")
      ->type_name("auto|always|never");
}

study::Limits InputOptions::limits() const {
  study::Limits limits;
  if (max_memory) limits.max_memory = parse_size(*max_memory, "--max-memory");
  return limits;
}

void add_shape_options(CLI::App& app, InputOptions& options) {
  app.add_option("--schedule", options.schedule, "Name of the schedule (see `pipeloom schedules`)")
      ->type_name("SCHEDULE");
  app.add_option("--ranks", options.ranks, "p, pipeline devices")->type_name("P");
  app.add_option("--microbatches", options.microbatches, "m, microbatches of one step")->type_name("M");
  app.add_option("--chunks", options.chunks, "v, stages per rank and replica")->type_name("V");
}

void add_value_options(CLI::App& app, InputOptions& options) {
  app.add_option("--set", options.set, "Any key of the configuration, such as costs.forward=1.5; repeatable")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  app.add_option("--max-memory", options.max_memory,
                 "Refuse runs that need more, such as 8GiB; default 3/4 of this machine's memory")
      ->type_name("SIZE");
}

RunInput read_input(const InputOptions& options) {
  RunInput input;
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
  io::inline_costs_file(document);
  for (const std::string& assignment : options.set) document.set_option(assignment);
  input.config = io::read_run_config(document.root(), input.schedule ? io::Needs::CostsOnly : io::Needs::Run);
  return input;
}

namespace {

/// What is wrong with a schedule file is said with its place.
study::Evaluation evaluate_file(const RunInput& input, const study::Limits& limits) {
  try {
    return study::evaluate_schedule(input.schedule, input.name, input.config, limits);
  } catch (const ScheduleError& error) {
    const auto found = validate(*input.schedule);
    if (found.empty()) throw;
    throw ScheduleError(io::SchedulePlaces(input.text, input.name).of(found.front()), error.what());
  }
}

}  // namespace

study::Evaluation evaluate(const RunInput& input, const study::Limits& limits) {
  study::Evaluation run =
      input.schedule ? evaluate_file(input, limits) : study::evaluate(input.config, limits);
  run.warnings.insert(run.warnings.begin(), input.warnings.begin(), input.warnings.end());
  return run;
}

void require_free(const std::string& path, bool force) {
  require_name(path, "output");
  struct stat info {};
  if (!force && path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
    throw InputError::exists(path);
}

void require_choice(std::string_view option, const std::string& value,
                    const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  throw InputError::unknown_name(Where{std::string(option)}, "value", shortened(value, 64), allowed);
}

int parse_count(std::string_view option, const std::string& text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw InputError(
        Where{std::string(option)},
        fmt::format("found '{}'; allowed is a whole number from {} to {}", shortened(text, 64), least, most));
  return number;
}

}  // namespace pipeloom::cli
