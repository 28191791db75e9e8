#include "cli/run/run_arguments.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/run/run_costs.hpp"

namespace pipeloom::cli {
namespace {

constexpr int kMostSteps = 100'000;

constexpr const char* kFooter =
    "\nRanks are threads, or with --launch processes that speak over TCP. Busy ops last as long as the\n"
    "configuration's costs say, by the clock; a time unit of `unit` lasts 10 ms unless --unit-ms says\n"
    "otherwise. Layers are real: their gradients are checked against those of a run without a pipeline, and\n"
    "the simulation is made of their measured medians. Exit codes: 0 fine, 2 wrong input, 3 a rank or back\n"
    "end failed.\n\n"
    "Examples:\n"
    "  pipeloom run --schedule zb-h1 --ranks 4 --microbatches 8 --compare\n"
    "  pipeloom run --schedule dualpipe --ranks 4 --microbatches 8 --work layers --width 256 --rows 64\n"
    "  pipeloom run run.json --steps 20 --costs-out measured.json -o measured.jsonl\n"
    "  pipeloom simulate run.json --set costs=measured.json";

double parse_seconds(const std::string& text) {
  return to_double(parse_time("--timeout", text, TimeUnit::Second), TimeUnit::Second);
}

}  // namespace

void add_run_arguments(CLI::App& app, RunArguments& arguments) {
  app.footer(kFooter);
  app.add_option("CONFIG", arguments.input.file, "Configuration or schedule file; - is standard input")
      ->type_name("FILE");
  add_shape_options(app, arguments.input);
  app.add_option("--backend", arguments.backend, "What ops run on: this CPU, or GPUs")->type_name("cpu|cuda");
  add_launch_options(app, arguments.launch);
  app.add_option("--steps", arguments.steps, "Timed steps; default 5")->type_name("N");
  app.add_option("--warmup", arguments.warmup, "Steps in front of them; default 1")->type_name("N");
  app.add_option("--timeout", arguments.timeout,
                 "Seconds that one op, or waiting of all ranks, may take; default 30")
      ->type_name("S");
  app.add_option("--unit-ms", arguments.unit_ms, "Milliseconds in one abstract time unit; default 10")
      ->type_name("X");
  add_work_options(app, arguments.work);
  app.add_flag("--no-handshake", arguments.no_handshake,
               "Between processes: send without asking whether the receiver is ready");
  app.add_flag("--checksums", arguments.checksums, "Check every message where it arrives");
  app.add_flag("--compare", arguments.compare,
               "Print predicted and measured metrics side by side, and why they differ");
  app.add_option("--costs-out", arguments.costs_file, "Write the measured costs, for `--set costs=FILE`")
      ->type_name("FILE");
  app.add_option("-o,--output", arguments.timeline_file,
                 "Write the measured timeline (JSON lines); - is standard output")
      ->type_name("FILE");
  app.add_flag("--force", arguments.force, "Overwrite existing files");
  add_value_options(app, arguments.input);
  add_print_options(app, arguments.print, {"table", "json"}, "What is printed");
  add_output_options(app, arguments.output);
}

Input read_timed_input(const RunArguments& arguments) {
  Input input = read_input(arguments.input);
  input.config.step.count = 1;
  if (input.config.costs.transfer.model == cost::TransferModel::Link)
    throw InputError(Where{"costs.transfer.model"},
                     "\"link\" shares links in the simulator only; run it with \"async\"");
  const bool is_abstract = input.config.costs.unit == TimeUnit::Unit;
  if (arguments.unit_ms && arguments.work.is_layers())
    throw InputError(Where{"--unit-ms"}, "layers take the time that they take; leave it out");
  if (!is_abstract && arguments.unit_ms)
    throw InputError(Where{"--unit-ms"},
                     fmt::format("costs.time_unit is {}, a unit of real time; leave it out",
                                 name_of(input.config.costs.unit)));
  if (!is_abstract) return input;
  const std::string text = arguments.unit_ms.value_or("10");
  put_on_clock(input.config, parse_time("--unit-ms", text, TimeUnit::Millisecond));
  return input;
}

QueueDiscipline queue_of(const cost::TransferSpec& transfer) {
  if (transfer.model != cost::TransferModel::Async) return QueueDiscipline::None;
  if (transfer.queue == "per-rank") return QueueDiscipline::PerRank;
  return transfer.queue == "per-direction" ? QueueDiscipline::PerDirection : QueueDiscipline::PerPair;
}

executor::RunOptions run_options(const RunArguments& arguments) {
  executor::RunOptions options;
  options.steps = parse_count("--steps", arguments.steps, 1, kMostSteps);
  options.warmup_steps = parse_count("--warmup", arguments.warmup, 0, kMostSteps);
  options.timeout_seconds = parse_seconds(arguments.timeout);
  options.checksums = arguments.checksums;
  options.handshake = !arguments.no_handshake;
  return options;
}

}  // namespace pipeloom::cli
