// pipeloom sweep GRID: many runs, one line each.

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/numbers.hpp"
#include "cli/sweep/sweep_dry_run.hpp"
#include "cli/sweep/sweep_options.hpp"
#include "study/sweep/run/runner.hpp"

namespace pipeloom::cli::commands {
namespace {

constexpr const char* kSweepFooter =
    "\nResults go to standard output or FILE, one line per point in the grid's order; at any moment the file "
    "is the\n"
    "beginning of the whole result, so that a sweep that was killed goes on with --resume. Exit codes: 0 "
    "fine, also where\n"
    "points are illegal (their lines say why), 2 wrong input, 3 the disk or a run failed; a signal's own "
    "status if one\n"
    "ended the sweep.\n\n"
    "Examples:\n"
    "  pipeloom sweep grid.json -o result.jsonl\n"
    "  pipeloom sweep grid.json -o result.jsonl --resume\n"
    "  pipeloom sweep grid.json --dry-run\n"
    "  pipeloom sweep --schedule zb-h1 --ranks 8 --axis microbatches=16,32,64 --axis "
    "costs.forward=1..2:0.25\n"
    "  pipeloom sweep grid.json --shard 2/4 -o part2.jsonl\n"
    "  pipeloom sweep grid.json -o result.jsonl --emit slurm --shards 100 --directive --partition=short";

ExitCode run_sweep_command(const SweepArguments& arguments) {
  sweep::SweepOptions options = read_sweep_options(arguments);
  const sweep::Grid grid = read_grid(arguments);
  if (arguments.dry_run) {
    print(dry_run_page(grid, options));
    return ExitCode::Ok;
  }
  const Interrupt interrupt;
  options.stop = &interrupt.flag();
  sweep::SweepSummary summary;
  {
    SweepProgress progress(arguments.output.quiet ? "none" : arguments.progress);
    options.progress = progress.callback();
    summary = sweep::run_sweep(grid, options);
  }
  if (!arguments.output.quiet) say(summary_text(summary, arguments));
  if (summary.stopped) interrupt.end_by_signal();
  if (summary.counts.failed == 0) return ExitCode::Ok;
  say(fmt::format("error: {} failed; see \"error\" in {}\n", count_text(summary.counts.failed, "point"),
                  summary.counts.failed == 1 ? "its line" : "their lines"));
  return ExitCode::DeviceFailed;
}

}  // namespace

Run sweep(OptionList& list) {
  auto arguments = std::make_shared<SweepArguments>();
  auto jobs = std::make_shared<EmitArguments>();
  list.set_footer(kSweepFooter);
  add_grid_options(list, *arguments);
  add_run_options(list, *arguments);
  list.flag("--dry-run", arguments->dry_run,
            "Say how many points there are, which would be refused, and how long the others take");
  add_emit_options(list, *jobs);
  return [arguments, jobs] {
    return wants_jobs(*jobs) ? emit_jobs(*arguments, *jobs) : run_sweep_command(*arguments);
  };
}

}  // namespace pipeloom::cli::commands
