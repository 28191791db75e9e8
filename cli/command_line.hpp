#pragma once

// The command line of a whole program, as data: its own options, and its commands with theirs.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/option_list.hpp"

namespace pipeloom::cli {

/// Runs a command whose options have been read. Throws pipeloom::Error; main() prints it and takes its exit code.
using Run = std::function<ExitCode()>;

struct SubCommand {
  std::string name;     ///< "simulate"
  std::string summary;  ///< one line for the list of commands
  std::string task;     ///< the heading under which help lists it; "" for none
  OptionList options;
  Run run;
};

struct CommandLine {
  std::string program;  ///< "pipeloom"
  std::string summary;
  OptionList options;  ///< in front of a command
  std::vector<SubCommand> commands = {};

  /// A command that has --help. The returned reference is valid until the next one is added.
  SubCommand& add_command(std::string_view name, std::string_view summary_of_it);
  /// Null if there is no such command.
  [[nodiscard]] const SubCommand* find(std::string_view name) const;
};

}  // namespace pipeloom::cli
