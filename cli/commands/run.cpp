// pipeloom run [CONFIG]: the program of a configuration on a real clock, beside what the simulator says.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <memory>

#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/run_costs.hpp"
#include "cli/run_gpus.hpp"
#include "cli/run_launch.hpp"
#include "cli/run_pages.hpp"
#include "cli/run_work.hpp"
#include "executor/process/process_run.hpp"
#include "executor/run.hpp"
#include "sim/io/timeline_jsonl.hpp"
#include "sim/message_plans.hpp"
#include "study/fingerprint.hpp"
#include "version.hpp"

namespace pipeloom::cli::commands {
namespace {

struct RunArguments {
  InputOptions input;
  OutputOptions output;
  std::string backend = "cpu";
  std::string steps = "5";
  std::string warmup = "1";
  std::string timeout = "30";
  std::optional<std::string> unit_ms;
  WorkArguments work;
  LaunchArguments launch;
  bool no_handshake = false;
  std::optional<std::string> timeline_file;
  std::optional<std::string> costs_file;
  bool compare = false;
  bool checksums = false;
  bool force = false;

  [[nodiscard]] bool on_gpus() const { return backend == "cuda"; }
};

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
  add_output_options(app, arguments.output);
}

double parse_seconds(const std::string& text) {
  const auto ticks = parse_ticks(text, TimeUnit::Second);
  if (!ticks || ticks->value <= 0)
    throw InputError(Where{"--timeout"},
                     fmt::format("found '{}'; allowed is a number of seconds above 0", shortened(text, 64)));
  return to_double(ticks->value, TimeUnit::Second);
}

/// The input with all times on a real clock.
RunInput read_timed_input(const RunArguments& arguments) {
  RunInput input = read_input(arguments.input);
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
  const auto unit = parse_ticks(text, TimeUnit::Millisecond);
  if (!unit || unit->value <= 0)
    throw InputError(
        Where{"--unit-ms"},
        fmt::format("found '{}'; allowed is a number of milliseconds above 0", shortened(text, 64)));
  put_on_clock(input.config, unit->value);
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

/// What all processes of a run must have the same, besides the program.
std::vector<executor::net::Agreement> agreements_of(const RunArguments& arguments,
                                                    const study::Evaluation& run) {
  return {{"version", std::string(kVersion)},
          {"schedule", fmt::format("{} of {} ranks, {} microbatches", run.effective.schedule,
                                   run.schedule->ranks(), run.schedule->microbatches())},
          {"work", text_of(arguments.work)},
          {"costs", study::fingerprint_of_times(run.timeline)}};
}

/// Without a result in a process that another one reports for.
executor::ProcessResult execute(const RunArguments& arguments, const Launch& launch,
                                const executor::RunOptions& options, const study::Evaluation& run,
                                const Program& program) {
  if (arguments.on_gpus())
    return gpus()->execute(
        {arguments.work, program, run.costs, options, launch.world, agreements_of(arguments, run)});
  const auto work = make_work(arguments.work, *run.schedule, run.costs);
  if (!launch.world) return {.all = executor::run_on_cpu(program, *work, options), .clocks = {}};
  return executor::run_as_process(program, *work, options, *launch.world, agreements_of(arguments, run));
}

/// What is said and kept of a run that failed, in front of the error itself.
void tell(const RunArguments& arguments, const Launch& launch, const executor::RunFailed& failure) {
  for (const std::string& line : failure.last_actions()) std::cerr << line << '\n';
  if (launch.reports() && arguments.timeline_file && *arguments.timeline_file != "-")
    keep_partial(failure, *arguments.timeline_file);
}

void write_files(const RunArguments& arguments, const Timeline& timeline,
                 const executor::MeasuredCosts& costs, const cost::CostSpec& rules) {
  if (arguments.timeline_file)
    io::write_file(*arguments.timeline_file, overwrite_if(arguments.force), [&](std::ostream& out) {
      out << fmt::format("{{\"time_unit\":\"{}\"}}\n", name_of(timeline.unit));
      io::write_timeline_jsonl(out, timeline);
    });
  if (arguments.costs_file)
    io::write_file(*arguments.costs_file, overwrite_if(arguments.force),
                   [&](std::ostream& out) { write_costs(out, costs, rules); });
}

void require_backend(const RunArguments& arguments) {
  require_choice("--backend", arguments.backend, {"cpu", "cuda"});
  if (arguments.on_gpus()) return require_gpus();
  if (arguments.work.precision)
    throw InputError(Where{"--precision"}, "a CPU computes in fp32; add --backend cuda, or leave it out");
}

/// Everything that is written and printed behind a run.
void report(const RunArguments& arguments, const Screen& screen, RunInput& input, study::Evaluation& run,
            executor::RunResult& result, const std::string& clocks) {
  const executor::MeasuredCosts costs = measured_costs(result);
  if (arguments.work.is_layers()) {
    // How long layers take is known only now: the prediction is what the simulator makes of their medians.
    take_costs(input.config, costs);
    run = evaluate(input, arguments.input.limits());
  }
  result.timeline.unit = run.timeline.unit;
  write_files(arguments, result.timeline, costs, input.config.costs);
  const std::string right = arguments.on_gpus()
                                ? gpus()->gradients_page(arguments.work, *run.schedule, result)
                                : gradients_page(arguments.work, *run.schedule, result);
  if (arguments.timeline_file == "-" || arguments.output.quiet) return;
  print(makespans_page(run, result.timeline) + right + clocks);
  if (arguments.output.verbose) print("\n" + steps_page(result.timeline));
  print("\nop times in ms: median and spread (interquartile range) per stage\n" +
        op_times_page(costs, screen.has_colour()));
  if (const std::string transfers =
          transfers_page(costs.transfers, arguments.output.verbose, screen.has_colour());
      !transfers.empty())
    print("\nmessages in ms: median and spread\n" + transfers);
  if (const std::string peaks = peaks_page(
          run, result.peak_bytes, memory_of_work(arguments.work, *run.schedule), screen.has_colour());
      !peaks.empty())
    print("\n" + peaks);
  if (arguments.compare) print("\n" + comparison_page(run, result.timeline, screen));
}

ExitCode run_program(const RunArguments& arguments) {
  require_consistent(arguments.work);
  require_backend(arguments);
  executor::RunOptions options = run_options(arguments);
  const Launch launch = launch_of(arguments.launch, executor::net::variable);
  end_with_launcher();
  const Screen screen = arguments.output.screen();
  for (const auto& file : {arguments.timeline_file, arguments.costs_file})
    if (file && launch.reports()) require_free(*file, arguments.force);

  RunInput input = read_timed_input(arguments);
  study::Evaluation run = evaluate(input, arguments.input.limits());
  if (launch.where == Launch::Where::Local && arguments.input.file == "-")
    throw InputError(Where{"--launch"},
                     "each process that local starts reads the configuration: give it as a file");
  if (launch.where == Launch::Where::Local) return launch_locally(run.schedule->ranks());
  if (launch.reports()) arguments.output.warn(run.warnings);
  const Program program = run.program ? *run.program : async_plan(run.schedule, {});
  options.queue = queue_of(input.config.costs.transfer);
  if (!arguments.work.is_layers()) {
    options.forward_delay = run.costs.forward_delay;
    options.backward_delay = run.costs.backward_delay;
  }
  if (run.costs.overlap.rule == OverlapRule::Sequential) options.groups = executor::GroupRule::InTurn;

  try {
    auto result = execute(arguments, launch, options, run, program);
    if (result.all) report(arguments, screen, input, run, *result.all, clocks_page(result.clocks));
  } catch (const executor::ProcessFailed& failure) {
    if (failure.is_told()) return failure.exit_code();  // by rank 0
    tell(arguments, launch, failure);
    throw;
  } catch (const executor::RunFailed& failure) {
    tell(arguments, launch, failure);
    throw;
  }
  return ExitCode::Ok;
}

}  // namespace

Run run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  add_run_arguments(app, *arguments);
  return [arguments] { return run_program(*arguments); };
}

}  // namespace pipeloom::cli::commands
