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

/// The text of --help of the program, or of one of its commands; Call::Brief is that of -h, without options that have a heading and the text below
/// the options. REQUIRES: not Call::Version.
[[nodiscard]] std::string help_text(const CommandLine& line, const SubCommand* command = nullptr,
                                    Call call = Call::Help);

}  // namespace pipeloom::cli
