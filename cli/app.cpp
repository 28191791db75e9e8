#include "cli/app.hpp"

#include <fmt/format.h>

#include <iostream>
#include <new>
#include <utility>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/parse.hpp"
#include "version.hpp"

namespace pipeloom::cli {
namespace {

constexpr Command kCommands[] = {
#define PIPELOOM_COMMAND(name, task, summary) {#name, task, summary, commands::name},
#include "cli/commands.def"
#undef PIPELOOM_COMMAND
};

constexpr const char* kDescription =
    "Simulates pipeline-parallel training schedules: times, bubbles, memory, and where they come from.";
constexpr const char* kFooter =
    "\nTry:\n"
    "  pipeloom simulate --schedule 1f1b --ranks 4 --microbatches 8 --chart\n"
    "  pipeloom schedules\n"
    "`pipeloom COMMAND --help` explains a command, `-h` in short.";

ExitCode parse_and_run(std::vector<std::string> arguments) {
  const CommandLine line = command_line();
  const Parsed parsed = parse(line, std::move(arguments));
  if (parsed.call == Call::Version) {
    print(fmt::format("pipeloom {}\n", kVersion));
    return ExitCode::Ok;
  }
  if (parsed.call == Call::Help || parsed.call == Call::Brief) {
    print(help_text(line, parsed.command, *parsed.call));
    return ExitCode::Ok;
  }
  if (parsed.command != nullptr) return parsed.command->run();
  say(help_text(line));
  return ExitCode::BadInput;
}

int fail(const std::string& line, ExitCode code) {
  say(line + '\n');
  return static_cast<int>(code);
}

/// Returns the exit status; prints an error. Throws std::bad_alloc, and nothing else.
int run_and_tell(std::vector<std::string> arguments) {
  try {
    return static_cast<int>(parse_and_run(std::move(arguments)));
  } catch (const Error& error) {
    return fail(error.line(), error.exit_code());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return fail(
        fmt::format("error: unexpected failure inside pipeloom: {}; please report it with the command",
                    error.what()),
        ExitCode::Bug);
  }
}

}  // namespace

std::span<const Command> all_commands() {
  return kCommands;
}

CommandLine command_line() {
  CommandLine line{.program = "pipeloom", .summary = kDescription, .options = {}};
  line.options.help_flag();
  line.options.version_flag("-V,--version");
  line.options.set_footer(kFooter);
  for (const Command& command : all_commands()) {
    SubCommand& added = line.add_command(command.name, command.summary);
    added.task = command.task;
    added.run = command.setup(added.options);
  }
  return line;
}

int run_program(std::vector<std::string> arguments) noexcept {
  try {
    return run_and_tell(std::move(arguments));
  } catch (const std::bad_alloc&) {
    say_without_memory(
        "error: out of memory; make the run smaller, or refuse such runs early with --max-memory\n");
    return static_cast<int>(ExitCode::DeviceFailed);
  }
}

}  // namespace pipeloom::cli
