#include "cli/app.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>
#include <new>

#include "cli/console.hpp"
#include "cli/usage.hpp"
#include "version.hpp"

namespace pipeloom::cli {
namespace {

constexpr Command kCommands[] = {
#define PIPELOOM_COMMAND(name, summary) {#name, summary, commands::name},
#include "cli/commands.def"
#undef PIPELOOM_COMMAND
};

constexpr const char* kDescription =
    "Simulates pipeline-parallel training schedules: times, bubbles, memory, and where they come from.";
constexpr const char* kFooter =
    "\nTry:\n"
    "  pipeloom simulate --schedule 1f1b --ranks 4 --microbatches 8 --chart\n"
    "  pipeloom schedules\n"
    "`pipeloom COMMAND --help` explains a command.";

ExitCode dispatch(const Parser& program) {
  for (const auto& [app, run] : program.commands)
    if (app->parsed()) return run();
  std::cerr << program.app->help();
  return ExitCode::BadInput;
}

ExitCode parse_and_run(std::vector<std::string> arguments) {
  Parser program = make_parser();
  // CLI11 takes the arguments as a stack.
  std::reverse(arguments.begin(), arguments.end());
  try {
    program.app->parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto selected = program.app->get_subcommands();
    // A subcommand's own name for itself lacks the program's.
    print(selected.empty() ? program.app->help() : selected.front()->help("pipeloom"));
    return ExitCode::Ok;
  } catch (const CLI::CallForVersion&) {
    print(fmt::format("pipeloom {}\n", kVersion));
    return ExitCode::Ok;
  } catch (const CLI::ParseError& error) {
    throw usage_error(*program.app, error);
  }
  require_no_extras(*program.app);
  return dispatch(program);
}

int fail(const std::string& line, ExitCode code) {
  say(line + '\n');
  return static_cast<int>(code);
}

}  // namespace

Parser::Parser() = default;
Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;

std::span<const Command> all_commands() {
  return kCommands;
}

Parser make_parser() {
  Parser program;
  program.app = std::make_unique<CLI::App>(kDescription, "pipeloom");
  program.app->set_help_flag("-h,--help", "Print this help");
  program.app->set_version_flag("-V,--version", std::string(kVersion), "Print the version");
  program.app->get_formatter()->column_width(34);
  program.app->require_subcommand(0, 1);
  // What is left over is worded by require_no_extras().
  program.app->allow_extras();
  // The last of a repeated option wins, as in scripts that add to a command; lists say otherwise themselves.
  program.app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  for (const Command& command : all_commands()) {
    CLI::App* sub = program.app->add_subcommand(std::string(command.name), std::string(command.summary));
    program.commands.emplace_back(sub, command.setup(*sub));
  }
  // Last: commands inherit what is there when they are added.
  program.app->footer(kFooter);
  return program;
}

int run_program(std::vector<std::string> arguments) noexcept {
  try {
    return static_cast<int>(parse_and_run(std::move(arguments)));
  } catch (const Error& error) {
    return fail(error.line(), error.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("error: out of memory; make the run smaller, or refuse such runs early with --max-memory",
                ExitCode::DeviceFailed);
  } catch (const std::exception& error) {
    return fail(
        fmt::format("error: unexpected failure inside pipeloom: {}; please report it with the command",
                    error.what()),
        ExitCode::Bug);
  }
}

}  // namespace pipeloom::cli
