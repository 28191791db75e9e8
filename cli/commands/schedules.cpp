// pipeloom schedules [NAME]: the list of schedules, and the page of one.

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/schedule_page.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::cli::commands {
namespace {

using schedules::Generator;

constexpr std::size_t kIndent = 4;

struct SchedulesOptions {
  std::string name;
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

ExitCode run_schedules(const SchedulesOptions& options) {
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
  add_print_options(list, options->print, {"table", "json"},
                    "What is printed; json has names, requirements, example and formulas");
  add_output_options(list, options->output);
  return [options] { return run_schedules(*options); };
}

}  // namespace pipeloom::cli::commands
