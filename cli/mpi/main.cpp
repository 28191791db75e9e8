// The program `pipeloom-mpi`: a sweep on all ranks of an MPI job. A program of its own, so that `pipeloom` never loads MPI.

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/command_line.hpp"
#include "cli/console.hpp"
#include "cli/interrupt.hpp"
#include "cli/mpi/mail.hpp"
#include "cli/mpi/shared_sweep.hpp"
#include "cli/numbers.hpp"
#include "cli/parse.hpp"
#include "cli/sweep/sweep_options.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/process.hpp"
#include "version.hpp"

namespace pipeloom::cli::mpi {
namespace {

constexpr const char* kFooter =
    "\nRank 0 hands out pieces of the grid, writes the result and evaluates like the others. All ranks read "
    "the grid, so it must "
    "lie\nwhere every node can read it; only rank 0 needs the output. -j counts threads per rank, 1 unless "
    "it is given.\n"
    "Under Open MPI's --enable-recovery the work of a rank that dies is done by others; elsewhere the job "
    "ends, and the same "
    "command\nwith --resume goes on.\n\nExamples:\n"
    "  mpirun -n 16 --enable-recovery pipeloom-mpi sweep grid.json -o result.jsonl\n"
    "  srun -n 16 pipeloom-mpi sweep grid.json -o result.jsonl --resume";

struct Arguments {
  SweepArguments sweep;
  std::string patience = "30";
};

CommandLine command_line(Arguments& arguments, Run run) {
  CommandLine line{
      .program = "pipeloom-mpi", .summary = "Runs a sweep on all ranks of an MPI job", .options = {}};
  line.options.version_flag("--version");
  line.options.help_flag();
  SubCommand& sweep = line.add_command("sweep", "As `pipeloom sweep`, on all ranks");
  sweep.run = std::move(run);
  OptionList& list = sweep.options;
  list.set_footer(kFooter);
  add_grid_options(list, arguments.sweep);
  add_run_options(list, arguments.sweep);
  list.option("--patience", arguments.patience, "SECONDS",
              "Give up a rank that is silent for so many seconds; default 30");
  return line;
}

/// What one process does: its exit status, and how it ends.
class Rank {
 public:
  explicit Rank(Mail& mail) : mail_(mail) {}

  [[noreturn]] void run(std::vector<std::string> words) {
    ExitCode status = ExitCode::Ok;
    try {
      status = parse_and_run(std::move(words));
    } catch (const Error& error) {
      status = fail(error.line(), error.exit_code());
    } catch (const std::bad_alloc&) {
      say_without_memory(
          "error: out of memory; the results up to there are kept: go on with --resume and fewer threads "
          "(-j), or refuse large points with --max-memory\n");
      status = ExitCode::DeviceFailed;
    } catch (const std::exception& error) {
      status = fail(
          fmt::format("error: unexpected failure inside pipeloom-mpi: {}; please report it with the command",
                      error.what()),
          ExitCode::Bug);
    }
    end(status);
  }

 private:
  ExitCode parse_and_run(std::vector<std::string> words) {
    Arguments arguments;
    const CommandLine line = command_line(arguments, [&] { return run_sweep(arguments); });
    if (!words.empty() && words.front().substr(0, 1) != "-" && words.front() != "sweep")
      throw InputError::unknown_name({}, "command", shortened(words.front(), 64), {"sweep"});
    const Parsed parsed = parse(line, std::move(words));
    if (parsed.call == Call::Help) return say(help_text(line, parsed.command));
    if (parsed.call == Call::Version) return say(fmt::format("pipeloom-mpi {}\n", kVersion));
    if (parsed.command == nullptr)
      throw InputError("the command is missing; run pipeloom-mpi sweep GRID -o FILE");
    return parsed.command->run();
  }

  ExitCode say(const std::string& text) const {
    if (mail_.rank() == 0) print(text);
    return ExitCode::Ok;
  }

  /// Every rank comes to the same conclusion about a command line, and one says it.
  ExitCode fail(const std::string& line, ExitCode code) const {
    if (mail_.rank() == 0) say(line + '\n');
    return code;
  }

  ExitCode run_sweep(const Arguments& arguments) {
    const auto patience = std::chrono::seconds(parse_count("--patience", arguments.patience, 2, 86'400));
    has_begun_ = true;
    if (mail_.rank() != 0) run_worker(mail_, arguments.sweep, patience);
    const Interrupt interrupt;
    sweep::SweepSummary summary;
    {
      SweepProgress progress(arguments.sweep.output.quiet ? "none" : arguments.sweep.progress);
      summary = mail_.size() == 1
                    ? run_alone(arguments.sweep, interrupt, progress)
                    : run_master(mail_, arguments.sweep, patience, interrupt.flag(), progress.callback());
    }
    if (!arguments.sweep.output.quiet) say(summary_text(summary, arguments.sweep));
    // The launcher has sent the signal to every rank, so that no other waits for a word of ours.
    if (interrupt.flag()) interrupt.end_by_signal();
    if (summary.counts.failed == 0) return ExitCode::Ok;
    return fail(fmt::format("error: {} failed; what happened is in their lines, under \"error\"",
                            count_text(summary.counts.failed, "point")),
                ExitCode::DeviceFailed);
  }

  static sweep::SweepSummary run_alone(const SweepArguments& arguments, const Interrupt& interrupt,
                                       SweepProgress& progress) {
    sweep::SweepOptions options = read_sweep_options(arguments);
    options.stop = &interrupt.flag();
    options.progress = progress.callback();
    return sweep::run_sweep(read_grid(arguments), options);
  }

  [[noreturn]] void end(ExitCode status) {
    if (mail_.rank() == 0 && has_begun_)
      for (int rank = 1; rank < mail_.size(); ++rank)
        mail_.send(rank, Tag::Stop, executor::net::Bytes(mail_.expects_absence() ? 1 : 0));
    mail_.flush(std::chrono::seconds(2));
    mail_.leave(static_cast<int>(status));
  }

  Mail& mail_;
  bool has_begun_ = false;
};

}  // namespace
}  // namespace pipeloom::cli::mpi

int main(int argc, char** argv) {
  pipeloom::io::prepare_process();
  try {
    pipeloom::cli::mpi::Mail mail(argc, argv);
    pipeloom::cli::mpi::Rank(mail).run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  } catch (const pipeloom::Error& error) {
    pipeloom::cli::say(error.line() + '\n');
    return static_cast<int>(error.exit_code());
  }
}
