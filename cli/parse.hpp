#pragma once

// From arguments to values, by CLI11: its only place in this program.

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace pipeloom::cli {

/// The command that arguments ask for, or the text in its place.
struct Parsed {
  std::optional<Call> call;             ///< instead of a run
  const SubCommand* command = nullptr;  ///< of the command line; null if none is named
};

/// Puts the values of the arguments (without the program's name) into the options' variables. Of an option that is given twice the last one wins,
/// unless it keeps all. Throws InputError for wrong usage, as cli/usage.hpp words it.
[[nodiscard]] Parsed parse(const CommandLine& line, std::vector<std::string> arguments);

/// Length of help: Brief leaves out options that have a heading, and the text below the options.
enum class HelpLength : unsigned char { Brief, Whole };

/// The text of --help (or -h) of the program, or of one of its commands.
[[nodiscard]] std::string help_text(const CommandLine& line, const SubCommand* command = nullptr,
                                    HelpLength length = HelpLength::Whole);

}  // namespace pipeloom::cli
