// pipeloom schedules [NAME]: the list of schedules, the page of one, and all of them at one shape and one set of costs.

#include <fmt/format.h>

#include <tuple>

#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/schedule_page.hpp"
#include "cli/pages/schedule_rows_page.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::cli::commands {
namespace {

using schedules::Generator;

constexpr std::size_t kIndent = 4;

struct SchedulesOptions {
  std::string name;
  std::optional<std::string> ranks;
  std::optional<std::string> microbatches;
  std::optional<std::string> chunks;
  std::vector<std::string> set;
  OutputOptions output;
  PrintOptions print;
};

std::string alias_names(const Generator& generator) {
  std::string out;
  for (const auto& alias : generator.aliases) out += (out.empty() ? "" : ", ") + alias.name;
  return out;
}

std::string block(const Generator& generator, const Screen& screen) {
  const auto width = static_cast<std::size_t>(screen.width);
  std::string out = bold(generator.name, screen.has_colour()) + '\n';
  out += wrapped(generator.summary, width, kIndent);
  out += wrapped("needs: " + generator.requirements.text, width, kIndent);
  if (!generator.aliases.empty()) out += wrapped("also called: " + alias_names(generator), width, kIndent);
  return out + wrapped("source: " + generator.source, width, kIndent);
}

std::string list_of_schedules(const Screen& screen) {
  std::string out;
  for (const Generator& generator : schedules::all()) out += block(generator, screen);
  return out +
         "\n`pipeloom schedules NAME` shows picture, options and formulas of one. Every schedule also takes\n"
         "options.recompute, options.offload and options.forward_only; `pipeloom schema --keys` explains "
         "them.\n`custom` is a schedule from a file; `pipeloom schedules custom` says how.\n";
}

constexpr const char* kCustomPage =
    "custom: a schedule from a file\n"
    "\n"
    "needs   options.file, relative to the configuration: Pipeloom's JSON or PyTorch's CSV, compute or "
    "lowered\n"
    "source  whoever wrote the file; `pipeloom validate FILE` says whether it is legal, and why it hangs if "
    "it does\n"
    "\n"
    "Ranks, microbatches and chunks are the file's. Costs, memory, transfers, recomputation and offload are "
    "the\n"
    "configuration's, as for any schedule.\n"
    "\n"
    "  {\"schedule\": \"custom\", \"options\": {\"file\": \"mine.csv\"}, \"costs\": {\"forward\": 1, "
    "\"backward\": 2}}\n"
    "\n"
    "Without a configuration: pipeloom simulate mine.csv --set costs.forward=1 --set costs.backward=2\n";

std::string schedules_as_json() {
  std::string out = "{\n  \"schema_version\": 1,\n  \"schedules\": [";
  for (const Generator& generator : schedules::all()) {
    out += &generator == schedules::all().data() ? "\n  " : ",\n  ";
    out += schedule_json(generator);
  }
  return out + "\n  ]\n}\n";
}

bool has_shape(const SchedulesOptions& options) {
  return options.ranks || options.microbatches || options.chunks || !options.set.empty();
}

/// The run that every schedule is tried with. Throws InputError where no schedule could run it.
study::Workload run_of(const SchedulesOptions& options) {
  if (!options.name.empty())
    throw InputError(Where{"NAME"},
                     "a name shows the page of one schedule, and the other options compare all; leave one "
                     "of them out");
  io::Document document;
  for (const auto& [option, key, value] :
       {std::tuple("--ranks", "ranks", &options.ranks),
        std::tuple("--microbatches", "microbatches", &options.microbatches),
        std::tuple("--chunks", "chunks", &options.chunks)})
    if (*value) document.set(key, **value, option);
  for (const std::string& assignment : options.set) document.set_option(assignment);
  if (const io::Value* schedule = document.root().find("schedule"))
    throw InputError(schedule->where(), "all schedules are compared; leave the schedule out");
  io::inline_costs_file(document);
  // Errors that hold for every schedule are reported once: gpipe takes every shape.
  document.set("schedule", "\"gpipe\"", "schedule");
  io::Config config = io::read_run_config(document.root());
  config.schedule.clear();
  return study::workload_of(std::move(config));
}

ExitCode compare_all(const SchedulesOptions& options) {
  const auto rows = study::schedule_rows(run_of(options), InputOptions().limits());
  print(options.print.is("json") ? schedule_rows_json(rows)
                                 : schedule_rows_page(rows, options.output.screen()));
  return rows.front().refusal.empty() ? ExitCode::Ok : ExitCode::AnswerIsNo;
}

ExitCode run_schedules(const SchedulesOptions& options) {
  if (has_shape(options)) return compare_all(options);
  const Screen screen = options.output.screen();
  const bool json = options.print.is("json");
  if (options.name.empty()) {
    print(json ? schedules_as_json() : list_of_schedules(screen));
    return ExitCode::Ok;
  }
  if (options.name == io::kCustomSchedule && !json) {
    print(kCustomPage);
    return ExitCode::Ok;
  }
  const Generator& generator = *schedules::find(options.name).generator;
  print(json ? schedule_json(generator) + "\n" : schedule_page(generator, screen));
  return ExitCode::Ok;
}

}  // namespace

Run schedules(OptionList& list) {
  auto options = std::make_shared<SchedulesOptions>();
  list.positional("NAME", options->name, "SCHEDULE", "Name or alias: show its page");
  list.option("--ranks", options->ranks, "P", "Compare all schedules on so many ranks");
  list.option("--microbatches", options->microbatches, "M", "m, microbatches of one step");
  list.option("--chunks", options->chunks, "V", "v, stages per rank that costs and bytes are of; default 1");
  list.option("--set", options->set, "PATH=VALUE", "Any key of the run, such as costs=costs.json; repeatable")
      .repeatable();
  add_print_options(list, options->print, {"table", "json"},
                    "What is printed; json has names, requirements, example and formulas, or all numbers");
  add_output_options(list, options->output);
  return [options] { return run_schedules(*options); };
}

}  // namespace pipeloom::cli::commands
