// pipeloom help [COMMAND]: as --help.

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/man_page.hpp"
#include "cli/usage.hpp"

namespace pipeloom::cli::commands {
namespace {

struct HelpOptions {
  std::string command;
  bool man = false;
};

ExitCode run_help(const CLI::App& program, const HelpOptions& options) {
  const std::string& name = options.command;
  if (options.man && !name.empty())
    throw InputError(Where{"--man"}, "the manual page is about all commands; leave the command out");
  if (options.man) {
    print(man_page(program));
    return ExitCode::Ok;
  }
  if (name.empty()) {
    print(make_parser().app->help());  // one that has parsed `help` would explain that
    return ExitCode::Ok;
  }
  require_command(name);
  // A subcommand's own name for itself lacks the program's.
  print(program.get_subcommand(name)->help(program.get_name()));
  return ExitCode::Ok;
}

}  // namespace

Run help(CLI::App& app) {
  auto options = std::make_shared<HelpOptions>();
  app.add_option("COMMAND", options->command, "Which command; without one, all are listed")
      ->type_name("COMMAND");
  app.add_flag("--man", options->man, "Print the manual page, for man -l");
  return [options, program = app.get_parent()] { return run_help(*program, *options); };
}

}  // namespace pipeloom::cli::commands
