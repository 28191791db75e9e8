// pipeloom run [CONFIG]: the program of a configuration on a real clock, next to the simulator's prediction.

#include "executor/run/run.hpp"

#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/run_pages.hpp"
#include "cli/run/run_arguments.hpp"
#include "cli/run/run_costs.hpp"
#include "cli/run/run_gpus.hpp"
#include "cli/run/run_launch.hpp"
#include "cli/run/run_work.hpp"
#include "executor/measure/measured_transfers.hpp"
#include "executor/process/process_run.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/messages/message_plans.hpp"
#include "study/calibrate/costs_file.hpp"
#include "study/run/make_schedule.hpp"
#include "study/text/at_place.hpp"
#include "study/text/fingerprint.hpp"
#include "version.hpp"

namespace pipeloom::cli::commands {
namespace {

using study::calibrate::Measurements;

/// Each is a thread or a process of this machine, or of many.
constexpr int kMostRanks = 1024;

/// Values that must be the same in all processes of a run, in addition to the program.
std::vector<executor::net::Agreement> agreements_of(const RunArguments& arguments, const pipeloom::Run& run) {
  return {{"version", std::string(kVersion)},
          {"schedule", fmt::format("{} of {} ranks, {} microbatches", run.effective->schedule,
                                   run.schedule->ranks(), run.schedule->microbatches())},
          {"work", text_of(arguments.work)},
          {"costs", study::fingerprint_of_times(run.timeline)}};
}

/// Without a result in a process that another one reports for. `work` outlives threads that do not come back.
executor::ProcessResult execute(const RunArguments& arguments, const Launch& launch,
                                const executor::RunOptions& options, const pipeloom::Run& run,
                                const Program& program, std::unique_ptr<executor::Work>& work) {
  if (arguments.on_gpus())
    return gpus()->execute(
        {arguments.work, program, *run.costs, options, launch.world, agreements_of(arguments, run)});
  work = make_work(arguments.work, *run.schedule, *run.costs);
  if (!launch.world) return {.all = executor::run_on_cpu(program, *work, options), .clocks = {}};
  return executor::run_as_process(program, *work, options, *launch.world, agreements_of(arguments, run));
}

/// Prints the last actions of a run that failed and keeps its partial timeline, before the error itself is printed. An interrupted run prints no
/// actions: they say nothing about it.
void tell(const RunArguments& arguments, const Launch& launch, const executor::RunFailed& failure,
          bool interrupted) {
  for (const std::string& line : failure.last_actions())
    if (!interrupted) say(line + '\n');
  if (launch.reports() && arguments.timeline_file && *arguments.timeline_file != "-")
    keep_partial(failure, *arguments.timeline_file);
}

/// Measurements as `pipeloom calibrate` would read them from the timeline, and the executor's own times of messages.
Measurements measured(const executor::RunResult& result, const RunArguments& arguments) {
  return study::calibrate::measure(
      result.timeline, {.transfers = executor::measured_transfers(result),
                        .layers = parse_layers(arguments.layers, result.timeline.schedule->stages())});
}

void write_files(const RunArguments& arguments, const Timeline& timeline, const Measurements& costs,
                 const cost::CostSpec& rules) {
  if (arguments.timeline_file)
    io::write_file(*arguments.timeline_file, overwrite_if(arguments.force),
                   [&](std::ostream& out) { io::write_timeline_with_unit(out, timeline); });
  if (arguments.costs_file)
    io::write_file(*arguments.costs_file, overwrite_if(arguments.force),
                   [&](std::ostream& out) { study::calibrate::write_costs(out, costs, rules); });
}

void require_backend(const RunArguments& arguments) {
  require_choice("--backend", arguments.backend, {"cpu", "cuda"});
  if (arguments.on_gpus()) return require_gpus();
  if (arguments.work.precision)
    throw InputError(Where{"--precision"}, "a CPU computes in fp32; add --backend cuda, or leave it out");
}

/// The page of a run for people.
std::string page_of(const RunArguments& arguments, const Screen& screen, const pipeloom::Run& run,
                    const executor::RunResult& result, const Measurements& costs) {
  std::string out;
  if (arguments.output.verbose) out += "\n" + steps_page(result.timeline);
  out += "\nop times in ms: median and spread (interquartile range) per stage\n" +
         op_times_page(costs, screen.has_colour());
  if (const std::string transfers =
          transfers_page(costs.transfers, arguments.output.verbose, screen.has_colour());
      !transfers.empty())
    out += "\nmessages in ms: median and spread\n" + transfers;
  if (const std::string peaks = peaks_page(
          run, result.peak_bytes, memory_of_work(arguments.work, *run.schedule), screen.has_colour());
      !peaks.empty())
    out += "\n" + peaks;
  if (arguments.compare) out += "\n" + comparison_page(run, result.timeline, screen);
  return out;
}

/// A run, its inputs, and its results.
struct Session {
  const RunArguments& arguments;
  const Screen screen;
  Input input;
  pipeloom::Run run;

  /// The times of layers are known only now: the simulator predicts the run from their medians.
  void predict_from(const Measurements& costs) {
    if (!arguments.work.is_layers()) return;
    input.config.costs = study::calibrate::costs_of(costs, input.config.costs);
    run = evaluate(input, arguments.input.limits());
  }

  void print_json(const executor::RunResult& result, const Measurements& costs, bool stopped) {
    const std::string comparison = arguments.compare ? comparison_json(run, result.timeline) : "";
    print(run_json(run, result, costs, memory_of_work(arguments.work, *run.schedule), comparison, stopped));
  }

  /// Writes and prints everything after a run.
  void report(executor::RunResult& result, const std::string& clocks) {
    const Measurements costs = measured(result, arguments);
    predict_from(costs);
    result.timeline.unit = run.timeline.unit;
    write_files(arguments, result.timeline, costs, input.config.costs);
    const std::string right = arguments.on_gpus()
                                  ? gpus()->gradients_page(arguments.work, *run.schedule, result)
                                  : gradients_page(arguments.work, *run.schedule, result);
    if (arguments.timeline_file == "-") return;
    if (arguments.print.is("json")) return print_json(result, costs, false);
    if (!arguments.output.quiet)
      print(makespans_page(run, result.timeline) + right + clocks +
            page_of(arguments, screen, run, result, costs));
  }

  /// Reports the measurements of an interrupted run: those of the timed steps that ended.
  void report_finished(const executor::RunFailed& failure, int warmup_steps) {
    const auto result = finished_steps(failure.partial(), warmup_steps);
    say(fmt::format("{}; {} measured\n", failure.what(),
                    result ? count_text(static_cast<std::size_t>(result->timeline.steps), "timed step") +
                                 (result->timeline.steps == 1 ? " was" : " were")
                           : "nothing was"));
    if (!result || arguments.timeline_file == "-") return;
    const Measurements costs = measured(*result, arguments);
    predict_from(costs);
    if (arguments.print.is("json")) return print_json(*result, costs, true);
    if (!arguments.output.quiet)
      print(makespans_page(run, result->timeline) + page_of(arguments, screen, run, *result, costs));
  }
};

/// Executes; a signal ends it in order, then the program. Throws the error that otherwise ends a run early.
executor::ProcessResult execute_until_signal(Session& session, const Launch& launch,
                                             executor::RunOptions& options, const Program& program) {
  const RunArguments& arguments = session.arguments;
  std::unique_ptr<executor::Work> work;
  const Interrupt interrupt;
  options.stop = &interrupt.flag();
  try {
    RunProgress progress(launch.reports() && !arguments.output.quiet);
    options.progress = progress.callback();
    return execute(arguments, launch, options, session.run, program, work);
  } catch (const executor::RunFailed& failure) {
    const auto* process = dynamic_cast<const executor::ProcessFailed*>(&failure);
    if (process == nullptr || !process->is_told())  // else by rank 0
      tell(arguments, launch, failure, interrupt.flag());
    if (interrupt.flag() && launch.reports()) session.report_finished(failure, options.warmup_steps);
    interrupt.end_by_signal();
    throw;
  }
}

void require_outputs(const RunArguments& arguments, const Launch& launch) {
  if (arguments.print.is("json") && arguments.timeline_file == "-")
    throw InputError(Where{"--json"}, "-o - writes the timeline to standard output too; give -o a file");
  for (const auto& file : {arguments.timeline_file, arguments.costs_file})
    if (file && launch.reports()) require_free(*file, arguments.force);
}

void require_few(int ranks, const Where& where) {
  if (ranks > kMostRanks)
    throw InputError(where,
                     fmt::format("found {} ranks; `run` starts a thread or a process for each, at most {}: "
                                 "take fewer, or `simulate` it",
                                 ranks, kMostRanks));
}

ExitCode run_program(const RunArguments& arguments) {
  require_consistent(arguments.work);
  require_backend(arguments);
  executor::RunOptions options = run_options(arguments);
  Launch launch = launch_of(arguments.launch, executor::net::variable);
  end_with_launcher();
  if (launch.world) {
    launch.world->met = tell_launcher_that_all_met;
    allow_many_files();  // rank 0 has a connection to each of the others
  }
  const Screen screen = arguments.output.screen();
  require_outputs(arguments, launch);

  Input input = read_timed_input(arguments);
  require_few(input.config.ranks, input.config.place_of("ranks"));
  pipeloom::Run run = study::at_place(input.name, [&] { return evaluate(input, arguments.input.limits()); });
  require_few(run.schedule->ranks(), {});  // of a schedule file
  if (!arguments.on_gpus())
    require_room(arguments.work, run, launch.world ? std::optional(Rank(launch.world->rank)) : std::nullopt,
                 arguments.input.limits().max_memory.value_or(study::default_max_memory()));
  (void)parse_layers(arguments.layers, run.schedule->stages());  // before hours, not after them
  Session session{arguments, screen, std::move(input), std::move(run)};
  if (launch.where == Launch::Where::Local && arguments.input.file == "-")
    throw InputError(Where{"--launch"},
                     "each process that local starts reads the configuration: give it as a file");
  if (launch.where == Launch::Where::Local) return launch_locally(session.run.schedule->ranks());
  if (launch.reports()) arguments.output.warn(session.run.warnings);
  const Program program = session.run.program ? *session.run.program : async_plan(session.run.schedule, {});
  options.queue = queue_of(session.input.config.costs.transfer);
  if (!arguments.work.is_layers()) {
    options.forward_delay = session.run.costs->forward_delay;
    options.backward_delay = session.run.costs->backward_delay;
  }
  if (session.run.costs->overlap.rule == OverlapRule::Sequential)
    options.groups = executor::GroupRule::InTurn;

  try {
    auto result = execute_until_signal(session, launch, options, program);
    if (result.all) session.report(*result.all, clocks_page(result.clocks));
  } catch (const executor::ProcessFailed& failure) {
    if (failure.is_told()) return failure.exit_code();  // by rank 0
    throw;
  }
  return ExitCode::Ok;
}

}  // namespace

Run run(OptionList& list) {
  auto arguments = std::make_shared<RunArguments>();
  add_run_arguments(list, *arguments);
  return [arguments] { return run_program(*arguments); };
}

}  // namespace pipeloom::cli::commands
