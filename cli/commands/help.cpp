// pipeloom help [COMMAND]: as --help.

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/man_page.hpp"
#include "cli/parse.hpp"
#include "cli/usage.hpp"

namespace pipeloom::cli::commands {
namespace {

struct HelpOptions {
  std::string command;
  bool man = false;
};

ExitCode run_help(const HelpOptions& options) {
  if (options.man && !options.command.empty())
    throw InputError(Where{"--man"}, "the manual page is about all commands; leave the command out");
  const CommandLine line = command_line();
  if (options.man)
    print(man_page(line));
  else
    print(help_text(line, options.command.empty() ? nullptr : &require_command(line, options.command)));
  return ExitCode::Ok;
}

}  // namespace

Run help(OptionList& list) {
  auto options = std::make_shared<HelpOptions>();
  list.positional("COMMAND", options->command, "COMMAND", "Which command; without one, all are listed");
  list.flag("--man", options->man, "Print the manual page, for man -l");
  return [options] { return run_help(*options); };
}

}  // namespace pipeloom::cli::commands
