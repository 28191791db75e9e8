#pragma once

// Wrong usage in our own words: one line that names the nearest right thing.

#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/command_line.hpp"

namespace pipeloom::cli {

/// Throws InputError, with the nearest name, unless there is such a command.
const SubCommand& require_command(const CommandLine& line, std::string_view name);

/// Result of parsing: the command, and the arguments that no option or positional took.
struct Usage {
  const CommandLine& line;
  const SubCommand* command = nullptr;   ///< null if none is named
  std::vector<std::string> before = {};  ///< the command
  std::vector<std::string> passed_on_args = {};

  /// True if the words after this command are not read.
  [[nodiscard]] bool passes_on() const {
    return command != nullptr && command->options.passed_on() != nullptr;
  }
};

/// Throws InputError for the first argument that nothing took: an unknown command, an unknown option (with the nearest of its command's), or
/// an argument too many.
void require_no_extras(const Usage& usage);

/// Throws InputError for a value of an option that takes assignments, if it is given without the option and was taken for a file that does not exist.
void require_no_stray_values(const Usage& usage);

/// The parser's problem as our error. An unknown argument comes first: it is the likelier cause of a missing value.
[[nodiscard]] InputError usage_error(const Usage& usage, std::string_view problem);

}  // namespace pipeloom::cli
