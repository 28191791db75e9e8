#pragma once

// The program without its main(): from arguments to an exit status.

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace pipeloom::cli {

/// The command line of pipeloom: every command of commands.def, set up anew.
[[nodiscard]] CommandLine command_line();

/// Reads the arguments (without the program's name) and runs what they ask for. Errors become a line on standard
/// error and their exit code; nothing is thrown.
[[nodiscard]] int run_program(std::vector<std::string> arguments) noexcept;

}  // namespace pipeloom::cli
