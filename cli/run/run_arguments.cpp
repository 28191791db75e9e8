#include "cli/run/run_arguments.hpp"

#include <fmt/format.h>

#include "cli/run/run_costs.hpp"

namespace pipeloom::cli {
namespace {

constexpr int kMostSteps = 100'000;

constexpr const char* kRunFooter =
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

void add_run_arguments(OptionList& list, RunArguments& arguments) {
  list.set_footer(kRunFooter);
  list.positional("CONFIG", arguments.input.file, "FILE",
                  "Configuration or schedule file; - is standard input");
  add_shape_options(list, arguments.input);
  list.option("--backend", arguments.backend, "cpu|cuda", "What ops run on: this CPU, or GPUs");
  add_launch_options(list, arguments.launch);
  list.option("--steps", arguments.steps, "N", "Timed steps; default 5");
  list.option("--warmup", arguments.warmup, "N", "Steps in front of them; default 1");
  list.option("--timeout", arguments.timeout, "S",
              "Seconds that one op, or waiting of all ranks, may take; default 30");
  list.option("--unit-ms", arguments.unit_ms, "X", "Milliseconds in one abstract time unit; default 10");
  add_work_options(list, arguments.work);
  list.flag("--no-handshake", arguments.no_handshake,
            "Between processes: send without asking whether the receiver is ready");
  list.flag("--checksums", arguments.checksums, "Check every message where it arrives");
  list.flag("--compare", arguments.compare,
            "Print predicted and measured metrics side by side, and why they differ");
  list.option("--costs-out", arguments.costs_file, "FILE",
              "Write the measured costs, for `--set costs=FILE`");
  list.option(
      "--layers", arguments.layers, "N[,N...]",
      "With --costs-out: layers of each stage, or of the model if stages share them equally; without it all "
      "stages count as equal");
  list.option("-o,--output", arguments.timeline_file, "FILE",
              "Write the measured timeline (JSON lines); - is standard output");
  list.flag("--force", arguments.force, "Overwrite existing files");
  add_value_options(list, arguments.input);
  add_print_options(list, arguments.print, {"table", "json"}, "What is printed");
  add_output_options(list, arguments.output);
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
